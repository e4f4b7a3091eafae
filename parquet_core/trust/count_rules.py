"""Rules for contradicting counts and bounds of a column in Parquet, Delta logs and Iceberg manifests.

A count outside of its range is unknown. If the counts leave no value that the bounds could describe, both the counts
and the bounds are unknown. If the lower bound is above the upper bound, both bounds are unknown. An entry with a
contradiction keeps its row count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, valid_flags
from parquet_core.format.compact import MISSING
from parquet_core.trust.bounds import Bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.arrays import Flags

    Counts = NDArray[np.int64]


class ClaimedBounds(NamedTuple):
    """Claims of a log or manifest about a column, by file, before the rules are applied. A negative count is unknown.

    `lower`, `upper`: decoded bounds that enclose the values; null if unknown.
    `bounded`: True if a bound is written, whether it can be decoded or not.
    `nan_bound`: True if a written bound is NaN.
    `rows`: number of rows of each file, at least 1.
    `values`: number of values that the counts cover, nulls included.
    """

    lower: pa.Array
    upper: pa.Array
    bounded: Flags
    nan_bound: Flags
    rows: Counts
    values: Counts
    null_count: Counts
    nan_count: Counts


def consistent_bounds(claimed: ClaimedBounds) -> Bounds:
    """Return claimed bounds and counts, and drop contradictory ones.

    In the example, the bounds are 5 to 5, and the container has 10 values. 3 nulls agree with that. 10 nulls leave no
    value for the bounds, so both are dropped. 11 nulls are impossible, so only the count is dropped.

    >>> def file(nulls):
    ...     five, no, ten = pa.array([5]), np.array([False]), np.array([10])
    ...     claimed = ClaimedBounds(five, five, ~no, no, ten, ten, np.array([nulls]), np.array([0]))
    ...     bounds = consistent_bounds(claimed)
    ...     return bounds.lower[0].as_py(), bounds.null_count[0].as_py()
    >>> file(3), file(10), file(11)
    ((5, 3), (None, None), (5, None))
    """
    # Fewer values than rows are possible: writers do not count the rows of a null struct. More are impossible.
    values = np.where(within(claimed.values, claimed.rows), claimed.values, claimed.rows)
    nulls = counts_within(claimed.null_count, values)
    nans = counts_within(claimed.nan_count, values - np.maximum(nulls, 0))
    contradiction = counts_nulls_alone(values, nulls) & claimed.bounded
    contradiction |= counts_no_number(values, nulls, nans) & claimed.bounded & ~claimed.nan_bound
    usable = ~contradiction & ~crossed(claimed.lower, claimed.upper)
    counted = ~contradiction & (claimed.values == claimed.rows)
    return Bounds.of(
        lower=_where(usable, claimed.lower),
        upper=_where(usable, claimed.upper),
        null_count=count_array(np.where(counted, nulls, MISSING)),
        row_count=claimed.rows,
        nan_count=count_array(np.where(counted & ~(claimed.nan_bound & (nans == 0)), nans, MISSING)),
    )


def within(counts: Counts, most: Counts) -> Flags:
    """Flag counts that are between 0 and `most`, both included."""
    flags: Flags = (counts >= 0) & (counts <= most)
    return flags


def counts_within(counts: Counts, most: Counts) -> Counts:
    """Replace counts that are not between 0 and `most` by MISSING."""
    return np.where(within(counts, most), counts, MISSING)


def counts_nulls_alone(values: Counts, nulls: Counts) -> Flags:
    """Return flags of entries whose null count leaves no other value."""
    flags: Flags = (nulls == values) & (values > 0)
    return flags


def counts_no_number(values: Counts, nulls: Counts, nans: Counts) -> Flags:
    """Return flags of entries whose counts leave only nulls and NaN, with at least one NaN."""
    flags: Flags = (nans > 0) & (np.maximum(nulls, 0) + nans == values)
    return flags


def crossed(lower: pa.Array, upper: pa.Array) -> Flags:
    """Return flags of entries whose lower bound is above the upper bound."""
    if pa.types.is_null(lower.type):
        return np.zeros(len(lower), np.bool_)
    return flags_from(pc.greater(lower, upper))


def count_array(counts: Counts) -> pa.Array:
    """Return counts as an array; null for MISSING."""
    return from_numpy(counts, valid=counts != MISSING)


def _where(usable: Flags, bounds: pa.Array) -> pa.Array:
    if not (valid_flags(bounds) & ~usable).any():
        return bounds
    return pc.if_else(from_numpy(usable), bounds, pa.scalar(None, bounds.type))
