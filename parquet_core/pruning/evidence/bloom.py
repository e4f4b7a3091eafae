"""Bloom filters as evidence: they prove absence, so they decide only equalities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.bloom import can_hash, may_hold, probe_hashes
from parquet_core.pruning.outcomes import Outcomes, unknown
from parquet_core.pruning.predicate import Compare, In, Interval, Op
from parquet_core.spark_rules.calendars import common_calendar_start
from parquet_core.spark_rules.type_promotion import as_stored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Leaf

# Probing more values costs more than it saves: almost every filter reports some value of a long list as present.
MAX_PROBES = 1_000
# Limit for filters times values in one probe.
MAX_CELLS = 16 << 20


def probes(leaf: Leaf) -> pa.Array | None:
    """Return the values whose absence narrows the outcomes of the leaf.

    None if filters cannot decide the leaf, or for more than `MAX_PROBES` values. Filters of booleans are never probed,
    because parquet-java writes empty ones.
    """
    match leaf:
        case Compare(_, Op.EQ | Op.NE, value) if not pa.types.is_boolean(value.type):
            return pa.repeat(value, 1)
        case Interval(_, low, high) if low == high and not pa.types.is_boolean(low.type):
            return pa.repeat(low, 1)
        case In(_, values) if len(values) <= MAX_PROBES and not pa.types.is_boolean(values.type):
            return values
        case _:
            return None


def outcomes_from_filters(leaf: Leaf, column: LeafColumn, filters: Sequence[NDArray[np.uint32] | None]) -> OutcomeArray:
    """Return the outcome set of each container, given its bloom filter.

    `filters`: None for a missing filter. `column`: the column as the files store it, since filters hash the stored
    type; the leaf may have the type of the table.
    """
    answers = unknown(len(filters))
    values = probes(leaf)
    present = np.flatnonzero([blocks is not None for blocks in filters])
    if values is None or not can_hash(column) or len(present) == 0 or _depends_on_calendar(values):
        return answers
    held = as_stored(values, column)
    if held is None:
        return answers
    if len(held):
        maybe = may_hold([blocks for blocks in filters if blocks is not None], probe_hashes(column, held))
        present = present[~maybe.any(axis=1)]
    answers[present] &= _without(leaf)
    return answers


def outcomes_of_each_from_filters(
    leaves: Sequence[Leaf], column: LeafColumn, filters: Sequence[NDArray[np.uint32] | None]
) -> OutcomeArray:
    """Return the result of `outcomes_from_filters` for several leaves, one row each.

    Leaves that compare with a single value are probed together.
    """
    answers: OutcomeArray = np.full((len(leaves), len(filters)), Outcomes.UNKNOWN, np.uint8)
    by_leaf = {i: values for i, leaf in enumerate(leaves) if (values := _single(leaf, column)) is not None}
    present = np.flatnonzero([blocks is not None for blocks in filters])
    step = max(1, MAX_CELLS // max(1, len(present)))
    for part in (list(by_leaf)[i : i + step] for i in range(0, len(by_leaf), step)):
        hashes = probe_hashes(column, pa.concat_arrays([by_leaf[i] for i in part]))
        held = may_hold([blocks for blocks in filters if blocks is not None], hashes)
        for i, absent in zip(part, ~held.T, strict=True):
            answers[i, present[absent]] &= _without(leaves[i])
    for i in sorted(set(range(len(leaves))).difference(by_leaf)):
        answers[i] = outcomes_from_filters(leaves[i], column, filters)
    return answers


def _single(leaf: Leaf, column: LeafColumn) -> pa.Array | None:
    """Return the literal of a comparison, if filters need no conversion.

    None for other leaves, and for literals whose type differs from the column's.
    """
    if not isinstance(leaf, Compare) or leaf.value.type != column.type or not can_hash(column):
        return None
    values = probes(leaf)
    return None if values is None or _depends_on_calendar(values) else values


def _without(leaf: Leaf) -> np.uint8:
    """Return the possible outcomes if all probed values are absent."""
    never = Outcomes.FALSE if isinstance(leaf, Compare) and leaf.op is Op.NE else Outcomes.TRUE
    return np.uint8(Outcomes.UNKNOWN & ~never)


def _depends_on_calendar(values: pa.Array) -> bool:
    """True if any date or timestamp precedes the range where calendars agree.

    Spark may write such a value as another day or instant (calendar rebasing), which has another hash.
    """
    if not (pa.types.is_date32(values.type) or pa.types.is_timestamp(values.type)):
        return False
    return bool(pc.any(pc.less(values, common_calendar_start(values.type))).as_py())
