"""The levels in cost order: row-group statistics, bloom filters, page indexes.

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
from parquet_core.evidence.bloom import outcomes_from_filters, probes
from parquet_core.evidence.bounds import outcomes_from_bounds
from parquet_core.outcomes import Outcomes, intersect, may_match, must_match, unknown
from parquet_core.predicate import ColumnLeaf, Compare, Constant, Op, columns_of, leaves
from parquet_core.pruning import constant_answers, fold
from parquet_core.segments import Segments, merge_borders, page_of_segment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.dataset.page_batch import PageBatch
    from parquet_core.format.schema import LeafColumn
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Leaf, Path, Predicate
    from prune_assets.report.skip_report import LevelName, Status


@dataclass(frozen=True, slots=True)
class LevelState:
    """What a level left: `answers` per row group after it, and what became of it."""

    level: LevelName
    answers: OutcomeArray
    status: Status
    why: str = ""

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Row groups in which a row may be selected."""
        return may_match(self.answers)


@dataclass(frozen=True, slots=True)
class PageAnswers:
    """Answers per segment of the row groups at `positions`."""

    positions: NDArray[np.int64]
    segments: Segments
    answers: OutcomeArray
    pages: dict[Path, PageBatch]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A predicate asked through every level. `leaf_answers`: by leaf, after statistics and bloom filters."""

    predicate: Predicate
    statistics: LevelState
    bloom: LevelState
    pages: LevelState
    statistics_answers: tuple[OutcomeArray, ...]
    leaf_answers: tuple[OutcomeArray, ...]
    page_answers: PageAnswers | None
    access: AccessPlan

    @property
    def levels(self) -> tuple[LevelState, LevelState, LevelState]:
        """The three levels in cost order."""
        return self.statistics, self.bloom, self.pages


@dataclass(frozen=True, slots=True)
class _Question:
    """A predicate, its leaves from left to right, and the dataset it is asked of."""

    predicate: Predicate
    parts: tuple[Leaf, ...]
    index: MetadataIndex
    columns: dict[Path, LeafColumn]

    def column_of(self, leaf: Leaf) -> LeafColumn | None:
        """Return the column that evidence about a leaf is looked up by; None when there is none to have."""
        return self.columns.get(leaf.column) if isinstance(leaf, ColumnLeaf) else None

    def asked(self) -> list[LeafColumn]:
        """Return the columns of the predicate that evidence can be had of, each once."""
        return [self.columns[path] for path in columns_of(self.predicate) if path in self.columns]

    def fold(self, answers: Sequence[OutcomeArray]) -> OutcomeArray:
        """Combine the leaves' answers per row group; a row group without rows has no outcome."""
        folded = fold(self.predicate, answers)
        return np.where(self.index.row_count > 0, folded, np.uint8(Outcomes.NONE))


def evaluate(predicate: Predicate, index: MetadataIndex, *, pages: bool = True) -> Evaluation:
    """Ask every level about a predicate; `pages` False stops at row groups."""
    by_path = {column.path: column for column in index.columns if not column.unsupported}
    question = _Question(predicate, tuple(leaves(predicate)), index, by_path)
    statistics_answers = tuple(_from_statistics(leaf, question) for leaf in question.parts)
    statistics = _statistics_level(question, statistics_answers)
    leaf_answers, bloom = _bloom_level(question, statistics_answers, statistics)
    page_answers, page_level = _page_level(question, leaf_answers, bloom, wanted=pages)
    return Evaluation(
        predicate=predicate,
        statistics=statistics,
        bloom=bloom,
        pages=page_level,
        statistics_answers=statistics_answers,
        leaf_answers=leaf_answers,
        page_answers=page_answers,
        access=_access(index, bloom, page_answers),
    )


def _from_statistics(leaf: Leaf, question: _Question) -> OutcomeArray:
    if isinstance(leaf, Constant):
        return constant_answers(leaf, len(question.index))
    column = question.column_of(leaf)
    if column is None or not isinstance(leaf, ColumnLeaf):
        return unknown(len(question.index))
    return outcomes_from_bounds(leaf, question.index.bounds(column))


def _statistics_level(question: _Question, answers: Sequence[OutcomeArray]) -> LevelState:
    folded = question.fold(answers)
    asked = question.asked()
    if not asked:
        why = "no part of the predicate can be answered from metadata"
        return LevelState("row_group_statistics", folded, "not_applicable", why)
    silent = [column.name for column in asked if not _says_anything(question.index, column)]
    why = f"no row group has statistics that may be trusted for {', '.join(silent)}" if silent else ""
    return LevelState("row_group_statistics", folded, "absent" if len(silent) == len(asked) else "consulted", why)


def _says_anything(index: MetadataIndex, column: LeafColumn) -> bool:
    bounds = index.bounds(column)
    return any(len(array) > array.null_count for array in (bounds.lower, bounds.upper, bounds.null_count))


def _bloom_level(
    question: _Question, answers: tuple[OutcomeArray, ...], before: LevelState
) -> tuple[tuple[OutcomeArray, ...], LevelState]:
    best = [_best_case(leaf, answer) for leaf, answer in zip(question.parts, answers, strict=True)]
    # Where even "absent everywhere" would change nothing, no filter is fetched.
    helpful = before.alive & ~may_match(question.fold(best))
    if not helpful.any():
        equality = any(probes(leaf) is not None for leaf in question.parts)
        why = "nothing is left that a filter could rule out" if equality else "no equality or IN to look up"
        return answers, LevelState("bloom_filter", before.answers, "not_applicable", why)
    refined: list[OutcomeArray] = []
    found, reasons = 0, dict[str, None]()
    for leaf, answer, lowest in zip(question.parts, answers, best, strict=True):
        asked = np.flatnonzero(helpful & (answer != lowest))
        column = question.column_of(leaf)
        if column is None or len(asked) == 0:
            refined.append(answer)
            continue
        filters = question.index.bloom_filters(column, asked)
        found += sum(not isinstance(blocks, str) for blocks in filters)
        reasons.update({f"{column.name}: {blocks}": None for blocks in filters if isinstance(blocks, str)})
        usable = [None if isinstance(blocks, str) else blocks for blocks in filters]
        better = answer.copy()
        better[asked] = intersect(answer[asked], outcomes_from_filters(leaf, column, usable))
        refined.append(better)
    status: Status = "consulted" if found else "absent"
    return tuple(refined), LevelState("bloom_filter", question.fold(refined), status, "; ".join(list(reasons)[:3]))


def _best_case(leaf: Leaf, answer: OutcomeArray) -> OutcomeArray:
    """Return the answer if every filter denied every value."""
    if probes(leaf) is None:
        return answer
    never = Outcomes.FALSE if isinstance(leaf, Compare) and leaf.op is Op.NE else Outcomes.TRUE
    return answer & np.uint8(Outcomes.UNKNOWN & ~never)


def _page_level(
    question: _Question, answers: tuple[OutcomeArray, ...], before: LevelState, *, wanted: bool
) -> tuple[PageAnswers | None, LevelState]:
    index = question.index
    columns = question.asked()
    positions = np.flatnonzero(before.alive & ~must_match(before.answers))
    if not wanted or not columns or len(positions) == 0:
        why = "nothing is left that a page index could rule out" if wanted else "not asked for"
        return None, LevelState("page_index", before.answers, "not_applicable", why)
    index.fetch_pages(columns, positions)
    pages = {column.path: index.pages(column, positions) for column in columns}
    if all(np.all(batch.reason != "") for batch in pages.values()):
        names = ", ".join(column.name for column in columns)
        return None, LevelState("page_index", before.answers, "absent", f"no column index for {names}")
    base = np.cumsum(index.row_count[positions]) - index.row_count[positions]
    starts = {path: base[batch.row_group] + batch.first_row for path, batch in pages.items()}
    segments = merge_borders(base, list(starts.values()))
    refined = [
        _on_segments(leaf, answer[positions], segments, pages, starts)
        for leaf, answer in zip(question.parts, answers, strict=True)
    ]
    folded = fold(question.predicate, refined)
    after = before.answers.copy()
    after[positions] = np.bitwise_or.reduceat(folded, np.flatnonzero(np.diff(segments.row_group, prepend=-1)))
    return PageAnswers(positions, segments, folded, pages), LevelState("page_index", after, "consulted")


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
