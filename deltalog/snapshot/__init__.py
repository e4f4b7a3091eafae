"""Versions of a table as columns of files: opening, refreshing, caching on disk, history.

Imports `log` and `table`.
"""
