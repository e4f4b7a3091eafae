"""Bounds of columns by file, from the manifests, for the columns of a predicate alone.

Bounds of texts may be cut; they enclose the values all the same. What is missing or contradicts itself is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import filled, flags_from, from_numpy, scalar_of
from parquet_core.trust.bounds import Bounds
from prune_assets.tables.iceberg.single_values import decoded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from pyiceberg.manifest import DataFile

    from prune_assets.tables.iceberg.columns import IcebergColumn


def bounds_of(column: IcebergColumn, files: Sequence[DataFile]) -> Bounds:
    """Return the bounds of a column in each file."""
    number, rows = column.field_id, rows_of(files)
    lower = _enclosing(decoded(column, [_of(file.lower_bounds, number) for file in files]), -0.0)
    upper = _enclosing(decoded(column, [_of(file.upper_bounds, number) for file in files]), 0.0)
    wrong = filled(pc.greater(lower, upper), False)  # noqa: FBT003 - in place of nulls
    nothing = pa.nulls(1, lower.type)[0]
    # Of a value in a list counts are those of its entries.
    whole = _counts([file.value_counts for file in files], number, rows) == rows
    return Bounds(
        lower=pc.if_else(wrong, nothing, lower),
        upper=pc.if_else(wrong, nothing, upper),
        null_count=_known(_counts([file.null_value_counts for file in files], number, rows), whole),
        row_count=rows,
        nan_count=_known(_counts([file.nan_value_counts for file in files], number, rows), whole),
    )


def rows_of(files: Sequence[DataFile]) -> NDArray[np.int64]:
    """Return how many rows each file has, deleted ones among them; what may hold none would be passed over."""
    return np.array([max(file.record_count, 1) for file in files], np.int64)


def _of(bounds: Mapping[int, bytes] | None, number: int) -> bytes | None:
    return None if bounds is None else bounds.get(number)


def _enclosing(values: pa.Array, zero: float) -> pa.Array:
    """Take NaN, which is no bound, from floats, and let a zero stand for both."""
    if not pa.types.is_floating(values.type):
        return values
    values = pc.if_else(pc.is_nan(values), pa.nulls(1, values.type)[0], values)
    return pc.if_else(pc.equal(values, scalar_of(0.0, values.type)), scalar_of(zero, values.type), values)


def _counts(counts: Sequence[Mapping[int, int] | None], number: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return counts of a column, -1 where there is none that can be."""
    found = np.array([-1 if each is None else each.get(number, -1) for each in counts], np.int64)
    return np.where((found >= 0) & (found <= rows), found, -1)


def _known(counts: NDArray[np.int64], whole: NDArray[np.bool_]) -> pa.Array:
    return from_numpy(counts, valid=(counts >= 0) & whole)


def with_statistics(bounds: Bounds) -> int:
    """Return the number of files that say anything of their values."""
    sides = (bounds.lower, bounds.upper, bounds.null_count)
    return int(np.count_nonzero(np.logical_or.reduce([flags_from(side.is_valid()) for side in sides])))
