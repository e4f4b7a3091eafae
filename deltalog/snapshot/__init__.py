"""A version of a table as columns of files: opened, refreshed, kept on disk, and its history.

Imports `log` and `table`.
"""
