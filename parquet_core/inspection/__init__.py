"""Metadata of files as plain data for people and programs, not for pruning."""

from parquet_core.inspection.facts import FileInspection, RowGroupFacts, TableInspection
from parquet_core.inspection.file import inspect_file, read_row_groups
from parquet_core.inspection.table import choose_columns, inspect_table

__all__ = [
    "FileInspection",
    "RowGroupFacts",
    "TableInspection",
    "choose_columns",
    "inspect_file",
    "inspect_table",
    "read_row_groups",
]
