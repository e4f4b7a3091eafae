"""Bloom filters of a dataset.

Filters are read per row group and cached on disk per column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.bloom import guess_length, parse_filter, parse_guess
from parquet_core.bloom.blocks import BLOCK_WORDS, folded
from parquet_core.dataset.arrow_form import numbers_at
from parquet_core.dataset.structure_reader import Wanted, read_structures
from parquet_core.dataset.structures_at_hand import StructuresAtHand
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
    from parquet_core.dataset.footer_columns import FooterColumns
    from parquet_core.dataset.row_group_table import RowGroupTable
    from parquet_core.dataset.stored_index import KeptColumns
    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn, Path


# Limits of a cached filter: false-positive rate after folding, and bytes.
FOLDED_FPP = 0.001
MOST_FILTER_BYTES = 256 << 10
MOST_BYTES = 128 << 20
# Cache entries are read and written whole; below 1 in `_SHARE` row groups, reading the data files is cheaper.
_SHARE = 64
_UNKNOWN, _TOO_LARGE = -1, -2
_NO_BLOCKS = np.zeros((0, BLOCK_WORDS), np.uint32)


class _Entry(NamedTuple):
    """Concatenated filters of one column.

    `slot`: per row group, the number of its filter; `_UNKNOWN` or `_TOO_LARGE` if it is not cached. Filter i is
    `blocks[first[i]:first[i + 1]]`.
    """

    slot: Positions
    first: Positions
    blocks: Blocks

    def filters(self, positions: Positions) -> dict[int, Blocks]:
        slots = self.slot[positions]
        there = np.flatnonzero(slots >= 0)
        starts, stops = self.first[slots[there]].tolist(), self.first[slots[there] + 1].tolist()
        at = zip(positions[there].tolist(), starts, stops, strict=True)
        return {position: self.blocks[start:stop] for position, start, stop in at}


@dataclass(slots=True)
class KeptFilters:
    """Folded filters of each column in the disk cache."""

    groups: RowGroupTable
    kept: KeptColumns
    _entries: dict[LeafColumn, _Entry] = field(default_factory=dict)
    _found: dict[Path, dict[int, Blocks]] = field(default_factory=dict)

    def of(self, column: LeafColumn) -> Mapping[int, Blocks]:
        """Return the filters that `read` has loaded, by row group."""
        return self._found.get(column.path, {})

    def read(self, column: LeafColumn, positions: Positions) -> None:
        """Load the cached filters of row groups.

        Does nothing for fewer than 1 in `_SHARE` of all row groups. The caller excludes row groups whose filter is
        distrusted.
        """
        if len(positions) * _SHARE >= len(self.groups):
            self._found.setdefault(column.path, {}).update(self._entry(column).filters(positions))

    def write(self, column: LeafColumn, read: Mapping[int, Blocks | str]) -> None:
        """Add new filters to the cached ones, folded.

        Does nothing for fewer than 1 in `_SHARE` of all row groups. A filter that exceeds `MOST_FILTER_BYTES` or the
        rest of `MOST_BYTES` is recorded as too large instead.
        """
        if self.kept.stored is None or len(read) * _SHARE < len(self.groups):
            return
        slot, at, room = self._entry(column).slot, self.groups.read_from(), MOST_BYTES
        new = {p: blocks for p, blocks in read.items() if not isinstance(blocks, str) and slot[p] == _UNKNOWN}
        if not new or len(new) * _SHARE < len(self.groups):
            return
        filters: list[Blocks] = []
        slot = np.where(slot == _TOO_LARGE, _TOO_LARGE, _UNKNOWN)
        every = self._entry(column).filters(at) | {p: folded(blocks, FOLDED_FPP) for p, blocks in new.items()}
        for position, blocks in every.items():
            fits = blocks.nbytes <= min(room, MOST_FILTER_BYTES)
            slot[position] = len(filters) if fits else _TOO_LARGE
            if fits:
                filters.append(blocks)
                room -= blocks.nbytes
        first = np.cumsum([0, *map(len, filters)], dtype=np.int64)
        entry = _Entry(slot, first, np.concatenate([_NO_BLOCKS, *filters]))
        self.kept.write(self._name(column), {**entry._asdict(), "slot": slot[at]})
        self.kept.remember(self._name(column), entry)
        self._entries[column] = entry

    def _name(self, column: LeafColumn) -> str:
        return self.kept.name("folded filters", column)

    def _entry(self, column: LeafColumn) -> _Entry:
        if column not in self._entries:
            name = self._name(column)
            entry: _Entry | None = self.kept.recall(name)
            if entry is None:
                entry = self._on_disk(name)
                self.kept.remember(name, entry)
            self._entries[column] = entry
        return self._entries[column]

    def _on_disk(self, name: str) -> _Entry:
        slot, kept = np.full(len(self.groups), _UNKNOWN, np.int64), self.kept.read(name)
        if kept is None:
            return _Entry(slot, np.zeros(1, np.int64), _NO_BLOCKS)
        there = kept.groups >= 0
        slot[there] = numbers_at(kept.batch, "slot")[kept.groups[there]]
        return _Entry(slot, numbers_at(kept.batch, "first"), numbers_at(kept.batch, "blocks"))


@dataclass(slots=True)
class BloomFilters:
    """Reader of bloom filters.

    Filters are cached unchanged in memory and folded on disk.
    """

    groups: RowGroupTable
    footers: FooterColumns
    _at_hand: StructuresAtHand[Blocks] = field(init=False)
    _folded: KeptFilters = field(init=False)
    _asked: dict[LeafColumn, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._at_hand = StructuresAtHand("filters", self.footers.kept)
        self._folded = KeptFilters(self.groups, self.footers.kept)

    def may_exist(self, column: LeafColumn) -> NDArray[np.bool_]:
        """Flag row groups whose footer has the offset of a filter."""
        there: NDArray[np.bool_] = self.footers.chunks(column).bloom_filter[:, 0] > 0
        return there

    def read(self, column: LeafColumn, positions: Positions, *, may_be_folded: bool = False) -> list[Blocks | str]:
        """Return a column's filter in each chosen row group.

        A row group without a usable filter has the reason instead. A filter hashes values in the type that its file
        stores, see `RowGroupTable.stored_as`. `may_be_folded`: accept filters from the disk cache, which may be smaller
        and have more false positives.
        """
        self._asked[column] = None
        missing = self.missing(column, positions, may_be_folded=may_be_folded)
        if len(missing):
            self._fetch(column, missing)
        return [found for found in self.at_hand(column, positions) if found is not None]

    def missing(self, column: LeafColumn, positions: Positions, *, may_be_folded: bool) -> Positions:
        """Return the row groups without a cached filter.

        `read` would fetch the filters of these row groups from files, or refuse them.
        """
        missing = self._not_at_hand(column, positions)
        if len(missing):
            trusted = missing[self._refusals(column, missing) == ""]
            self._at_hand.recall(column, trusted)
            if may_be_folded:
                self._folded.read(column, self._not_at_hand(column, trusted))
        missing = self._not_at_hand(column, positions)
        return missing[~np.isin(missing, list(self._folded.of(column)))] if may_be_folded else missing

    def _not_at_hand(self, column: LeafColumn, positions: Positions) -> Positions:
        known = self._at_hand.of(column)
        return np.array([p for p in dict.fromkeys(positions.tolist()) if p not in known], np.int64)

    def at_hand(self, column: LeafColumn, positions: Positions) -> list[Blocks | str | None]:
        """Return the cached part of the result of `read`.

        None for row groups that were not read.
        """
        known, on_disk = self._at_hand.of(column), self._folded.of(column)
        return [known[p] if p in known else on_disk.get(p) for p in positions.tolist()]

    def save(self) -> None:
        """Cache the filters that were read, in memory and on disk."""
        self._at_hand.save()
        for column in self._asked:
            self._folded.write(column, self._at_hand.of(column))
        self._asked.clear()

    def _fetch(self, column: LeafColumn, positions: Positions) -> None:
        ranges = self.footers.chunks(column).bloom_filter[positions]
        reasons = self._refusals(column, positions)
        ranges[reasons != ""] = -1
        guessed = self._guess_lengths(positions, ranges)
        (fetched,) = read_structures(self.groups, [Wanted(column, positions, ranges, reasons)], purpose="bloom")
        for i, position in enumerate(positions.tolist()):
            if fetched.stop[i] < 0:
                self._at_hand.put(column, position, fetched.absent[i])
            else:
                data, place = fetched.buffer[fetched.start[i] : fetched.stop[i]], fetched.place(i)
                parsed = self._parse_guess(position, int(ranges[i, 0]), data, place) if guessed[i] else None
                parsed = parse_filter(data, place=place) if parsed is None else parsed
                self._at_hand.put(column, position, parsed)
        self._doubt(column, positions)

    def _refusals(self, column: LeafColumn, positions: Positions) -> NDArray[np.object_]:
        reasons = self.footers.refusals(column, positions, AGAINST_FILTERS)
        for fault, affected in self.footers.faulty(column).items():
            if Fact.BLOOM_FILTER in fault.wrong:
                reasons[affected[positions]] = reason_of_faults([fault])
        of_kind = np.array([_against_filters(column, kind) for kind in self.groups.kinds], object)
        return np.where(reasons == "", of_kind[self.groups.kind[self.groups.file[positions]]], reasons)

    def _doubt(self, column: LeafColumn, positions: Positions) -> None:
        """Distrust filters that exclude the lower or upper bound of their chunk."""
        if self.groups.has_several_types(column):
            return
        filters = list(map(self._at_hand.of(column).__getitem__, positions.tolist()))
        wrong = contradict_filters(column, self.footers.bounds(column).take(positions), filters)
        for position in positions[wrong].tolist():
            self._at_hand.put(column, position, reason_of(Doubt.FILTER))
        self.footers.doubt(column, positions[wrong], Doubt.FILTER)

    def _guess_lengths(self, positions: Positions, ranges: Positions) -> NDArray[np.bool_]:
        """Fill unknown filter lengths in `ranges` with guesses.

        Returns flags of the guessed entries.
        """
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


def _against_filters(column: LeafColumn, kind: Provenance) -> str:
    """Return why filters of such files must not be probed.

    "" if they may be probed for values of the column.
    """
    if leaf_as_read(column, kind) is None:
        return "the file lacks the column or stores it as another type"
    if sum(leaf.name == column.name for leaf in kind.columns) > 1:
        # parquet-java keys filters by the dotted path; if two columns share it, one gets the filter of the other.
        return "another column of the file has the same dotted path, and writers mix the filters of such columns up"
    return "the file stores dates of another calendar" if is_rebased(column, kind) else ""
