"""Bloom filters of a dataset, read per row group and cached on disk per column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.bloom import guess_length, parse_filter, parse_guess
from parquet_core.bloom.blocks import BLOCK_WORDS, folded
from parquet_core.columnar import Columnar
from parquet_core.dataset.structure_reader import Wanted, read_structures
from parquet_core.ragged import firsts
from parquet_core.spark_rules.calendars import is_rebased
from parquet_core.spark_rules.columns_in_files import leaf_as_read
from parquet_core.storage import read_range
from parquet_core.trust.contradictions import AGAINST_FILTERS, Doubt, contradict_filters, reason_of
from parquet_core.trust.known_faults import reason_of_faults
from parquet_core.trust.writer_fault import Fact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from parquet_core.arrays import Positions
    from parquet_core.bloom import Blocks
    from parquet_core.dataset.column_store import ColumnStore, StoredColumn
    from parquet_core.dataset.footer_columns import FooterColumns
    from parquet_core.dataset.row_group_table import RowGroupTable
    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn


# Limits of a cached filter: false-positive rate after folding, and bytes.
FOLDED_FPP = 0.001
MOST_FILTER_BYTES = 256 << 10
MOST_BYTES = 128 << 20
# A cache entry is read and written whole. If fewer than 1 in `_SHARE` row groups is needed, the data files are read
# instead, which is cheaper.
_SHARE = 64
_FOLDED = "folded filters"
_NO_BLOCKS = np.zeros((0, BLOCK_WORDS), np.uint32)


@dataclass(frozen=True, slots=True)
class FoldedFilters(Columnar):
    """Folded bloom filters of one column. A filter that is too large to cache has no blocks."""

    elements = ("blocks",)
    first: Positions
    blocks: Blocks


@dataclass(slots=True)
class BloomFilters:
    """Reader of bloom filters, which are cached unchanged in memory and folded on disk."""

    groups: RowGroupTable
    footers: FooterColumns
    store: ColumnStore
    _read: dict[LeafColumn, dict[int, Blocks | str]] = field(default_factory=dict)
    _folded: dict[LeafColumn, dict[int, Blocks]] = field(default_factory=dict)

    def may_exist(self, column: LeafColumn) -> NDArray[np.bool_]:
        """Return flags of the row groups whose footer has the offset of a filter."""
        there: NDArray[np.bool_] = self.footers.chunks(column).bloom_filter[:, 0] > 0
        return there

    def read(self, column: LeafColumn, positions: Positions, *, may_be_folded: bool = False) -> list[Blocks | str]:
        """Return the bloom filter of a column in each chosen row group, or the reason why there is no usable one.

        `may_be_folded`: True to accept filters from the disk cache, which may be smaller and have more false positives.

        A filter hashes values in the type that its file stores, see `RowGroupTable.stored_as`.
        """
        missing = self.missing(column, positions, may_be_folded=may_be_folded)
        if len(missing):
            self._fetch(column, missing)
        return [found for found in self.cached(column, positions) if found is not None]

    def missing(self, column: LeafColumn, positions: Positions, *, may_be_folded: bool) -> Positions:
        """Return the row groups for which `read` would have to fetch or refuse a filter, because none is cached."""
        missing = self._uncached(column, positions)
        if len(missing):
            trusted = missing[self._refusals(column, missing) == ""]
            self.store.recall_structures(self._name(column), trusted, self._read[column])
            trusted = self._uncached(column, trusted)
            if may_be_folded and len(trusted) * _SHARE >= len(self.groups):
                self._folded.setdefault(column, {}).update(self._cached(column, trusted))
        missing = self._uncached(column, positions)
        return missing[~np.isin(missing, list(self._folded.get(column, ())))] if may_be_folded else missing

    def _uncached(self, column: LeafColumn, positions: Positions) -> Positions:
        known = self._read.setdefault(column, {})
        return np.array([p for p in dict.fromkeys(positions.tolist()) if p not in known], np.int64)

    def cached(self, column: LeafColumn, positions: Positions) -> list[Blocks | str | None]:
        """Return the cached part of the result of `read`; None for row groups that were not read."""
        known, cached = self._read.get(column, {}), self._folded.get(column, {})
        return [known[p] if p in known else cached.get(p) for p in positions.tolist()]

    def save(self) -> None:
        """Cache the filters that were read, unchanged in memory and folded on disk."""
        for column, read in self._read.items():
            self.store.remember_structures(self._name(column), read)
            if self.store.stored is not None and len(read) * _SHARE >= len(self.groups):
                self._fold(column, read)

    def _fold(self, column: LeafColumn, read: Mapping[int, Blocks | str]) -> None:
        """Fold new filters and add them to the cached ones of the column.

        Does nothing for fewer than 1 in `_SHARE` of all row groups. A filter that exceeds `MOST_FILTER_BYTES`, or the
        rest of `MOST_BYTES`, is only recorded as too large.
        """
        slot, room = self._cached_column(column).slot, MOST_BYTES
        new = {p: blocks for p, blocks in read.items() if not isinstance(blocks, str) and slot[p] < 0}
        if not new or len(new) * _SHARE < len(self.groups):
            return
        filters = dict.fromkeys(np.flatnonzero(slot >= 0).tolist(), _NO_BLOCKS)
        every = self._cached(column, self.groups.read_from()) | {p: folded(it, FOLDED_FPP) for p, it in new.items()}
        for position, blocks in every.items():
            fits = blocks.nbytes <= min(room, MOST_FILTER_BYTES)
            filters[position] = blocks if fits else _NO_BLOCKS
            room -= blocks.nbytes if fits else 0
        first = firsts(np.fromiter(map(len, filters.values()), np.int64, len(filters)))
        entry = FoldedFilters(first, np.concatenate([_NO_BLOCKS, *filters.values()]))
        self.store.put(self._name(column, _FOLDED), np.array(list(filters), np.int64), entry)

    def _cached(self, column: LeafColumn, positions: Positions) -> dict[int, Blocks]:
        """Return the folded filters of row groups in the cache."""
        cached = self._cached_column(column)
        slots = cached.slot[positions]
        if cached.values is None:
            return {}
        first, blocks = cached.values.first, cached.values.blocks
        there = slots[slots >= 0]
        at = zip(positions[slots >= 0].tolist(), first[there].tolist(), first[there + 1].tolist(), strict=True)
        return {position: blocks[start:stop] for position, start, stop in at if start < stop}

    def _cached_column(self, column: LeafColumn) -> StoredColumn[FoldedFilters]:
        return self.store.column(self._name(column, _FOLDED), FoldedFilters)

    def _name(self, column: LeafColumn, what: str = "filters") -> str:
        return self.store.name(what, column)

    def _fetch(self, column: LeafColumn, positions: Positions) -> None:
        ranges = self.footers.chunks(column).bloom_filter[positions]
        reasons = self._refusals(column, positions)
        ranges[reasons != ""] = -1
        guessed = self._guess_lengths(positions, ranges)
        read = self._read[column]
        (fetched,) = read_structures(self.groups, [Wanted(column, positions, ranges, reasons)], purpose="bloom")
        for i, position in enumerate(positions.tolist()):
            if fetched.stop[i] < 0:
                read[position] = fetched.absent[i]
            else:
                data, place = fetched.buffer[fetched.start[i] : fetched.stop[i]], fetched.place(i)
                parsed = self._parse_guess(position, int(ranges[i, 0]), data, place) if guessed[i] else None
                parsed = parse_filter(data, place=place) if parsed is None else parsed
                read[position] = parsed
        self._doubt(column, positions)

    def _refusals(self, column: LeafColumn, positions: Positions) -> NDArray[np.object_]:
        reasons = self.footers.refusals(column, positions, AGAINST_FILTERS)
        for fault, affected in self.footers.faulty(column).items():
            if Fact.BLOOM_FILTER in fault.wrong:
                reasons[affected[positions]] = reason_of_faults([fault])
        by_provenance = np.array(
            [_against_filters(column, provenance) for provenance in self.groups.provenances], object
        )
        return np.where(reasons == "", by_provenance[self.groups.provenance_ids[self.groups.file[positions]]], reasons)

    def _doubt(self, column: LeafColumn, positions: Positions) -> None:
        """Distrust filters that exclude the lower or upper bound of their chunk."""
        if self.groups.has_several_types(column):
            return
        read = self._read[column]
        filters = [read[position] for position in positions.tolist()]
        wrong = contradict_filters(column, self.footers.bounds(column).take(positions), filters)
        for position in positions[wrong].tolist():
            read[position] = reason_of(Doubt.FILTER)
        self.footers.doubt(column, positions[wrong], Doubt.FILTER)

    def _guess_lengths(self, positions: Positions, ranges: Positions) -> NDArray[np.bool_]:
        """Replace unknown filter lengths in `ranges` with guesses; return flags of the guessed entries."""
        guessed: NDArray[np.bool_] = (ranges[:, 0] > 0) & (ranges[:, 1] < 0)
        file = self.groups.file[positions]
        order = np.lexsort((ranges[:, 0], file))
        behind = np.full(len(order), -1, np.int64)
        behind[order[:-1]] = np.where(file[order[1:]] == file[order[:-1]], ranges[order[1:], 0], -1)
        for i in np.flatnonzero(guessed).tolist():
            following = int(behind[i]) if behind[i] > 0 else None
            size = self.groups.files[int(file[i])].size
            ranges[i, 1] = guess_length(int(ranges[i, 0]), next_offset=following, file_size=size)
        return guessed

    def _parse_guess(self, position: int, offset: int, data: bytes, place: str) -> Blocks | str:
        parsed = parse_guess(data, place=place)
        if isinstance(parsed, int):
            file = self.groups.files[int(self.groups.file[position])]
            data = read_range(file, offset, len(data) + parsed, purpose="bloom", traffic=self.groups.traffic)
            return parse_filter(data, place=place)
        return parsed


def _against_filters(column: LeafColumn, provenance: Provenance) -> str:
    """Return why a column's bloom filters are not usable in files of one schema and writer; "" if they are usable."""
    if leaf_as_read(column, provenance) is None:
        return "the file lacks the column or stores it as another type"
    if sum(leaf.name == column.name for leaf in provenance.columns) > 1:
        # parquet-java keys filters by the dotted path; if two columns share it, one gets the filter of the other.
        return "another column of the file has the same dotted path, and writers mix the filters of such columns up"
    return "the file stores dates of another calendar" if is_rebased(column, provenance) else ""
