"""Row-group statistics that may be trusted.

Used are `min_value` and `max_value` under TYPE_ORDER, each side for itself. Not used yet, so unknown:
the deprecated `min` and `max`, other column orders, and dates of files whose calendar Spark rebases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.bounds import EncodedBounds, unknown_containers
from parquet_core.footer import TYPE_ORDER
from parquet_core.schema import LeafColumn, SortOrder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.column_chunk import ChunkStatistics, ColumnChunk
    from parquet_core.footer import Footer

_LEGACY_DATES = "org.apache.spark.legacyDateTime"
_SPARK_VERSION = "org.apache.spark.version"


def leaf_in_file(column: LeafColumn, footer: Footer) -> LeafColumn | None:
    """Find the table's column in one file; None when the file lacks it or stores it as another type."""
    index = column.index
    if 0 <= index < len(footer.columns) and footer.columns[index].path == column.path:
        return _if_alike(footer.columns[index], column)
    return next((_if_alike(leaf, column) for leaf in footer.columns if leaf.path == column.path), None)


def _if_alike(leaf: LeafColumn, column: LeafColumn) -> LeafColumn | None:
    alike = (leaf.physical, leaf.type, leaf.type_length, leaf.max_repetition_level) == (
        column.physical,
        column.type,
        column.type_length,
        column.max_repetition_level,
    )
    return leaf if alike else None


def order_is_defined(leaf: LeafColumn, footer: Footer) -> bool:
    """Tell whether bounds of this column compare as its type does."""
    if leaf.order is SortOrder.UNDEFINED or leaf.index >= len(footer.column_orders):
        return False
    return footer.column_orders[leaf.index] == TYPE_ORDER


def is_date(leaf: LeafColumn) -> bool:
    """Tell whether the column holds dates."""
    return str(leaf.type) == "date32[day]"


def is_rebased(leaf: LeafColumn, footer: Footer) -> bool:
    """Tell whether Spark reads other dates than the file stores: those of its hybrid calendar."""
    if not is_date(leaf):
        return False
    version = footer.key_values.get(_SPARK_VERSION)
    if _LEGACY_DATES in footer.key_values:
        return True
    major = None if version is None else version.split(".")[0]
    return major is not None and not (major.isdigit() and int(major) >= 3)


def may_be_rebased(leaf: LeafColumn, footer: Footer) -> bool:
    """Tell whether a session's setting decides in which calendar dates of this file are read."""
    return is_date(leaf) and _SPARK_VERSION not in footer.key_values


def row_group_statistics(column: LeafColumn, footer: Footer) -> EncodedBounds:
    """Return what may be trusted of one column's statistics in each row group of one file."""
    rows = [group.num_rows for group in footer.row_groups]
    leaf = leaf_in_file(column, footer)
    if leaf is None or leaf.unsupported or column.unsupported:
        return unknown_containers(rows)
    statistics = [_credible(group.chunk(leaf), group.num_rows) for group in footer.row_groups]
    ordered = order_is_defined(leaf, footer) and not is_rebased(leaf, footer)
    return EncodedBounds(
        [entry.min_value if entry is not None and ordered else None for entry in statistics],
        [entry.max_value if entry is not None and ordered else None for entry in statistics],
        null_counts(leaf, [None if entry is None else entry.null_count for entry in statistics]),
        rows,
    )


def null_counts(leaf: LeafColumn, counts: Sequence[int | None]) -> Sequence[int | None]:
    """Return the counts, or zeros: a required column has no levels to mark a null with, whatever it claims."""
    return [0] * len(counts) if leaf.max_definition_level == 0 else counts


def _credible(chunk: ColumnChunk, num_rows: int) -> ChunkStatistics | None:
    # A flat column has one level entry a row; a chunk that claims otherwise is not believed at all.
    return None if chunk.encrypted or chunk.num_values != num_rows else chunk.statistics
