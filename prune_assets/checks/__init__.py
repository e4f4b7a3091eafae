"""Layout checks, table health and metadata audits; codes of findings and their remedies."""
