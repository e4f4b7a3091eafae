"""Metadata of all files of a table: columnar, read on demand, cached in memory and on disk."""
