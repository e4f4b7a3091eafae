"""Spark's event logs: found, decompressed, read line by line, and turned into the scans that ran."""
