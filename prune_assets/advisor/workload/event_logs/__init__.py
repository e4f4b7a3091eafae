"""Find and decompress Spark's event logs, read them line by line, and return the scans that ran."""
