"""What the row groups that survive a plan hold of a column at most: the frame that derived filters are cut to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.access_plan import Verdict
from parquet_core.arrow_arrays import from_numpy
from parquet_core.format.comparable_values import bounds_type
from parquet_core.format.schema import SortOrder

if TYPE_CHECKING:
    from parquet_core.access_plan import AccessPlan
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Path

# 0001-01-01 and 9999-12-31 in days since 1970-01-01: every year that can be written with four digits.
MIN_DAY, MAX_DAY = -719162, 2932896
DAY = 86_400_000_000  # microseconds, which bounds of timestamps are in


class SurvivorBounds:
    """The bounds of columns over all surviving row groups, each looked up once."""

    def __init__(self, index: MetadataIndex, access: AccessPlan) -> None:
        self._index = index
        self._survivors = np.flatnonzero(access.verdict != Verdict.SKIP)
        self._columns = {column.path: column for column in (*index.columns, *index.partitions)}
        self._found: dict[Path, tuple[pa.Scalar, pa.Scalar] | None] = {}

    def is_known(self, path: Path) -> bool:
        """Tell whether a filter on the column means the same to Spark in every file.

        Spark cuts a literal down to the type of a file that stores the column in another.
        """
        column = self._columns.get(path)
        if column is None or column.unsupported:
            return False
        return path in self._index.partition_values or not self._index.has_several_types(column)

    def of(self, path: Path) -> tuple[pa.Scalar, pa.Scalar] | None:
        """Return the least and the greatest value; None where not every survivor tells, or NaN may stand above."""
        if path not in self._found:
            self._found[path] = self._of(self._columns[path])
        return self._found[path]

    def _of(self, column: LeafColumn) -> tuple[pa.Scalar, pa.Scalar] | None:
        if column.type is None or pa.types.is_boolean(column.type) or column.order is SortOrder.FLOATING:
            return None
        values = self._index.partition_values.get(column.path)
        if values is not None:
            of_files = values.take(from_numpy(np.unique(self._index.file[self._survivors])))
            return _ends(of_files.cast(bounds_type(column)), of_files.cast(bounds_type(column)))
        if column.order is SortOrder.UNDEFINED:
            return None
        bounds = self._index.footers.bounds(column).take(self._survivors)
        all_null = pc.fill_null(pc.equal(bounds.null_count, from_numpy(bounds.row_count)), fill_value=False)
        told = pc.or_(pc.and_(pc.is_valid(bounds.lower), pc.is_valid(bounds.upper)), all_null)
        return _ends(bounds.lower, bounds.upper) if pc.all(told).as_py() else None

    def may_be_null(self, path: Path) -> bool:
        """Tell whether a surviving row group may hold a null of the column."""
        values = self._index.partition_values.get(path)
        if values is not None:
            return bool(values.null_count)
        counts = self._index.footers.bounds(self._columns[path]).null_count.take(from_numpy(self._survivors))
        return bool(counts.null_count) or bool(pc.any(pc.not_equal(counts, 0)).as_py())


def _ends(lower: pa.Array, upper: pa.Array) -> tuple[pa.Scalar, pa.Scalar] | None:
    low, high = pc.min_max(lower)["min"], pc.min_max(upper)["max"]
    return (low, high) if low.is_valid and high.is_valid else None


def can_be_written(value: pa.Scalar) -> bool:
    """Tell whether a value can be written as a literal that means the same in every session."""
    kind = value.type
    if pa.types.is_floating(kind):
        return bool(math.isfinite(value.as_py()))
    if pa.types.is_date32(kind):
        return bool(MIN_DAY <= value.value <= MAX_DAY)
    if pa.types.is_timestamp(kind):
        return bool(kind.unit == "us" and MIN_DAY * DAY <= value.value < (MAX_DAY + 1) * DAY)
    return True


def value_key(value: pa.Scalar) -> Any:
    """Return what values of one column are ordered by: numbers as they are, times by their count, texts by bytes.

    >>> value_key(pa.scalar("é")) > value_key(pa.scalar(b"z"))
    True
    """
    kind = value.type
    if pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        return value.value
    found = value.as_py()
    return found.encode() if isinstance(found, str) else found
