"""Row-group statistics that may be trusted.

Used are `min_value` and `max_value` under TYPE_ORDER, each side for itself. Not used yet, so unknown:
the deprecated `min` and `max`, other column orders, and dates of files whose calendar Spark rebases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.bounds import Bounds, make_bounds, unknown_bounds
from parquet_core.footer import TYPE_ORDER
from parquet_core.schema import LeafColumn, SortOrder

if TYPE_CHECKING:
    from parquet_core.footer import ChunkStatistics, ColumnChunk, Footer

_LEGACY_DATES = "org.apache.spark.legacyDateTime"
_SPARK_VERSION = "org.apache.spark.version"


def leaf_in_file(column: LeafColumn, footer: Footer) -> LeafColumn | None:
    """Find the table's column in one file; None when the file lacks it or stores it as another type."""
    index = column.index
    if index < len(footer.columns) and footer.columns[index] == column:
        return footer.columns[index]
    for leaf in footer.columns:
        if leaf.path == column.path:
            return leaf if _same_values(leaf, column) else None
    return None


def _same_values(leaf: LeafColumn, column: LeafColumn) -> bool:
    return (leaf.physical, leaf.type, leaf.type_length, leaf.max_repetition_level, leaf.unsupported) == (
        column.physical,
        column.type,
        column.type_length,
        column.max_repetition_level,
        column.unsupported,
    )


def order_is_defined(leaf: LeafColumn, footer: Footer) -> bool:
    """Tell whether bounds of this column compare as its type does."""
    if leaf.order is SortOrder.UNDEFINED or leaf.index >= len(footer.column_orders):
        return False
    if footer.column_orders[leaf.index] != TYPE_ORDER:
        return False
    return str(leaf.type) != "date32[day]" or not _rebases_dates(footer)


def _rebases_dates(footer: Footer) -> bool:
    version = footer.key_values.get(_SPARK_VERSION)
    if _LEGACY_DATES in footer.key_values:
        return True
    major = None if version is None else version.split(".")[0]
    return major is not None and not (major.isdigit() and int(major) >= 3)


def row_group_bounds(column: LeafColumn, footer: Footer) -> Bounds:
    """Return the bounds of one column in each row group of one file."""
    rows = [group.num_rows for group in footer.row_groups]
    leaf = leaf_in_file(column, footer)
    if leaf is None or leaf.unsupported:
        return unknown_bounds(column, rows)
    statistics = [_credible(group.columns[leaf.index], group.num_rows) for group in footer.row_groups]
    ordered = order_is_defined(leaf, footer)
    return make_bounds(
        leaf,
        [entry.min_value if entry is not None and ordered else None for entry in statistics],
        [entry.max_value if entry is not None and ordered else None for entry in statistics],
        [None if entry is None else entry.null_count for entry in statistics],
        rows,
    )


def _credible(chunk: ColumnChunk, num_rows: int) -> ChunkStatistics | None:
    # A flat column has one level entry a row; a chunk that claims otherwise is not believed at all.
    return None if chunk.encrypted or chunk.num_values != num_rows else chunk.statistics
