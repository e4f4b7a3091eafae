"""Bloom filter level.

Filters are read only where an absent value could skip data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.pruning.evidence.bloom import outcomes_of_each_from_filters, probes
from parquet_core.pruning.known_levels import KnownLevel
from parquet_core.pruning.levels.pruning_query import LevelState, PruningLevel
from parquet_core.pruning.outcomes import Outcomes, intersect, may_match
from parquet_core.pruning.predicate import Cause, Compare, OnValues, Op, Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.known_levels import Status
    from parquet_core.pruning.levels.pruning_query import PruningQuery
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import ColumnLeaf

_NAME = KnownLevel.BLOOM_FILTER.key


def evaluate(query: PruningQuery, before: LevelState) -> LevelState:
    """Probe the filters of row groups that are skipped if the probed values are absent."""
    outcomes = before.by_leaf
    equality = [i for i, leaf in enumerate(query.parts) if probes(leaf) is not None]
    best = _best_case(query, outcomes, equality)
    # No filter is fetched for row groups that would remain even if every value were absent.
    helpful = before.remaining & ~may_match(query.fold(best)) if equality else np.zeros(len(query.index), np.bool_)
    if not helpful.any():
        why = "a bloom filter could skip nothing more" if equality else _nothing_to_look_up(query)
        return LevelState(_NAME, before.outcomes, outcomes, "not_applicable", why)
    refined = outcomes.copy()
    filters_read, reasons = 0, dict[str, None]()
    wanted = frozenset(equality)
    for column, leaf_indices in query.by_column():
        probed = [i for i in leaf_indices if i in wanted]
        open_ = np.flatnonzero(helpful & (outcomes[probed] != best[probed]).any(axis=0))
        there = query.index.bloom_filters.may_exist(column)[open_]
        if not there.all():
            extent = " in some row groups" if there.any() else ""
            reasons[f"no bloom filter on {column.name}{extent}"] = None
        open_ = open_[there]
        if len(open_) == 0:
            continue
        for stored, positions in query.index.groups.stored_as(column, open_):
            filters = query.index.bloom_filters.read(column, positions, may_be_folded=True)
            filters_read += sum(not isinstance(blocks, str) for blocks in filters)
            reasons.update({f"{column.name}: {blocks}": None for blocks in filters if isinstance(blocks, str)})
            usable = [None if isinstance(blocks, str) else blocks for blocks in filters]
            denied = outcomes_of_each_from_filters([query.parts[i] for i in probed], stored, usable)
            cells = np.ix_(np.array(probed), positions)
            refined[cells] = intersect(refined[cells], denied)
    status: Status = "consulted" if filters_read else "absent"
    folded, why = query.fold(refined), "; ".join(list(reasons)[:3])
    return LevelState(_NAME, folded, refined, status, why)


def _nothing_to_look_up(query: PruningQuery) -> str:
    """Return why no condition can be looked up.

    The reason names an unsupported condition if there is one.
    """
    parts = (leaf.part if isinstance(leaf, OnValues) else leaf for leaf in query.parts)
    part = next((part for part in parts if isinstance(part, Unsupported) and part.cause is not Cause.FAR_YEARS), None)
    if part is None:
        return "no equality or IN to look up"
    return f"no equality or IN to look up; {part.sql} does not prune: {part.reason}"


def _best_case(query: PruningQuery, outcomes: OutcomeArray, equality: Sequence[int]) -> OutcomeArray:
    """Return the outcomes if every filter excluded every value."""
    unequal = [i for i in equality if isinstance(leaf := query.parts[i], Compare) and leaf.op is Op.NE]
    best = outcomes.copy()
    best[sorted(set(equality).difference(unequal))] &= np.uint8(Outcomes.UNKNOWN & ~Outcomes.TRUE)
    best[unequal] &= np.uint8(Outcomes.UNKNOWN & ~Outcomes.FALSE)
    return best


def explain(_: LevelState, query: PruningQuery, leaf: ColumnLeaf, column: LeafColumn, position: int) -> str:
    """Return why the filter did not exclude a value.

    Returns "" for leaves other than equalities.
    """
    if probes(leaf) is None:
        return ""
    if int(query.index.footers.chunks(column).bloom_filter[position, 0]) <= 0:
        return "no bloom filter"
    (blocks,) = query.index.bloom_filters.cached(column, np.array([position]))
    if isinstance(blocks, str):
        return f"bloom filter: {blocks}"
    return "the bloom filter was not read" if blocks is None else "the bloom filter may contain it"


BLOOM_FILTERS = PruningLevel(_NAME, evaluate, denies="the bloom filter does not contain the value; ", explain=explain)
