"""Dictionary level.

Dictionaries are read column by column, as long as they could skip row groups. A dictionary is part of the column chunk,
so reading it costs about as much as reading data. It is read if it has at most half of the bytes that the predicate's
columns have in the row group, since a skip saves at least those bytes. Dictionaries of at most `ALWAYS_WORTH` bytes are
always read: they take no longer than the request itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.format.dictionary import GUESS_BYTES
from parquet_core.pruning.evidence.dictionary import can_decide, outcomes_of_each_from_dictionaries
from parquet_core.pruning.known_levels import KnownLevel
from parquet_core.pruning.levels.pruning_query import LevelState, PruningLevel
from parquet_core.pruning.outcomes import Outcomes, intersect, may_match
from parquet_core.pruning.predicate import Compare, In, OnValues, Op, Pattern
from parquet_core.pruning.trees import outcomes_to_refute
from parquet_core.trust.bounds import presence_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_core.format.column_chunk import ColumnChunks
    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.levels.pruning_query import PruningQuery
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import ColumnLeaf, Leaf

    Flags = NDArray[np.bool_]
    Numbers = NDArray[np.int64]

_NAME = KnownLevel.DICTIONARY.key
ALWAYS_WORTH = 64 << 10
# Limit for dictionaries in memory at once, in stored bytes.
MAX_BATCH = 16 << 20
# Dictionaries to read first for conditions that are tested on values: if these have too many values, the others do too.
PROBED = 4

_UNDECIDED = np.uint8(Outcomes.TRUE | Outcomes.FALSE)


class _Candidate(NamedTuple):
    """A column whose dictionaries may be read.

    `leaves`: indices of the leaves on the column. `cost`: bytes to read per row group.
    """

    column: LeafColumn
    leaves: tuple[int, ...]
    cost: Numbers


def evaluate(query: PruningQuery, before: LevelState) -> LevelState:
    """Evaluate the dictionaries that could skip row groups."""
    waiting = _candidates(query)
    refined = before.by_leaf.copy()
    worth, let_it_be_true = _worth(query), query.auxiliary.wanted(outcomes_to_refute(query.predicate))
    dictionaries_read, refused, reasons = 0, False, dict[str, None]()
    for done, candidate in enumerate(waiting):
        leaf_indices = list(candidate.leaves)
        open_ = _undecided(refined[leaf_indices])
        if open_.any():
            open_ &= _helpful(query, refined, let_it_be_true, waiting[done:])
        refused |= bool(np.any(open_ & (candidate.cost > worth)))
        parts = [query.parts[i] for i in leaf_indices]
        wanted = np.flatnonzero(open_ & (candidate.cost <= worth))
        if len(wanted) == 0:
            continue
        may_be_null = presence_of(query.index.footers.bounds(candidate.column)).null
        refusals = query.index.dictionaries.refusals(candidate.column, wanted)
        refused_for = dict.fromkeys(refusals[refusals != ""].tolist())
        reasons.update({f"{candidate.column.name}: {why}": None for why in refused_for})
        is_tested = all(isinstance(part, OnValues) for part in parts)
        for positions in _batches(wanted[refusals == ""], candidate.cost, PROBED if is_tested else 0):
            dictionaries = query.index.dictionaries.read(candidate.column, positions)
            dictionaries_read += sum(not isinstance(values, str) for values in dictionaries)
            reasons.update({f"{candidate.column.name}: {why}": None for why in dictionaries if isinstance(why, str)})
            usable = [None if isinstance(values, str) else values for values in dictionaries]
            cells = np.ix_(np.array(leaf_indices), positions)
            denied = outcomes_of_each_from_dictionaries(parts, usable, may_be_null=may_be_null[positions])
            earlier, refined[cells] = refined[cells], intersect(refined[cells], denied)
            if (
                all(isinstance(part, OnValues) and part.test.limits for part in parts)
                and (earlier == refined[cells]).all()
            ):
                break
    why = list(reasons)[:3]
    if refused:
        why.append("reading some dictionaries would cost more than it could save")
    if dictionaries_read == 0 and not reasons:
        reason = why or ["a dictionary could skip nothing more" if waiting else "no value to look up"]
        return LevelState(_NAME, before.outcomes, before.by_leaf, "not_applicable", reason[0])
    folded = query.fold(refined)
    return LevelState(_NAME, folded, refined, "consulted" if dictionaries_read else "absent", "; ".join(why))


def _candidates(query: PruningQuery) -> list[_Candidate]:
    """Return the columns that dictionaries could decide.

    Columns with equalities, patterns or value tests come first, then those with fewer bytes to read.
    """
    by_column: dict[LeafColumn, list[int]] = {}
    for i, leaf in enumerate(query.parts):
        column = query.column_of(leaf)
        if column is not None and can_decide(leaf):
            by_column.setdefault(column, []).append(i)
    candidates = [
        _Candidate(column, tuple(leaves), _stored_bytes(query.index.footers.chunks(column)))
        for column, leaves in by_column.items()
    ]
    return sorted(candidates, key=lambda it: (not _looks_up([query.parts[i] for i in it.leaves]), int(it.cost.sum())))


def _looks_up(leaves: Sequence[Leaf]) -> bool:
    return any(
        isinstance(leaf, In | Pattern | OnValues) or (isinstance(leaf, Compare) and leaf.op in {Op.EQ, Op.NE})
        for leaf in leaves
    )


def _stored_bytes(chunks: ColumnChunks) -> Numbers:
    """Return the bytes to read for each dictionary."""
    start, stop = chunks.dictionary_page_offset, chunks.data_page_offset
    guess = np.minimum(GUESS_BYTES, np.maximum(chunks.compressed_bytes, 0))
    return np.where((start > 0) & (start < stop), stop - start, guess)


def _worth(query: PruningQuery) -> Numbers:
    """Return the size up to which a dictionary is worth reading, per row group."""
    saved = np.zeros(len(query.index), np.int64)
    for column in query.columns_with_metadata():
        saved += np.maximum(query.index.footers.chunks(column).compressed_bytes, 0)
    return np.maximum(saved // 2, ALWAYS_WORTH)


def _helpful(
    query: PruningQuery, outcomes: OutcomeArray, wanted: Sequence[Outcomes | None], waiting: Sequence[_Candidate]
) -> Flags:
    """Flag row groups that dictionaries of `waiting` columns could skip.

    In the best case, dictionaries rule out the outcomes in `wanted`, without which the predicate is not TRUE. A
    dictionary never rules out NULL, nor the only remaining outcome of a leaf.
    """
    best = outcomes.copy()
    of_leaf = {i: counts for candidate in waiting for i in candidate.leaves if (counts := wanted[i]) is not None}
    leaf_indices = list(of_leaf)
    undeniable = np.array([~(counts & _UNDECIDED) & 7 for counts in of_leaf.values()], np.uint8)[:, np.newaxis]
    without = outcomes[leaf_indices] & undeniable
    best[leaf_indices] = np.where(without == Outcomes.NONE, outcomes[leaf_indices], without)
    helpful: Flags = may_match(query.fold(outcomes)) & ~may_match(query.fold(best))
    return helpful


def _undecided(outcomes: OutcomeArray) -> Flags:
    """Flag row groups where some leaf may be TRUE or FALSE.

    A dictionary cannot narrow other outcomes.
    """
    undecided: Flags = ((outcomes & _UNDECIDED) == _UNDECIDED).any(axis=0)
    return undecided


def _batches(positions: Numbers, cost: Numbers, probed: int) -> Iterator[Numbers]:
    """Split row groups into batches of about `MAX_BATCH` bytes.

    The first `probed` row groups are a batch of their own.
    """
    batch = np.cumsum(cost[positions]) // MAX_BATCH + (np.arange(len(positions)) >= probed)
    yield from (part for part in np.split(positions, np.flatnonzero(np.diff(batch)) + 1) if len(part))


def explain(state: LevelState, query: PruningQuery, leaf: ColumnLeaf, column: LeafColumn, position: int) -> str:
    """Return why the dictionary did not skip a row group.

    Returns "" if the dictionary was not relevant.
    """
    if state.status == "not_applicable" or not can_decide(leaf):
        return ""
    (values,) = query.index.dictionaries.cached(column, np.array([position]))
    if isinstance(values, str):
        return f"dictionary: {values}"
    return "the dictionary was not read" if values is None else "at least one dictionary value matches"


DICTIONARIES = PruningLevel(_NAME, evaluate, denies="no dictionary value matches; ", explain=explain)
