"""Bounds of two columns as evidence for `left op right`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, scalar_of
from parquet_core.pruning.evidence.min_max import (
    HOLD_FOR_EQUAL,
    HOLD_FOR_LARGER,
    HOLD_FOR_SMALLER,
    outcomes_of,
)
from parquet_core.trust.bounds import presence_of

if TYPE_CHECKING:
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Op
    from parquet_core.trust.bounds import Bounds


_MOST_DIGITS = 76
_ROUNDING = 2.0**-49  # relative error of decimals cast to doubles


def outcomes_from_two_bounds(op: Op, left: Bounds, right: Bounds) -> OutcomeArray:
    """Return the outcome set of `left op right` for each container.

    `left`, `right`: bounds of the same containers. Any value of one column may be in the same row as any value of the
    other.
    """
    ours, theirs = presence_of(left), presence_of(right)
    both_valued = ours.value & theirs.value
    low, high, other_low, other_high = _ends(left, right)
    smaller = (both_valued & ~flags_from(pc.greater_equal(low, other_high))) | (ours.value & theirs.nan)
    apart = flags_from(pc.greater(low, other_high)) | flags_from(pc.less(high, other_low))
    equal = (both_valued & ~apart) | (ours.nan & theirs.nan)
    larger = (both_valued & ~flags_from(pc.less_equal(high, other_low))) | (ours.nan & theirs.value)
    true, false = np.zeros(len(left), np.bool_), np.zeros(len(left), np.bool_)
    for possible, holding in ((smaller, HOLD_FOR_SMALLER), (equal, HOLD_FOR_EQUAL), (larger, HOLD_FOR_LARGER)):
        side = true if op in holding else false
        side |= possible
    return outcomes_of(true=true, false=false, null=ours.null | theirs.null)


def _ends(left: Bounds, right: Bounds) -> list[pa.Array]:
    """Return the bounds of both sides, cast to a common type.

    Values of the common type compare as the columns do.
    """
    common = _common_type(left.lower.type, right.lower.type)
    return [end for side in (left, right) for end in (_as(side.lower, common, -1), _as(side.upper, common, 1))]


def _common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if pa.types.is_boolean(left):
        return pa.uint8()
    if pa.types.is_floating(left) or pa.types.is_floating(right):
        return pa.float64()
    if left == right:
        return left
    scale = max((arrow_type.scale for arrow_type in (left, right) if pa.types.is_decimal(arrow_type)), default=0)
    if scale or pa.types.is_decimal(left) or pa.types.is_decimal(right) or pa.uint64() in {left, right}:
        return pa.decimal256(_MOST_DIGITS, scale)
    return pa.int64() if pa.types.is_integer(left) else left


def _as(ends: pa.Array, common: pa.DataType, outwards: int) -> pa.Array:
    if not pa.types.is_decimal(ends.type) or not pa.types.is_floating(common):
        return ends.cast(common, safe=not pa.types.is_floating(common))
    # Neither Spark nor Arrow rounds a decimal to the nearest double; their results may differ by some units.
    doubles = ends.cast(common, safe=False)
    return pc.add(doubles, pc.multiply(pc.abs(doubles), scalar_of(outwards * _ROUNDING, common)))
