"""Leaves of one file that Spark reads for a column of the table.

Spark reads the leaf of the same name, possibly stored as another type. It reads null in every row for a column that the
file lacks. A Spark setting decides whether names that differ only in case are one column. For such names, it remains
unknown what Spark reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.format.comparable_values import bounds_type
from parquet_core.format.schema import in_any_case
from parquet_core.spark_rules.type_promotion import is_read_as

if TYPE_CHECKING:
    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn, Path


def leaf_in_file(column: LeafColumn, provenance: Provenance) -> LeafColumn | None:
    """Find the table's column in one file; None if it is missing or stored as another type.

    Timestamps in milliseconds and in microseconds count as one type; `timestamp_step` takes the stored unit into
    account.
    """
    index = column.index
    if 0 <= index < len(provenance.columns) and provenance.columns[index].path == column.path:
        return _leaf_of_same_type(provenance.columns[index], column)
    named = provenance.by_path.get(column.path)
    return None if named is None else _leaf_of_same_type(named, column)


def _leaf_of_same_type(leaf: LeafColumn, column: LeafColumn) -> LeafColumn | None:
    alike = (leaf.physical, _comparable(leaf), leaf.byte_width, leaf.max_repetition_level) == (
        column.physical,
        _comparable(column),
        column.byte_width,
        column.max_repetition_level,
    )
    return leaf if alike else None


def _comparable(leaf: LeafColumn) -> pa.DataType | None:
    is_time = leaf.type is not None and pa.types.is_timestamp(leaf.type)
    return bounds_type(leaf) if is_time else leaf.type


def leaf_as_read(column: LeafColumn, provenance: Provenance) -> LeafColumn | None:
    """Find a leaf of one file that Spark reads as the table's column without a loss.

    The leaf may be stored as another type. None if the file has no such leaf.
    """
    alike = leaf_in_file(column, provenance)
    if alike is not None:
        return alike
    named = provenance.by_path.get(column.path)
    return named if named is not None and is_read_as(named, column) else None


def reads_as_null(column: LeafColumn, provenance: Provenance) -> bool:
    """Return True if a table's column is null in every row of files with this schema.

    The schema has no leaf of the column's name, or a leaf of the null type whose physical type Spark does not read as
    the table's type.
    """
    stored = provenance.by_path.get(column.path)
    if stored is not None and stored.always_null:
        return leaf_as_read(column, provenance) is None
    if column.unsupported or column.may_be_filled or not provenance.columns or provenance.is_unnamed:
        return False
    wanted = folded(column.path)
    alike = provenance.by_any_case.get(wanted[0], [])
    for depth in range(1, len(wanted) + 1):
        within = [leaf for leaf in alike if folded(leaf.path[:depth]) == wanted[:depth]]
        if not within:
            return True
        # The file has a plain value in place of a struct, or a list or map (predicates on their leaves do not prune).
        if any(len(leaf.path) == depth for leaf in within) or all(leaf.unsupported for leaf in within):
            return False
    return False


def lacks_column(name: str, provenance: Provenance) -> bool:
    """Return True if a file certainly has no leaf of a top-level column, at any depth."""
    if not provenance.columns or provenance.is_unnamed or name in provenance.table_columns:
        return False
    return in_any_case(name) not in provenance.by_any_case


def folded(path: Path) -> Path:
    """Return a path with its case folded, at least as far as Spark does."""
    return tuple(map(in_any_case, path))
