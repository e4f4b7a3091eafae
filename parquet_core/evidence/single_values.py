"""Values as evidence: the truth value of a leaf for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, scalar_of
from parquet_core.evidence.many_leaves import outcomes_of_each
from parquet_core.trust.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import ColumnLeaf


def outcomes_of_values(leaf: ColumnLeaf, values: pa.Array) -> OutcomeArray:
    """Return what the leaf is for each value, null included: a single outcome where it can be decided.

    `values` have the type of the column's bounds. Each counts as a container of one row.
    """
    answers: OutcomeArray = outcomes_of_each_value([leaf], values)[0]
    return answers


def outcomes_of_each_value(leaves: Sequence[ColumnLeaf], values: pa.Array) -> NDArray[np.uint8]:
    """Return the same for several leaves on one column, a row each."""
    null = flags_from(pc.is_null(values))
    lower = upper = values
    nan = np.zeros(len(values), np.bool_)
    if pa.types.is_floating(values.type):
        lower, upper, nan = _floating(values)
    known = from_numpy(~null & ~nan)
    return outcomes_of_each(
        leaves,
        Bounds(
            lower=lower,
            upper=upper,
            null_count=from_numpy(null.astype(np.int64)),
            row_count=np.ones(len(values), np.int64),
            nan_count=from_numpy(nan.astype(np.int64)),
            min_exact=known,
            max_exact=known,
        ),
    )


def _floating(values: pa.Array) -> tuple[pa.Array, pa.Array, np.ndarray]:
    """Return lower and upper bounds and which are NaN: bounds hold no NaN, and zero has both signs."""
    nan = flags_from(pc.is_nan(values))
    numbers = pc.if_else(from_numpy(~nan), values, scalar_of(None, values.type))
    zero = pc.equal(numbers, scalar_of(0.0, values.type))
    low = pc.if_else(zero, scalar_of(-0.0, values.type), numbers)
    return low, pc.if_else(zero, scalar_of(0.0, values.type), numbers), nan
