"""Columnar metadata of all files of a table, read on demand and cached in memory and on disk."""
