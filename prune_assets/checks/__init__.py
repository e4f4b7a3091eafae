"""Proofs of layouts, the health of tables, the audit of metadata; the codes of findings and their remedies."""
