"""The levels in cost order: partition values, row-group statistics, bloom filters, dictionaries, page indexes.

Partition values stand in paths; footers, with the statistics in them, are read of the files that these leave. Where a
Delta log lists the files, it gives the partition values, and statistics of whole files behind them.

Where a chunk has both a bloom
filter and a dictionary the filter is the smaller by far, a byte or two a value; the dictionary may also have to be
decompressed. Page indexes come last because they leave parts of row groups, which nothing else can use.

Each level is asked only about what the levels before it left open, and its answers are intersected
with theirs at the leaf. So an OR is skipped when statistics deny one arm and a bloom filter the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.access_plan import (
    AccessPlan,
    flagged_segments,
    join,
    make_access_plan,
    whole_groups,
)
from parquet_core.evidence.many_leaves import outcomes_of_each
from parquet_core.evidence.two_columns import outcomes_from_two_bounds
from parquet_core.outcomes import Outcomes, intersect, may_match, must_match
from parquet_core.predicate import ColumnLeaf, Constant, OnPartitions, OnValues, Unsupported
from parquet_core.pruning import constant_answers
from parquet_core.ragged import distinct
from parquet_core.segments import Segments, merge_borders
from prune_assets.planner.bloom_level import bloom_level
from prune_assets.planner.delta_level import log_partition_level, log_statistics_level
from prune_assets.planner.dictionary_level import dictionary_level
from prune_assets.planner.partition_level import partition_level
from prune_assets.planner.question import LevelState, question_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.dataset.page_batch import PageBatch
    from parquet_core.format.schema import LeafColumn
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Path, Predicate
    from prune_assets.planner.delta_table import DeltaTable
    from prune_assets.planner.question import Question
    from prune_assets.report.skip_report import LevelName, Status

# Answers of leaves about segments that are held at once, and segments: few enough to stay in a processor's cache.
MAX_ANSWERS = 16 << 20
MAX_SEGMENTS = 1 << 18


@dataclass(frozen=True, slots=True)
class PageAnswers:
    """Answers per segment of the row groups at `positions`."""

    positions: NDArray[np.int64]
    segments: Segments
    answers: OutcomeArray
    pages: dict[Path, PageBatch]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A predicate asked through every level; `levels_of_files`: asked about whole files, before these were opened."""

    predicate: Predicate
    partitions: LevelState
    log_statistics: LevelState | None
    statistics: LevelState
    bloom: LevelState
    dictionary: LevelState
    pages: LevelState
    page_answers: PageAnswers | None
    access: AccessPlan
    levels_of_files: tuple[LevelName, ...]

    @property
    def of_row_groups(self) -> tuple[LevelState, ...]:
        """The levels about whole row groups, in cost order."""
        of_log = () if self.log_statistics is None else (self.log_statistics,)
        return self.partitions, *of_log, self.statistics, self.bloom, self.dictionary

    @property
    def row_groups(self) -> LevelState:
        """What all that is known of whole row groups leaves."""
        return self.dictionary

    @property
    def levels(self) -> tuple[LevelState, ...]:
        """All levels in cost order."""
        return *self.of_row_groups, self.pages


def evaluate(
    predicate: Predicate, index: MetadataIndex, *, pages: bool = True, delta: DeltaTable | None = None
) -> Evaluation:
    """Ask every level about a predicate; `pages` False stops at row groups.

    `delta`: the table whose log lists the files of `index`.
    """
    while True:
        known = index.contradictions
        found = _evaluate(predicate, index, pages=pages, delta=delta)
        # What was believed before a file was seen to contradict itself is asked again.
        if index.contradictions == known:
            return found


def _evaluate(predicate: Predicate, index: MetadataIndex, *, pages: bool, delta: DeltaTable | None) -> Evaluation:
    question = question_of(predicate, index, delta)
    partitions, log_statistics = file_levels(question)
    statistics = statistics_level(question, log_statistics or partitions)
    bloom = bloom_level(question, statistics)
    dictionary = dictionary_level(question, bloom)
    page_answers, page_level = _page_level(question, dictionary, wanted=pages)
    return Evaluation(
        predicate=predicate,
        partitions=_of_leaves(question, partitions),
        log_statistics=None if log_statistics is None else _of_leaves(question, log_statistics),
        statistics=_of_leaves(question, statistics),
        bloom=_of_leaves(question, bloom),
        dictionary=_of_leaves(question, dictionary),
        pages=_of_leaves(question, page_level),
        page_answers=page_answers,
        access=_access(question, dictionary, page_answers),
        levels_of_files=_levels_of_files(index, partitions, log_statistics),
    )


def _levels_of_files(
    index: MetadataIndex, partitions: LevelState, log_statistics: LevelState | None
) -> tuple[LevelName, ...]:
    if log_statistics is not None:
        return partitions.level, log_statistics.level
    return () if index.opened is None else (partitions.level,)


def _of_leaves(question: Question, state: LevelState) -> LevelState:
    """Return a state with the answers of the predicate's own leaves alone."""
    return replace(state, by_leaf=question.beside.joined(state.by_leaf))


def file_levels(question: Question) -> tuple[LevelState, LevelState | None]:
    """Ask what is known of whole files without opening them."""
    if question.delta is None:
        return partition_level(question), None
    partitions = log_partition_level(question)
    return partitions, log_statistics_level(question, partitions)


def statistics_level(question: Question, before: LevelState) -> LevelState:
    """Ask the statistics of every row group: the footers that hold them are read anyway."""
    answers = before.by_leaf.copy()
    for i, leaf in enumerate(question.parts):
        if isinstance(leaf, Constant):
            answers[i] = intersect(answers[i], constant_answers(leaf, len(question.index)))
    for column, numbers in question.by_column():
        found = outcomes_of_each(_column_leaves(question, numbers), question.index.bounds(column))
        answers[numbers] = intersect(answers[numbers], found)
    for i, pair in question.pairs():
        left, right = (question.index.bounds(question.columns[path]) for path in (pair.left, pair.right))
        answers[i] = intersect(answers[i], outcomes_from_two_bounds(pair.op, left, right))
    folded = question.fold(answers)
    asked = question.asked()
    if question.index.opened is not None and not before.alive.any():
        source = "directory names leave" if question.delta is None else "the log leaves"
        return LevelState("row_group_statistics", folded, answers, "not_applicable", f"{source} no file to open")
    if not asked:
        why = "no part of the predicate can be answered from what files say about their columns"
        return LevelState("row_group_statistics", folded, answers, "not_applicable", why)
    silent = [column.name for column in asked if not _says_anything(question.index, column)]
    why = f"no row group has statistics that may be trusted for {', '.join(silent)}" if silent else ""
    status: Status = "absent" if len(silent) == len(asked) else "consulted"
    return LevelState("row_group_statistics", folded, answers, status, why)


def _says_anything(index: MetadataIndex, column: LeafColumn) -> bool:
    bounds = index.bounds(column)
    return any(len(array) > array.null_count for array in (bounds.lower, bounds.upper, bounds.null_count))


def _page_level(question: Question, before: LevelState, *, wanted: bool) -> tuple[PageAnswers | None, LevelState]:
    index = question.index
    positions = np.flatnonzero(before.alive & ~must_match(before.answers))
    columns = question.asked_of_pages(before.by_leaf[:, positions], positions)
    if not wanted or not columns or len(positions) == 0:
        why = "nothing is left that a page index could rule out" if wanted else "not asked for"
        return None, LevelState("page_index", before.answers, before.by_leaf, "not_applicable", why)
    index.fetch_pages(columns, positions)
    pages = {column.path: index.pages(column, positions) for column in columns}
    if all(np.all(batch.reason != "") for batch in pages.values()):
        names = ", ".join(column.name for column in columns)
        why = f"no column index for {names}"
        return None, LevelState("page_index", before.answers, before.by_leaf, "absent", why)
    base = np.cumsum(index.row_count[positions]) - index.row_count[positions]
    segments = merge_borders(base, _starts(base, list(pages.values())))
    folded = _on_segments(question, before.by_leaf[:, positions], segments, pages)
    after = before.answers.copy()
    after[positions] = np.bitwise_or.reduceat(folded, _firsts(segments))
    return PageAnswers(positions, segments, folded, pages), LevelState("page_index", after, before.by_leaf, "consulted")


def _starts(base: NDArray[np.int64], batches: Sequence[PageBatch]) -> list[NDArray[np.int64]]:
    """Return the first row of each page, counted over all row groups; those with the same borders share an array."""
    found: list[NDArray[np.int64]] = []
    for i, batch in enumerate(batches):
        alike = (j for j in range(i) if _same_borders(batches[j], batch))
        earlier = next(alike, None)
        starts = np.repeat(base, np.diff(batch.first)) + batch.first_row if earlier is None else found[earlier]
        found.append(starts)
    return found


def _same_borders(one: PageBatch, other: PageBatch) -> bool:
    return np.array_equal(one.first, other.first) and np.array_equal(one.first_row, other.first_row)


def _firsts(segments: Segments) -> NDArray[np.int64]:
    """Return the first segment of each row group."""
    return np.flatnonzero(np.diff(segments.row_group, prepend=-1))


def _on_segments(
    question: Question, by_group: OutcomeArray, segments: Segments, pages: dict[Path, PageBatch]
) -> OutcomeArray:
    """Fold what row groups and pages say on every segment, some whole row groups at a time."""
    folded = np.empty(len(segments), np.uint8)
    numbers = {path: list[int]() for path in pages} | {column.path: of for column, of in question.by_column()}
    place = {path: i for i, path in enumerate(pages)}
    firsts = np.append(_firsts(segments), len(segments))
    step = min(MAX_SEGMENTS, max(1, MAX_ANSWERS // len(question.parts)))
    groups = distinct(np.append(np.searchsorted(firsts, np.arange(0, len(segments), step)), len(firsts) - 1))
    for low, high in pairwise(groups.tolist()):
        block = slice(int(firsts[low]), int(firsts[high]))
        # What holds for a row group holds for each part of it.
        answers = np.repeat(by_group[:, low:high], np.diff(firsts[low : high + 1]), axis=1)
        for (path, batch), page in zip(pages.items(), segments.page, strict=True):
            first, stop = int(batch.first[low]), int(batch.first[high])
            found = outcomes_of_each(_column_leaves(question, numbers[path]), batch.bounds.slice(first, stop))
            # With as many pages as segments, each is one.
            chosen = slice(None) if stop - first == answers.shape[1] else page[block] - first
            answers[numbers[path]] = intersect(answers[numbers[path]], found[:, chosen])
        for i, pair in question.pairs():
            sides = ((pages[path].bounds, segments.page[place[path]][block]) for path in (pair.left, pair.right))
            left, right = (bounds.take(page) for bounds, page in sides)
            answers[i] = intersect(answers[i], outcomes_from_two_bounds(pair.op, left, right))
        folded[block] = question.fold_anywhere(answers)
    return folded


def _column_leaves(question: Question, numbers: Sequence[int]) -> list[ColumnLeaf]:
    return [leaf for i in numbers if isinstance(leaf := question.parts[i], ColumnLeaf)]


def _access(question: Question, before: LevelState, pages: PageAnswers | None) -> AccessPlan:
    index = question.index
    cut = np.zeros(0, np.int64) if pages is None else pages.positions
    whole = before.alive.copy()
    whole[cut] = False
    ranges = whole_groups(np.flatnonzero(whole), index.row_count)
    matches = whole_groups(np.flatnonzero(whole & must_match(before.answers)), index.row_count)
    if pages is not None:
        may = flagged_segments(may_match(pages.answers), pages.segments, cut, index.row_count)
        must = flagged_segments(must_match(pages.answers), pages.segments, cut, index.row_count)
        ranges, matches = join(ranges, may), join(matches, must)
    matches = matches.only(~_may_raise(question, before))
    if index.deleted is not None:
        # Which rows of these files still count was not asked.
        matches = matches.only(~index.deleted[index.file])
    return make_access_plan(ranges, matches, index.row_count)


def _may_raise(question: Question, before: LevelState) -> NDArray[np.bool_]:
    """Tell in which row groups a part is not looked into: for any row there Spark may raise, beside what selects it."""
    if any(isinstance(part, Unsupported) for part in question.parts):
        return np.ones(len(question.index), np.bool_)
    numbers = [i for i, part in enumerate(question.parts) if isinstance(part, OnValues | OnPartitions)]
    unasked: NDArray[np.bool_] = (before.by_leaf[numbers] == Outcomes.UNKNOWN).any(axis=0)
    return unasked
