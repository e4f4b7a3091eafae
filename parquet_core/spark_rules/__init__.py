"""Spark's rules where the Parquet format leaves a choice: columns, calendars, directory names.

Builds on `format` and `storage`; `trust` and `dataset` build on it.
"""
