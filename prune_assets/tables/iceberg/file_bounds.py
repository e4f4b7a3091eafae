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
from prune_assets.tables.iceberg.manifests.manifest import LOWER, NAN_COUNTS, NULL_COUNTS, UPPER, VALUE_COUNTS
from prune_assets.tables.iceberg.single_values import decoded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prune_assets.tables.iceberg.columns import IcebergColumn
    from prune_assets.tables.iceberg.manifests.listed_files import ListedFiles


def bounds_of(column: IcebergColumn, files: ListedFiles) -> Bounds:
    """Return the bounds of a column in each file."""
    number, rows = column.field_id, rows_of(files)
    lower = enclosing(decoded(column, files.of_column(LOWER, number)), -0.0)
    upper = enclosing(decoded(column, files.of_column(UPPER, number)), 0.0)
    wrong = filled(pc.greater(lower, upper), False)  # noqa: FBT003 - in place of nulls
    nothing = pa.nulls(1, lower.type)[0]
    # Of a value in a list counts are those of its entries.
    whole = _possible(files.of_column(VALUE_COUNTS, number), rows) == rows
    return Bounds(
        lower=pc.if_else(wrong, nothing, lower),
        upper=pc.if_else(wrong, nothing, upper),
        null_count=_known(_possible(files.of_column(NULL_COUNTS, number), rows), whole),
        row_count=rows,
        nan_count=_known(_possible(files.of_column(NAN_COUNTS, number), rows), whole),
    )


def rows_of(files: ListedFiles) -> NDArray[np.int64]:
    """Return how many rows each file has, deleted ones among them; what may hold none would be passed over."""
    return np.maximum(files.numbers("records", 1), 1)


def enclosing(values: pa.Array, zero: float) -> pa.Array:
    """Take NaN, which is no bound, from floats, and let a zero stand for both."""
    if not pa.types.is_floating(values.type):
        return values
    values = pc.if_else(pc.is_nan(values), pa.nulls(1, values.type)[0], values)
    return pc.if_else(pc.equal(values, scalar_of(0.0, values.type)), scalar_of(zero, values.type), values)


def _possible(counts: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return counts of a column, -1 where there is none that can be."""
    return np.where((counts >= 0) & (counts <= rows), counts, -1)


def _known(counts: NDArray[np.int64], whole: NDArray[np.bool_]) -> pa.Array:
    return from_numpy(counts, valid=(counts >= 0) & whole)


def with_statistics(bounds: Bounds) -> int:
    """Return the number of files that say anything of their values."""
    sides = (bounds.lower, bounds.upper, bounds.null_count)
    return int(np.count_nonzero(np.logical_or.reduce([flags_from(side.is_valid()) for side in sides])))
