"""Writes and rewrites through Iceberg: a layout as the table's own, conditions of a rewrite, proof of a snapshot."""
