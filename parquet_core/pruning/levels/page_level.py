"""Page index level.

It is the last level, because no other level can use parts of row groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.dataset.structure_reader import NoStructure
from parquet_core.pruning.evidence.many_leaves import outcomes_of_each
from parquet_core.pruning.evidence.several_columns import outcomes_from_several_bounds
from parquet_core.pruning.known_levels import KnownLevel
from parquet_core.pruning.levels.pruning_query import LevelState, PruningLevel
from parquet_core.pruning.outcomes import intersect, must_match
from parquet_core.pruning.predicate import columns_of_leaf
from parquet_core.pruning.segments import Segments, merge_borders
from parquet_core.ragged import distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.page_batch import PageBatch
    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.pruning.levels.pruning_query import PruningQuery
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import ColumnLeaf

_NAME = KnownLevel.PAGE_INDEX.key
# Limits per block: leaf outcomes (leaves times segments), and segments. Such blocks stay in a processor's cache.
MAX_OUTCOMES = 16 << 20
MAX_SEGMENTS = 1 << 18


@dataclass(frozen=True, slots=True)
class PageOutcomes:
    """Outcomes per segment of the row groups at `positions`, and their pages."""

    positions: NDArray[np.int64]
    segments: Segments
    outcomes: OutcomeArray
    pages: dict[Path, PageBatch]


def evaluate(query: PruningQuery, before: LevelState) -> LevelState:
    """Evaluate the page indexes of undecided row groups.

    Row groups where every row matches are left out.
    """
    index = query.index
    positions = np.flatnonzero(before.remaining & ~must_match(before.outcomes))
    columns = query.page_columns(before.by_leaf[:, positions], positions)
    if not query.of_pages or not columns or len(positions) == 0:
        why = "a page index could skip nothing more" if query.of_pages else "this plan was made without pages"
        return LevelState(_NAME, before.outcomes, before.by_leaf, "not_applicable", why, "page")
    index.page_indexes.fetch(columns, positions)
    pages = {column.path: index.page_indexes.read(column, positions) for column in columns}
    if all(np.all(batch.reason != "") for batch in pages.values()):
        names = ", ".join(column.name for column in columns)
        why = f"no column index for {names}"
        return LevelState(_NAME, before.outcomes, before.by_leaf, "absent", why, "page")
    base = np.cumsum(index.groups.row_count[positions]) - index.groups.row_count[positions]
    segments = merge_borders(base, _starts(base, list(pages.values())))
    folded = _on_segments(query, before.by_leaf[:, positions], segments, pages, positions)
    after = before.outcomes.copy()
    after[positions] = np.bitwise_or.reduceat(folded, _firsts(segments))
    of_pages = PageOutcomes(positions, segments, folded, pages)
    return LevelState(_NAME, after, before.by_leaf, "consulted", "", "page", of_pages)


def explain(state: LevelState, query: PruningQuery, leaf: ColumnLeaf, column: LeafColumn, position: int) -> str:
    """Return why page bounds do not decide a leaf, "" if unknown."""
    pages = state.of_pages
    if pages is None or leaf.column not in pages.pages:
        refusal = query.index.page_indexes.why_silent(column, position)
        if refusal and refusal != NoStructure.ABSENT:
            return f"page index: {refusal}"
        return "no page index" if state.status == "absent" else "the page index was not used"
    slot = int(np.searchsorted(pages.positions, position))
    if slot >= len(pages.positions) or pages.positions[slot] != position:
        return "the page index was not used"
    reason = str(pages.pages[leaf.column].reason[slot])
    return f"page index: {reason}" if reason else ""


def _starts(base: NDArray[np.int64], batches: Sequence[PageBatch]) -> list[NDArray[np.int64]]:
    """Return the first row of each page, counted over all row groups.

    Columns with the same page borders share an array.
    """
    starts_of: list[NDArray[np.int64]] = []
    for i, batch in enumerate(batches):
        alike = (j for j in range(i) if _same_borders(batches[j], batch))
        earlier = next(alike, None)
        starts = np.repeat(base, np.diff(batch.first)) + batch.first_row if earlier is None else starts_of[earlier]
        starts_of.append(starts)
    return starts_of


def _same_borders(batch: PageBatch, other: PageBatch) -> bool:
    return np.array_equal(batch.first, other.first) and np.array_equal(batch.first_row, other.first_row)


def _firsts(segments: Segments) -> NDArray[np.int64]:
    """Return the index of the first segment of each row group."""
    return np.flatnonzero(np.diff(segments.row_group, prepend=-1))


def _on_segments(
    query: PruningQuery,
    by_group: OutcomeArray,
    segments: Segments,
    pages: dict[Path, PageBatch],
    positions: NDArray[np.int64],
) -> OutcomeArray:
    """Return the outcomes of every segment, from row-group and page outcomes.

    Segments are evaluated in blocks of whole row groups.
    """
    folded = np.empty(len(segments), np.uint8)
    leaf_indices = {path: list[int]() for path in pages} | {column.path: of for column, of in query.by_column()}
    slot = {path: i for i, path in enumerate(pages)}
    files = query.index.groups.file[positions]
    firsts = np.append(_firsts(segments), len(segments))
    step = min(MAX_SEGMENTS, max(1, MAX_OUTCOMES // len(query.parts)))
    groups = distinct(np.append(np.searchsorted(firsts, np.arange(0, len(segments), step)), len(firsts) - 1))
    for low, high in pairwise(groups.tolist()):
        block = slice(int(firsts[low]), int(firsts[high]))
        # Outcomes of a row group apply to each of its segments.
        outcomes = np.repeat(by_group[:, low:high], np.diff(firsts[low : high + 1]), axis=1)
        for (path, batch), page in zip(pages.items(), segments.page, strict=True):
            first, stop = int(batch.first[low]), int(batch.first[high])
            of_pages = outcomes_of_each(query.column_leaves(leaf_indices[path]), batch.bounds.slice(first, stop))
            # If the counts are equal, each page is one segment.
            chosen = slice(None) if stop - first == outcomes.shape[1] else page[block] - first
            outcomes[leaf_indices[path]] = intersect(outcomes[leaf_indices[path]], of_pages[:, chosen])
        for i, several in query.of_several_columns():
            of_columns = {
                path: pages[path].bounds.take(segments.page[slot[path]][block])
                for path in columns_of_leaf(several)
                if path in pages
            }
            bounds = query.files.with_partitions(several, of_columns, files[segments.row_group[block]])
            of_several = outcomes_from_several_bounds(several, bounds, outcomes.shape[1])
            outcomes[i] = intersect(outcomes[i], of_several)
        folded[block] = query.fold_leaves(outcomes)
    return folded


PAGES = PruningLevel(_NAME, evaluate, explain=explain)
