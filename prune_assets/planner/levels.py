"""The levels in cost order: partition values, row-group statistics, bloom filters, dictionaries, page indexes.

Partition values stand in paths and statistics in footers, which are read anyway. Where a chunk has both a bloom
filter and a dictionary the filter is the smaller by far, a byte or two a value; the dictionary may also have to be
decompressed. Page indexes come last because they leave parts of row groups, which nothing else can use.

Each level is asked only about what the levels before it left open, and its answers are intersected
with theirs at the leaf. So an OR is skipped when statistics deny one arm and a bloom filter the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.access_plan import (
    AccessPlan,
    flagged_segments,
    join,
    make_access_plan,
    whole_groups,
)
from parquet_core.evidence.bounds import outcomes_from_bounds
from parquet_core.outcomes import intersect, may_match, must_match, unknown
from parquet_core.predicate import ColumnLeaf, Constant
from parquet_core.pruning import constant_answers, fold
from parquet_core.segments import Segments, merge_borders, page_of_segment
from prune_assets.planner.bloom_level import bloom_level
from prune_assets.planner.dictionary_level import dictionary_level
from prune_assets.planner.partition_level import partition_level
from prune_assets.planner.question import LevelState, question_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.dataset.page_batch import PageBatch
    from parquet_core.format.schema import LeafColumn
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Leaf, Path, Predicate
    from prune_assets.planner.question import Question
    from prune_assets.report.skip_report import Status


@dataclass(frozen=True, slots=True)
class PageAnswers:
    """Answers per segment of the row groups at `positions`."""

    positions: NDArray[np.int64]
    segments: Segments
    answers: OutcomeArray
    pages: dict[Path, PageBatch]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A predicate asked through every level."""

    predicate: Predicate
    partitions: LevelState
    statistics: LevelState
    bloom: LevelState
    dictionary: LevelState
    pages: LevelState
    page_answers: PageAnswers | None
    access: AccessPlan

    @property
    def of_row_groups(self) -> tuple[LevelState, ...]:
        """The levels about whole row groups, in cost order."""
        return self.partitions, self.statistics, self.bloom, self.dictionary

    @property
    def row_groups(self) -> LevelState:
        """What all that is known of whole row groups leaves."""
        return self.dictionary

    @property
    def levels(self) -> tuple[LevelState, ...]:
        """All levels in cost order."""
        return *self.of_row_groups, self.pages


def evaluate(predicate: Predicate, index: MetadataIndex, *, pages: bool = True) -> Evaluation:
    """Ask every level about a predicate; `pages` False stops at row groups."""
    question = question_of(predicate, index)
    partitions = partition_level(question)
    statistics = statistics_level(question, partitions)
    bloom = bloom_level(question, statistics)
    dictionary = dictionary_level(question, bloom)
    page_answers, page_level = _page_level(question, dictionary, wanted=pages)
    return Evaluation(
        predicate=predicate,
        partitions=partitions,
        statistics=statistics,
        bloom=bloom,
        dictionary=dictionary,
        pages=page_level,
        page_answers=page_answers,
        access=_access(index, dictionary, page_answers),
    )


def _from_statistics(leaf: Leaf, question: Question) -> OutcomeArray:
    if isinstance(leaf, Constant):
        return constant_answers(leaf, len(question.index))
    column = question.column_of(leaf)
    if column is None or not isinstance(leaf, ColumnLeaf):
        return unknown(len(question.index))
    return outcomes_from_bounds(leaf, question.index.bounds(column))


def statistics_level(question: Question, before: LevelState) -> LevelState:
    """Ask the statistics of every row group: the footers that hold them are read anyway."""
    answers = tuple(
        intersect(known, _from_statistics(leaf, question))
        for leaf, known in zip(question.parts, before.by_leaf, strict=True)
    )
    folded = question.fold(answers)
    asked = question.asked()
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
    columns = question.asked()
    positions = np.flatnonzero(before.alive & ~must_match(before.answers))
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
    starts = {path: base[batch.row_group] + batch.first_row for path, batch in pages.items()}
    segments = merge_borders(base, list(starts.values()))
    refined = [
        _on_segments(leaf, answer[positions], segments, pages, starts)
        for leaf, answer in zip(question.parts, before.by_leaf, strict=True)
    ]
    folded = fold(question.predicate, refined)
    after = before.answers.copy()
    after[positions] = np.bitwise_or.reduceat(folded, np.flatnonzero(np.diff(segments.row_group, prepend=-1)))
    return PageAnswers(positions, segments, folded, pages), LevelState("page_index", after, before.by_leaf, "consulted")


def _on_segments(
    leaf: Leaf,
    by_group: OutcomeArray,
    segments: Segments,
    pages: dict[Path, PageBatch],
    starts: dict[Path, NDArray[np.int64]],
) -> OutcomeArray:
    # What holds for a row group holds for each part of it.
    inherited: OutcomeArray = by_group[segments.row_group]
    if not isinstance(leaf, ColumnLeaf) or leaf.column not in pages:
        return inherited
    by_page = outcomes_from_bounds(leaf, pages[leaf.column].bounds)
    return intersect(inherited, by_page[page_of_segment(segments, starts[leaf.column])])


def _access(index: MetadataIndex, before: LevelState, pages: PageAnswers | None) -> AccessPlan:
    cut = np.zeros(0, np.int64) if pages is None else pages.positions
    whole = before.alive.copy()
    whole[cut] = False
    ranges = whole_groups(np.flatnonzero(whole), index.row_count)
    matches = whole_groups(np.flatnonzero(whole & must_match(before.answers)), index.row_count)
    if pages is not None:
        may = flagged_segments(may_match(pages.answers), pages.segments, cut, index.row_count)
        must = flagged_segments(must_match(pages.answers), pages.segments, cut, index.row_count)
        ranges, matches = join(ranges, may), join(matches, must)
    return make_access_plan(ranges, matches, index.row_count)
