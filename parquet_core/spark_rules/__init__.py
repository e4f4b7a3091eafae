"""How Spark reads Parquet where the format leaves it open: columns by name and type, calendars, directory names.

Builds on `format` and `storage`; `trust` and `dataset` build on it.
"""
