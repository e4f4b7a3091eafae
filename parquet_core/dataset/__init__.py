"""Columnar metadata of all files of a table.

Metadata is read on demand and cached in memory and on disk.
"""
