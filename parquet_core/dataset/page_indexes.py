"""Page indexes of a dataset, read on demand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import pyarrow.compute as pc

from parquet_core.arrow_arrays import valid_flags
from parquet_core.dataset.arrow_form import from_batch, numbers_at
from parquet_core.dataset.page_batch import PageBatch, Source, concat_batches, join_indexes
from parquet_core.dataset.structure_reader import Wanted, read_structures
from parquet_core.format.page_index import (
    OffsetIndexes,
    concat_offset_indexes,
    decode_column_indexes,
    decode_offset_indexes,
)
from parquet_core.ragged import distinct
from parquet_core.trust.bounds import Bounds, spread_bounds
from parquet_core.trust.contradictions import AGAINST_INDEXES, Doubt, contradict_pages, out_of_order, reason_of
from parquet_core.trust.fold_pages import fold_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from parquet_core.arrays import Positions
    from parquet_core.dataset.footer_columns import FooterColumns
    from parquet_core.dataset.row_group_table import RowGroupTable
    from parquet_core.dataset.stored_index import Kept, KeptColumns
    from parquet_core.format.page_index import IndexBytes
    from parquet_core.format.schema import LeafColumn, Path


Part = TypeVar("Part", OffsetIndexes, PageBatch)


@dataclass(slots=True)
class Fetched(Generic[Part]):
    """Fetched indexes of one column, in the order of fetching.

    `slot`: per row group, its position in `kept`; -1 if not fetched. `name`: name of the cache entry. `grown`: True if
    the disk cache lacks a part.
    """

    slot: Positions
    kept: Part | None = None
    name: str = ""
    grown: bool = False

    def has(self, positions: Positions) -> bool:
        """Return True if all row groups at `positions` are fetched."""
        return self.kept is not None and not (self.slot[positions] < 0).any()

    def missing(self, positions: Positions) -> Positions:
        """Return the distinct row groups at `positions` that are not fetched, ascending."""
        return distinct(np.sort(positions[self.slot[positions] < 0]))

    def add(self, positions: Positions, part: Part, concat: Callable[[list[Part]], Part]) -> None:
        """Append the fetched part of row groups."""
        before = 0 if self.kept is None else len(self.kept)
        self.slot = self.slot.copy()
        self.slot[positions] = before + np.arange(len(positions))
        self.kept = part if self.kept is None else concat([self.kept, part])
        self.grown |= len(positions) > 0

    def drop_unused(self) -> None:
        """Drop the fetched parts of row groups that no longer exist."""
        used = np.flatnonzero(self.slot >= 0)
        if self.kept is not None and len(used) < len(self.kept):
            self.kept = self.kept.take(self.slot[used])
            self.slot = self.slot.copy()
            self.slot[used] = np.arange(len(used))

    def take(self, positions: Positions) -> Part:
        """Return the fetched part of the row groups at `positions`."""
        assert self.kept is not None
        return self.kept.take(self.slot[positions])


@dataclass(slots=True)
class PageIndexes:
    """Reader of column indexes and offset indexes; caches both."""

    groups: RowGroupTable
    footers: FooterColumns
    kept: KeptColumns
    _offsets: dict[Path, Fetched[OffsetIndexes]] = field(default_factory=dict)
    _pages: dict[Path, Fetched[PageBatch]] = field(default_factory=dict)

    def read(self, column: LeafColumn, positions: Positions) -> PageBatch:
        """Return the page indexes of a column in the chosen row groups."""
        self.fetch([column], positions)
        return self._pages[column.path].take(positions)

    def fetch(self, columns: Sequence[LeafColumn], positions: Positions) -> None:
        """Read the page indexes of columns in chosen row groups.

        Neighbouring ranges share one request.
        """
        columns = [
            column
            for column in columns
            if not (self._pages_of(column).has(positions) and self._offsets_of(column).has(positions))
        ]
        if not columns:
            return
        paged = [(column, self._pages_of(column).missing(positions)) for column in columns]
        located = [(column, self._offsets_of(column).missing(positions)) for column in columns]
        wanted = [
            *(self._wanted(column, at, self.footers.chunks(column).column_index) for column, at in paged),
            *(self._wanted(column, at, self.footers.chunks(column).offset_index) for column, at in located),
        ]
        fetched = read_structures(self.groups, wanted, purpose="index")
        # Each encoded index is removed when it is decoded, which frees its memory early.
        for column, at in reversed(located):
            self._add_offsets(column, at, fetched.pop())
        for column, at in reversed(paged):
            self._add_pages(column, at, fetched.pop())

    def missing(
        self, columns: Sequence[LeafColumn], located: Sequence[LeafColumn], positions: Positions
    ) -> list[Wanted]:
        """Return the reads of `fetch(columns)` and `locations(located)` that are not cached."""
        chunks = self.footers.chunks
        paged = [(it, self._pages_of(it).missing(positions), chunks(it).column_index) for it in columns]
        paged += [(it, self._offsets_of(it).missing(positions), chunks(it).offset_index) for it in (*columns, *located)]
        return [self._wanted(column, at, ranges) for column, at, ranges in paged]

    def locations(self, columns: Sequence[LeafColumn], positions: Positions) -> list[OffsetIndexes]:
        """Return the offset indexes of columns in chosen row groups.

        Column indexes are not read.
        """
        located = [(column, self._offsets_of(column).missing(positions)) for column in columns]
        wanted = [self._wanted(column, at, self.footers.chunks(column).offset_index) for column, at in located]
        for (column, at), encoded in zip(located, read_structures(self.groups, wanted, purpose="index"), strict=True):
            self._add_offsets(column, at, encoded)
        return [self._offsets[column.path].take(positions) for column in columns]

    def filled_bounds(self, column: LeafColumn) -> Bounds:
        """Return the bounds of every row group, filled from page bounds.

        Page bounds and counts are used if the statistics lack them: parquet-java drops the chunk statistics of long
        strings, but keeps their column index. Reads the page indexes of row groups without bounds.
        """
        own, row_count = self.footers.bounds(column), self.groups.row_count
        silent = ~(valid_flags(own.lower) & valid_flags(own.upper)) & (row_count > 0)
        positions = np.flatnonzero(silent & (self.footers.chunks(column).column_index[:, 0] > 0))
        if len(positions) == 0:
            return own
        pages = self.read(column, positions)
        folded = spread_bounds(fold_pages(pages.bounds, pages.row_group, len(positions)), positions, row_count)
        names = ("lower", "upper", "null_count", "nan_count")
        return replace(own, **{name: pc.coalesce(getattr(own, name), getattr(folded, name)) for name in names})

    def why_silent(self, column: LeafColumn, position: int) -> str:
        """Return why a fetched column index is unusable.

        "" if it is usable or not fetched.
        """
        fetched = self._pages.get(column.path)
        if fetched is None or fetched.kept is None or fetched.slot[position] < 0:
            return ""
        return str(fetched.kept.reason[fetched.slot[position]])

    def save(self) -> None:
        """Cache the indexes fetched since the last `save`.

        Writes to the caches on disk and in memory.
        """
        for what, stored in (("pages", self._pages), ("offsets", self._offsets)):
            for fetched in stored.values():
                if fetched.grown:
                    fetched.drop_unused()
                    at = self.groups.read_from()
                    self.kept.write(fetched.name, {"slot": fetched.slot[at], what: fetched.kept})
                    fetched.grown = False
                    self.kept.remember(fetched.name, replace(fetched))

    def _wanted(self, column: LeafColumn, at: Positions, ranges: Positions) -> Wanted:
        return Wanted(column, at, ranges[at], self.footers.refusals(column, at, AGAINST_INDEXES))

    def _pages_of(self, column: LeafColumn) -> Fetched[PageBatch]:
        if column.path not in self._pages:
            self._pages[column.path] = self._held(
                self.kept.name("pages", column), lambda batch: from_batch(batch, "pages", PageBatch, bounds=Bounds)
            )
        return self._pages[column.path]

    def _offsets_of(self, column: LeafColumn) -> Fetched[OffsetIndexes]:
        if column.path not in self._offsets:
            self._offsets[column.path] = self._held(
                self.kept.name("offsets", column), lambda batch: from_batch(batch, "offsets", OffsetIndexes)
            )
        return self._offsets[column.path]

    def _held(self, name: str, decode: Callable[[pa.RecordBatch], Part]) -> Fetched[Part]:
        """Return a cache entry, from memory or from disk; empty if missing."""
        held: Fetched[Part] | None = self.kept.recall(name)
        if held is None:
            kept = self.kept.read(name)
            held = Fetched(self._slots(kept), None if kept is None else decode(kept.batch), name)
            if kept is not None:
                self.kept.remember(name, held)
        return replace(held)

    def _slots(self, kept: Kept | None) -> Positions:
        slots = np.full(len(self.groups), -1, np.int64)
        if kept is not None:
            there = kept.groups >= 0
            # A cache entry may have no row groups, if its plan opened no file; indexing by flags handles that.
            slots[there] = numbers_at(kept.batch, "slot")[kept.groups[there]]
        return slots

    def _add_offsets(self, column: LeafColumn, positions: Positions, encoded: IndexBytes) -> None:
        stored = self._offsets_of(column)
        if len(positions) or stored.kept is None:
            chunks = self.footers.chunks(column)
            extent = np.stack([chunks.first_page_offset[positions], chunks.compressed_bytes[positions]], axis=1)
            found = decode_offset_indexes(encoded, self.groups.row_count[positions], extent)
            stored.add(positions, found, concat_offset_indexes)

    def _add_pages(self, column: LeafColumn, positions: Positions, encoded: IndexBytes) -> None:
        stored = self._pages_of(column)
        if len(positions) or stored.kept is None:
            pages = self._joined(column, positions, encoded)
            pages = pages.without(
                out_of_order(pages.bounds, pages.first, pages.boundary_order) & (pages.reason == ""),
                "the column index claims a boundary order that its pages do not have",
            )
            wrong = contradict_pages(self.footers.bounds(column).take(positions), pages.bounds, pages.first)
            wrong &= pages.reason == ""
            stored.add(positions, pages.without(wrong, reason_of(Doubt.PAGES)), concat_batches)
            self.footers.doubt(column, positions[wrong], Doubt.PAGES)

    def _joined(self, column: LeafColumn, positions: Positions, encoded: IndexBytes) -> PageBatch:
        trusts, kind = self.groups.judged(column, self.footers.chunks(column).take(positions), positions)
        source = Source(column, self.groups.row_count[positions], trusts, kind)
        return join_indexes(source, decode_column_indexes(encoded), self._offsets[column.path].take(positions))
