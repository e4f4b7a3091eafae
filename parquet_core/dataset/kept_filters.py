"""Bloom filters on disk: those of a column in one entry, folded where they are emptier than they need to be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.bloom.blocks import BLOCK_WORDS
from parquet_core.bloom.fold import folded
from parquet_core.dataset.arrow_form import numbers_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from parquet_core.bloom import Blocks
    from parquet_core.dataset.row_group_table import RowGroupTable
    from parquet_core.dataset.stored_index import KeptColumns
    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Path

    Positions = NDArray[np.int64]

# Of a kept filter: how many of the values that are not there it may find by being folded, and its bytes.
FOLDED_FPP = 0.001
MOST_FILTER_BYTES = 256 << 10
MOST_BYTES = 128 << 20
# An entry is read and written as a whole: not for fewer than one in so many row groups, of which the files are asked.
_SHARE = 64
_UNKNOWN, _TOO_LARGE = -1, -2
_NO_BLOCKS = np.zeros((0, BLOCK_WORDS), np.uint32)


class _Entry(NamedTuple):
    """Filters behind one another; `slot`: by row group the number of its filter, or why there is none."""

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
    """The filters that the cache has on disk of each column."""

    groups: RowGroupTable
    kept: KeptColumns
    _entries: dict[LeafColumn, _Entry] = field(default_factory=dict)
    _found: dict[Path, dict[int, Blocks]] = field(default_factory=dict)

    def of(self, column: LeafColumn) -> Mapping[int, Blocks]:
        """Return by row group what was asked of a column, and found."""
        return self._found.get(column.path, {})

    def read(self, column: LeafColumn, positions: Positions) -> None:
        """Look row groups up, if they are many; those whose filter is doubted must not be among them."""
        if len(positions) * _SHARE >= len(self.groups):
            self._found.setdefault(column.path, {}).update(self._entry(column).filters(positions))

    def write(self, column: LeafColumn, read: Mapping[int, Blocks | str]) -> None:
        """Keep filters that were read beside those that are kept, if they are many; as many as there is room for."""
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
