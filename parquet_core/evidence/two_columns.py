"""Bounds of two columns over the same rows as evidence about how their values compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from
from parquet_core.evidence.bounds import HOLD_FOR_EQUAL, HOLD_FOR_LARGER, HOLD_FOR_SMALLER, outcomes_of, presence_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Op
    from parquet_core.trust.bounds import Bounds

    Flags = NDArray[np.bool_]


def outcomes_from_two_bounds(op: Op, left: Bounds, right: Bounds) -> OutcomeArray:
    """Return which outcomes the bounds leave possible for `left op right`, per container.

    Both are about the same containers. Which value meets which nobody knows: each may meet each.
    """
    ours, theirs = presence_of(left), presence_of(right)
    numbers = ours.number & theirs.number
    low, high = _ends(left)
    other_low, other_high = _ends(right)
    smaller = (numbers & ~_certain(pc.greater_equal, low, other_high)) | (ours.number & theirs.nan)
    apart = _certain(pc.greater, low, other_high) | _certain(pc.less, high, other_low)
    equal = (numbers & ~apart) | (ours.nan & theirs.nan)
    larger = (numbers & ~_certain(pc.less_equal, high, other_low)) | (ours.nan & theirs.number)
    true, false = np.zeros(len(left), np.bool_), np.zeros(len(left), np.bool_)
    for possible, holding in ((smaller, HOLD_FOR_SMALLER), (equal, HOLD_FOR_EQUAL), (larger, HOLD_FOR_LARGER)):
        side = true if op in holding else false
        side |= possible
    return outcomes_of(true=true, false=false, null=ours.null | theirs.null)


def _ends(bounds: Bounds) -> tuple[pa.Array, pa.Array]:
    if pa.types.is_boolean(bounds.lower.type):
        return bounds.lower.cast(pa.uint8()), bounds.upper.cast(pa.uint8())
    if pa.types.is_signed_integer(bounds.lower.type):
        # Columns of different widths compare by their numbers.
        return bounds.lower.cast(pa.int64()), bounds.upper.cast(pa.int64())
    if pa.types.is_floating(bounds.lower.type):
        return bounds.lower.cast(pa.float64()), bounds.upper.cast(pa.float64())
    return bounds.lower, bounds.upper


def _certain(compare: Any, left: pa.Array, right: pa.Array) -> Flags:
    return flags_from(compare(left, right))
