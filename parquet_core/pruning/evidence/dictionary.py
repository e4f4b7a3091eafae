"""Dictionaries as evidence: a complete dictionary proves absence.

It holds every non-null value of its chunk, and perhaps more. If no entry satisfies a condition, no row does; if every
entry satisfies it, every non-null row does. Dictionaries do not record nulls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from
from parquet_core.pruning.evidence.many_leaves import outcomes_of_each_value
from parquet_core.pruning.evidence.min_max import outcome_of_null
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import ColumnLeaf, IsNaN, IsNull, OnValues
from parquet_core.spark_rules.calendars import common_calendar_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.pruning.predicate import Leaf

# Limit for entries times leaves that are evaluated together.
MAX_CELLS = 16 << 20


def can_decide(leaf: Leaf) -> bool:
    """True if non-null values of a column can decide the leaf."""
    return isinstance(leaf, ColumnLeaf) and not isinstance(leaf, IsNull)


def outcomes_of_each_from_dictionaries(
    leaves: Sequence[Leaf], dictionaries: Sequence[pa.Array | None], *, may_be_null: NDArray[np.bool_] | None = None
) -> NDArray[np.uint8]:
    """Return outcome sets by leaf and container from complete dictionaries.

    `dictionaries`: None for a missing one.
    `may_be_null`: flags of containers that may hold null, by default all. Only conditions tested on values (`OnValues`)
    use the flags, because their outcome for null need not be NULL.
    """
    answers = np.full((len(leaves), len(dictionaries)), Outcomes.UNKNOWN, np.uint8)
    present = [(i, values) for i, values in enumerate(dictionaries) if values is not None and len(values)]
    if not present:
        return answers
    containers = np.array([i for i, _ in present])
    entries = pa.concat_arrays([values for _, values in present])
    lengths = np.array([len(values) for _, values in present], np.int64)
    first = np.cumsum(lengths) - lengths
    old = np.logical_or.reduceat(_depends_on_calendar(entries), first)
    decidable = [(i, leaf) for i, leaf in enumerate(leaves) if isinstance(leaf, ColumnLeaf) and can_decide(leaf)]
    step = max(1, MAX_CELLS // len(entries))
    for part in (decidable[i : i + step] for i in range(0, len(decidable), step)):
        each = outcomes_of_each_value([leaf for _, leaf in part], entries)
        of_values = np.bitwise_or.reduceat(each, first, axis=1)
        for i, (_, leaf) in enumerate(part):
            nulls = may_be_null[containers] if may_be_null is not None and isinstance(leaf, OnValues) else ...
            if nulls is ... or nulls.any():
                of_values[i, nulls] |= _outcome_of_null(leaf, entries.type)
        of_values[:, old] = Outcomes.UNKNOWN
        answers[np.ix_(np.array([i for i, _ in part]), containers)] = of_values
    return answers


def _outcome_of_null(leaf: ColumnLeaf, arrow_type: pa.DataType) -> np.uint8:
    """Return the outcome of a leaf for null values."""
    if isinstance(leaf, OnValues):
        return outcome_of_null(leaf, arrow_type)
    return np.uint8(Outcomes.FALSE if isinstance(leaf, IsNaN) else Outcomes.NULL)


def _depends_on_calendar(values: pa.Array) -> np.ndarray:
    """Flag dates and timestamps that precede the range where calendars agree.

    Spark may read such an entry as another day or instant than the stored one (calendar rebasing).
    """
    if not (pa.types.is_date32(values.type) or pa.types.is_timestamp(values.type)):
        return np.zeros(len(values), np.bool_)
    return flags_from(pc.less(values, common_calendar_start(values.type)))
