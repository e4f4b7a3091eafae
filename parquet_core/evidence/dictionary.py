"""Dictionaries as evidence: every value of the chunk stands in them, and perhaps others, so they prove absence.

What no entry satisfies no row satisfies; what every entry satisfies every row that is not null does. About nulls a
dictionary says nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from
from parquet_core.evidence.single_values import outcomes_of_values
from parquet_core.outcomes import Outcomes, unknown
from parquet_core.predicate import ColumnLeaf, IsNull
from parquet_core.trust.bounds import common_calendar_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Leaf


def can_decide(leaf: Leaf) -> bool:
    """Tell whether the values of a column, its nulls aside, say anything about a leaf."""
    return isinstance(leaf, ColumnLeaf) and not isinstance(leaf, IsNull)


def outcomes_from_dictionaries(leaf: Leaf, dictionaries: Sequence[pa.Array | None]) -> OutcomeArray:
    """Return which outcomes complete dictionaries leave possible, per container; None is a missing one."""
    answers = unknown(len(dictionaries))
    present = [(i, values) for i, values in enumerate(dictionaries) if values is not None and len(values)]
    if not present or not isinstance(leaf, ColumnLeaf) or not can_decide(leaf):
        return answers
    entries = pa.concat_arrays([values for _, values in present])
    each = outcomes_of_values(leaf, entries)
    each[_depends_on_calendar(entries)] = Outcomes.UNKNOWN
    lengths = np.array([len(values) for _, values in present], np.int64)
    of_values = np.bitwise_or.reduceat(each, np.cumsum(lengths) - lengths)
    answers[[i for i, _ in present]] = of_values | np.uint8(Outcomes.NULL)
    return answers


def _depends_on_calendar(values: pa.Array) -> np.ndarray:
    """Tell which entries are so old that a session may read another day or instant than is stored."""
    if not (pa.types.is_date32(values.type) or pa.types.is_timestamp(values.type)):
        return np.zeros(len(values), np.bool_)
    return flags_from(pc.less(values, common_calendar_start(values.type)))
