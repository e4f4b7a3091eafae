"""Equal bounds as evidence: where all rows have one value, any condition is asked of that value.

Bounds enclose every value, so equal ones are the only value there is, whether they were cut or not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import array_of, flags_from, from_numpy
from parquet_core.outcomes import Outcomes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.evidence.min_max import Presence
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import OnValues
    from parquet_core.trust.bounds import Bounds

    Flags = NDArray[np.bool_]


def outcomes_of_known_values(leaf: OnValues, bounds: Bounds, presence: Presence) -> OutcomeArray:
    """Return what the part is for the only value of each container, and for null and NaN where they may be there."""
    one, other = _only_values(bounds)
    known = presence.number & one
    if not np.any((known | ~presence.number) & (bounds.row_count > 0)):
        return np.full(len(bounds), Outcomes.UNKNOWN, np.uint8)
    answers: OutcomeArray = np.where(presence.number, np.uint8(Outcomes.UNKNOWN), np.uint8(Outcomes.NONE))
    if known.any():
        # The two zeros of floats are equal, and need not be alike to a function.
        at = from_numpy(np.flatnonzero(known))
        low = leaf.test(bounds.lower.take(at))
        answers[known] = low | leaf.test(bounds.upper.take(at)) if other[known].any() else low
    if presence.nan.any():
        answers[presence.nan] |= outcome_of_value(leaf, array_of([math.nan], bounds.lower.type))
    if presence.null.any():
        answers[presence.null] |= outcome_of_null(leaf, bounds.lower.type)
    return answers


def outcome_of_null(leaf: OnValues, kind: pa.DataType) -> np.uint8:
    """Return what the part is for null."""
    return outcome_of_value(leaf, pa.nulls(1, kind))


def outcome_of_value(leaf: OnValues, value: pa.Array) -> np.uint8:
    """Return what the part is for a single value."""
    return np.uint8(leaf.test(value)[0])


def _only_values(bounds: Bounds) -> tuple[Flags, Flags]:
    """Tell where the bounds are equal, and where they are the two zeros."""
    same = flags_from(pc.equal(bounds.lower, bounds.upper))
    if not pa.types.is_floating(bounds.lower.type):
        return same, np.zeros(len(bounds), np.bool_)
    return same, same & flags_from(pc.equal(bounds.lower, array_of([0.0], bounds.lower.type)[0]))
