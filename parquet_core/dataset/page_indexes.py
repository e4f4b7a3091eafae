"""Page indexes of a dataset, read on demand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from parquet_core.arrow_arrays import valid_flags
from parquet_core.dataset.page_batch import PageBatch, Source, join_indexes
from parquet_core.dataset.structure_reader import Wanted, read_structures
from parquet_core.format.page_index import (
    OffsetIndexes,
    decode_column_indexes,
    decode_offset_indexes,
)
from parquet_core.trust.bounds import spread_bounds
from parquet_core.trust.contradictions import AGAINST_INDEXES, Doubt, contradict_pages, out_of_order, reason_of
from parquet_core.trust.fold_pages import fold_pages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.arrays import Positions
    from parquet_core.dataset.column_store import ColumnStore, StoredColumn
    from parquet_core.dataset.footer_columns import FooterColumns
    from parquet_core.dataset.row_group_table import RowGroupTable
    from parquet_core.format.page_index import IndexBytes
    from parquet_core.format.schema import LeafColumn
    from parquet_core.trust.bounds import Bounds


@dataclass(slots=True)
class PageIndexes:
    """Reader of column indexes and offset indexes; caches both."""

    groups: RowGroupTable
    footers: FooterColumns
    store: ColumnStore

    def read(self, column: LeafColumn, positions: Positions) -> PageBatch:
        """Return the page indexes of a column in the chosen row groups."""
        self.fetch([column], positions)
        return self._pages_of(column).take(positions)

    def fetch(self, columns: Sequence[LeafColumn], positions: Positions) -> None:
        """Read the page indexes of columns in chosen row groups. Neighbouring ranges share one request."""
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
        """Return the structures that `fetch(columns)` and `locations(located)` would have to read: those not cached."""
        chunks = self.footers.chunks
        paged = [(it, self._pages_of(it).missing(positions), chunks(it).column_index) for it in columns]
        paged += [(it, self._offsets_of(it).missing(positions), chunks(it).offset_index) for it in (*columns, *located)]
        return [self._wanted(column, at, ranges) for column, at, ranges in paged]

    def locations(self, columns: Sequence[LeafColumn], positions: Positions) -> list[OffsetIndexes]:
        """Return the offset indexes of columns in chosen row groups, without reading column indexes."""
        located = [(column, self._offsets_of(column).missing(positions)) for column in columns]
        wanted = [self._wanted(column, at, self.footers.chunks(column).offset_index) for column, at in located]
        for (column, at), encoded in zip(located, read_structures(self.groups, wanted, purpose="index"), strict=True):
            self._add_offsets(column, at, encoded)
        return [self._offsets_of(column).take(positions) for column in columns]

    def filled_bounds(self, column: LeafColumn) -> Bounds:
        """Return the bounds of every row group, derived from page bounds where the statistics lack them.

        parquet-java drops the chunk statistics of long strings, but keeps their column index. Reads the page indexes of
        row groups without bounds.
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
        """Return why a fetched column index is unusable; "" if it is usable or not fetched."""
        name, at = self.store.name("pages", column), np.array([position])
        if name not in self.store.columns or not (pages := self._pages_of(column)).has(at):
            return ""
        return str(pages.take(at).reason[0])

    def _wanted(self, column: LeafColumn, at: Positions, ranges: Positions) -> Wanted:
        return Wanted(column, at, ranges[at], self.footers.refusals(column, at, AGAINST_INDEXES))

    def _pages_of(self, column: LeafColumn) -> StoredColumn[PageBatch]:
        return self.store.column(self.store.name("pages", column), PageBatch)

    def _offsets_of(self, column: LeafColumn) -> StoredColumn[OffsetIndexes]:
        return self.store.column(self.store.name("offsets", column), OffsetIndexes)

    def _add_offsets(self, column: LeafColumn, positions: Positions, encoded: IndexBytes) -> None:
        if len(positions) or self._offsets_of(column).values is None:
            chunks = self.footers.chunks(column)
            extent = np.stack([chunks.first_page_offset[positions], chunks.compressed_bytes[positions]], axis=1)
            found = decode_offset_indexes(encoded, self.groups.row_count[positions], extent)
            self.store.add(self.store.name("offsets", column), positions, found)

    def _add_pages(self, column: LeafColumn, positions: Positions, encoded: IndexBytes) -> None:
        if len(positions) or self._pages_of(column).values is None:
            pages = self._joined(column, positions, encoded)
            pages = pages.without(
                out_of_order(pages.bounds, pages.first, pages.boundary_order) & (pages.reason == ""),
                "the column index claims a boundary order that its pages do not have",
            )
            wrong = contradict_pages(self.footers.bounds(column).take(positions), pages.bounds, pages.first)
            wrong &= pages.reason == ""
            pages = pages.without(wrong, reason_of(Doubt.PAGES))
            self.store.add(self.store.name("pages", column), positions, pages)
            self.footers.doubt(column, positions[wrong], Doubt.PAGES)

    def _joined(self, column: LeafColumn, positions: Positions, encoded: IndexBytes) -> PageBatch:
        trusts, kind = self.groups.chunk_trusts(column, self.footers.chunks(column).take(positions), positions)
        source = Source(column, self.groups.row_count[positions], trusts, kind)
        return join_indexes(source, decode_column_indexes(encoded), self._offsets_of(column).take(positions))
