"""Evaluate a predicate by every level and return an access plan."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.pruning.access_plan import AccessPlan, Verdict, flagged_segments, join, make_access_plan, whole_groups
from parquet_core.pruning.evidence.bloom import probes
from parquet_core.pruning.levels import BLOOM_FILTERS, LEVELS, PARTITIONS
from parquet_core.pruning.levels.pruning_query import LevelState, PruningQuery, query_of
from parquet_core.pruning.outcomes import Outcomes, may_match, must_match
from parquet_core.pruning.predicate import OnPartitions, OnValues, Unsupported
from parquet_core.ragged import distinct
from parquet_core.storage import IN_FLIGHT, is_remote, read_ahead

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.file_answers import FileAnswers
    from parquet_core.pruning.levels.page_level import PageOutcomes
    from parquet_core.pruning.levels.pruning_query import PruningLevel
    from parquet_core.pruning.predicate import Predicate

    Ranges: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A predicate evaluated by every level that the table has.

    `states`: the state after each level, in cost order; the page level is last.
    """

    query: PruningQuery
    states: tuple[LevelState, ...]
    access: AccessPlan

    @property
    def predicate(self) -> Predicate:
        """The predicate that was evaluated."""
        return self.query.predicate

    @property
    def of_row_groups(self) -> tuple[LevelState, ...]:
        """States after the levels that skip whole row groups, in cost order."""
        return self.states[:-1]

    @property
    def row_groups(self) -> LevelState:
        """State after the last level that skips whole row groups."""
        return self.states[-2]

    @property
    def pages(self) -> LevelState:
        """State after the page level."""
        return self.states[-1]

    def after(self, level: PruningLevel) -> LevelState:
        """Return the state after a level; KeyError if the table lacks it."""
        return {state.level: state for state in self.states}[level.name]


def prune(
    predicate: Predicate,
    index: MetadataIndex,
    files: FileAnswers | None = None,
    *,
    pages: bool = True,
    located: Sequence[LeafColumn] = (),
) -> Evaluation:
    """Evaluate a predicate by every level and plan the access.

    `files`: outcomes per file before it is opened, by default from directory names.
    `pages`: False leaves out page indexes.
    `located`: columns whose pages will be read; their offset indexes are fetched in the same requests.
    """
    query = query_of(predicate, index, files, of_pages=pages)
    if len(index.groups.files) and is_remote(index.groups.files[0].path):
        left = _undecided_positions(query)
        filters = filters_to_read(query, left)
        fetch_ahead(query, left if filters else _undecided_positions(query, BLOOM_FILTERS), filters, located)
    while True:
        contradictions = index.footers.contradictions
        states = evaluate_levels(query, LEVELS)
        # If the evaluation found a contradiction, statistics that it used are no longer trusted: evaluate again.
        if index.footers.contradictions == contradictions:
            break
    access = _access(query, states[-2], states[-1].of_pages)
    if index.groups.traffic.ahead:
        index.page_indexes.locations(located, np.flatnonzero(access.verdict == Verdict.SELECTION))
        index.groups.traffic.ahead.clear()
    # Users see outcomes of the predicate's leaves, without auxiliary leaves.
    states = [replace(state, by_leaf=query.auxiliary.joined(state.by_leaf)) for state in states]
    return Evaluation(query, tuple(states), access)


def evaluate_levels(query: PruningQuery, levels: Sequence[PruningLevel]) -> list[LevelState]:
    """Return the state after each level.

    Levels that the table lacks are left out.
    """
    states: list[LevelState] = []
    before = _unknown_level(query)
    for level in levels:
        state = level.evaluate(query, before)
        if state is not None:
            states.append(state)
            before = state
    return states


def _undecided_positions(query: PruningQuery, *more: PruningLevel) -> NDArray[np.int64]:
    """Return positions of row groups that the cheap levels leave undecided.

    `more`: levels to evaluate in addition to those that need no read of their own.
    """
    state = evaluate_levels(query, [level for level in LEVELS if level.is_free or level in more])[-1]
    return np.flatnonzero(state.remaining & ~must_match(state.outcomes))


def row_groups_left_for_free(predicate: Predicate, index: MetadataIndex, files: FileAnswers) -> NDArray[np.bool_]:
    """Flag row groups that remain after the free levels.

    These levels use only the file listing and the footers.
    """
    free = [level for level in LEVELS if level.is_free]
    return evaluate_levels(query_of(predicate, index, files), free)[-1].remaining


def _unknown_level(query: PruningQuery) -> LevelState:
    outcomes = np.full((len(query.parts), len(query.index)), Outcomes.UNKNOWN, np.uint8)
    return LevelState(PARTITIONS.name, np.full(len(query.index), Outcomes.UNKNOWN, np.uint8), outcomes, "absent")


def _access(query: PruningQuery, before: LevelState, pages: PageOutcomes | None) -> AccessPlan:
    index = query.index
    cut = np.zeros(0, np.int64) if pages is None else pages.positions
    whole = before.remaining.copy()
    whole[cut] = False
    ranges = whole_groups(np.flatnonzero(whole), index.groups.row_count)
    matches = whole_groups(np.flatnonzero(whole & must_match(before.outcomes)), index.groups.row_count)
    if pages is not None:
        may = flagged_segments(may_match(pages.outcomes), pages.segments, cut, index.groups.row_count)
        must = flagged_segments(must_match(pages.outcomes), pages.segments, cut, index.groups.row_count)
        ranges, matches = join(ranges, may), join(matches, must)
    matches = matches.only(~_may_raise(query, before))
    if index.groups.deleted is not None:
        # It is unknown which rows of these files are deleted.
        matches = matches.only(~index.groups.deleted[index.groups.file])
    return make_access_plan(ranges, matches, index.groups.row_count)


def _may_raise(query: PruningQuery, before: LevelState) -> NDArray[np.bool_]:
    """Flag row groups in which an undecided condition may raise in Spark.

    A row on which a condition raises never counts as selected.
    """
    if any(isinstance(part, Unsupported) and part.may_raise for part in query.parts):
        return np.ones(len(query.index), np.bool_)
    tested = [i for i, part in enumerate(query.parts) if isinstance(part, OnValues | OnPartitions)]
    not_known: NDArray[np.bool_] = (before.by_leaf[tested] == Outcomes.UNKNOWN).any(axis=0)
    return not_known


def filters_to_read(query: PruningQuery, left: NDArray[np.int64]) -> list[Ranges]:
    """Return positions and byte ranges of bloom filters to fetch.

    `left`: positions of the remaining row groups. One pair per column that the predicate looks up; filters that are
    cached, in memory or on disk, are left out.
    """
    filters = query.index.bloom_filters
    looked_up = [
        it for it, leaf_indices in query.by_column() if any(probes(query.parts[i]) is not None for i in leaf_indices)
    ]
    missing = [(it, filters.missing(it, left[filters.may_exist(it)[left]], may_be_folded=True)) for it in looked_up]
    return [
        (positions, query.index.footers.chunks(column).bloom_filter[positions])
        for column, positions in missing
        if len(positions)
    ]


def fetch_ahead(
    query: PruningQuery, left: NDArray[np.int64], filters: list[Ranges], located: Sequence[LeafColumn]
) -> None:
    """Fetch bloom filters and page indexes in one round of requests.

    `left`: positions of the remaining row groups. `located`: columns whose pages will be read. Fetches nothing if there
    are more files than parallel requests (`IN_FLIGHT`): then the filters are read first, since they may exclude most
    files.
    """
    index = query.index
    if len(distinct(index.groups.file[left])) > IN_FLIGHT:
        return
    indexes = index.page_indexes.missing(query.columns_with_metadata() if query.of_pages else (), located, left)
    wanted: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for positions, ranges in [*filters, *((it.positions, it.ranges) for it in indexes)]:
        for file, (start, length) in zip(index.groups.file[positions].tolist(), ranges.tolist(), strict=True):
            if start > 0 and length > 0:
                wanted[file].append((start, length))
    read_ahead(
        [(index.groups.files[i], ranges) for i, ranges in wanted.items()], purpose="index", traffic=index.groups.traffic
    )
