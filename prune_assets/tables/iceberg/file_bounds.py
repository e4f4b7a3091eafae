"""Bounds of a predicate's columns in each file, from the manifests.

Bounds of strings may be truncated, but still enclose the values. Missing or contradictory claims are unknown.

Converters of a Delta log copy its statistics, whose bounds may not enclose the values: timestamps have only
milliseconds, and long integers may have been rounded to a 64-bit float. Sources:
https://github.com/delta-io/delta/issues/7444 (UniForm), and DeltaStatsExtractor of Apache XTable, which Microsoft's
OneLake uses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, scalar_of, valid_flags
from parquet_core.trust.count_rules import ClaimedBounds, consistent_bounds
from parquet_core.trust.widened_bounds import Pair, widened
from prune_assets.tables.iceberg.manifests.manifest import LOWER, NAN_COUNTS, NULL_COUNTS, UPPER, VALUE_COUNTS
from prune_assets.tables.iceberg.single_values import decoded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.trust.bounds import Bounds
    from prune_assets.tables.iceberg.columns import IcebergColumn
    from prune_assets.tables.iceberg.manifests.listed_files import ListedFiles
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot


# Properties that converters set. XTable moved its property from the table properties to the summary of each snapshot.
_MARKS = frozenset({"delta-version", "XTABLE_METADATA"})


def is_converted(snapshot: IcebergSnapshot) -> bool:
    """Return True if a converter wrote the table's metadata from a Delta log."""
    summaries = (
        entry.summary.additional_properties for entry in snapshot.metadata.snapshots if entry.summary is not None
    )
    return any(not _MARKS.isdisjoint(names) for names in (snapshot.metadata.properties, *summaries))


def enclosing_bounds(column: IcebergColumn, snapshot: IcebergSnapshot) -> Bounds:
    """Return the bounds of a column in each file, widened if they were converted from a Delta log."""
    bounds = bounds_of(column, snapshot.files)
    if not is_converted(snapshot):
        return bounds
    wide = widened(Pair(bounds.lower, bounds.upper), from_float=False)
    return replace(bounds, lower=wide.lower, upper=wide.upper)


def bounds_of(column: IcebergColumn, files: ListedFiles) -> Bounds:
    """Return the bounds of a column in each file, as written."""
    field_id = column.field_id
    return consistent_bounds(
        claimed_bounds(
            column,
            files.of_column(LOWER, field_id),
            files.of_column(UPPER, field_id),
            rows=rows_of(files),
            values=files.of_column(VALUE_COUNTS, field_id),
            null_count=files.of_column(NULL_COUNTS, field_id),
            nan_count=files.of_column(NAN_COUNTS, field_id),
        )
    )


def claimed_bounds(
    column: IcebergColumn, lower: pa.Array, upper: pa.Array, **counts: NDArray[np.int64]
) -> ClaimedBounds:
    """Decode the bounds of a column.

    `counts`: the counts of `ClaimedBounds`, by name.
    """
    low, high = decoded(column, lower), decoded(column, upper)
    return ClaimedBounds(
        enclosing(low, -0.0),
        enclosing(high, 0.0),
        bounded=valid_flags(lower) | valid_flags(upper),
        nan_bound=_nan_flags(low) | _nan_flags(high),
        **counts,
    )


def _nan_flags(values: pa.Array) -> NDArray[np.bool_]:
    return flags_from(pc.is_nan(values)) if pa.types.is_floating(values.type) else np.zeros(len(values), np.bool_)


def rows_of(files: ListedFiles) -> NDArray[np.int64]:
    """Return the row count of each file, deleted rows included; at least 1, because 0 would skip the file."""
    return np.maximum(files.numbers("records", 1), 1)


def enclosing(values: pa.Array, zero: float) -> pa.Array:
    """Normalize bounds of floats: NaN, which bounds nothing, becomes null; 0.0 and -0.0 become `zero`."""
    if not pa.types.is_floating(values.type):
        return values
    values = pc.if_else(pc.is_nan(values), pa.nulls(1, values.type)[0], values)
    return pc.if_else(pc.equal(values, scalar_of(0.0, values.type)), scalar_of(zero, values.type), values)


def with_statistics(bounds: Bounds) -> int:
    """Return the number of files with bounds or a null count."""
    sides = (bounds.lower, bounds.upper, bounds.null_count)
    return int(np.count_nonzero(np.logical_or.reduce([flags_from(side.is_valid()) for side in sides])))
