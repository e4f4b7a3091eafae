"""The metadata of a whole dataset, columnar: one position per row group, over all files.

Footers are read at once, and of them the columns that are asked for; page indexes and bloom filters when
they are asked for. What was read is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from parquet_core.bloom import HEADER_BYTES, parse_filter, parse_header
from parquet_core.bounds import Bounds, concat_bounds, spread_bounds, unknown_bounds
from parquet_core.column_chunk import MAX_ROWS, concat_chunks
from parquet_core.errors import MalformedFile
from parquet_core.footer import read_footers, read_schema
from parquet_core.gather import gather
from parquet_core.page_batch import PageBatch, Source, concat_batches, join_indexes
from parquet_core.page_index import (
    IndexBytes,
    OffsetIndexes,
    concat_offset_indexes,
    decode_column_indexes,
    decode_offset_indexes,
)
from parquet_core.partitions import partition_columns, without_overridden
from parquet_core.ragged import any_in
from parquet_core.statistics import is_rebased, trust, trusted_bounds
from parquet_core.storage import Traffic, list_data_files, read_range, summary_file

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from parquet_core.column_chunk import ColumnChunk, ColumnChunks
    from parquet_core.footer import Footers
    from parquet_core.predicate import Path
    from parquet_core.schema import LeafColumn
    from parquet_core.statistics import Provenance, Trust
    from parquet_core.storage import DataFile

    Positions = NDArray[np.int64]

_ABSENT = "the file holds none for this column"

Part = TypeVar("Part", OffsetIndexes, PageBatch)


@dataclass(slots=True)
class _Fetched(Generic[Part]):
    """What was fetched of some row groups, in the order of fetching; `slot` says where, -1 not yet."""

    slot: Positions
    kept: Part | None = None

    def missing(self, positions: Positions) -> Positions:
        return positions[self.slot[positions] < 0]

    def add(self, positions: Positions, part: Part, concat: Callable[[list[Part]], Part]) -> None:
        before = 0 if self.kept is None else len(self.kept)
        self.slot[positions] = before + np.arange(len(positions))
        self.kept = part if self.kept is None else concat([self.kept, part])

    def take(self, positions: Positions) -> Part:
        assert self.kept is not None
        return self.kept.take(self.slot[positions])


class _Wanted(NamedTuple):
    """Structures of one column to be read: at which row groups, and their ranges (offset, length)."""

    column: LeafColumn
    positions: Positions
    ranges: Positions


@dataclass(slots=True)
class MetadataIndex:
    """What the files of a dataset say about themselves.

    `file`, `ordinal` and `row_count` have one entry per row group: index of its file, its number in
    the file, its rows. `kind`, by file, is an index in `kinds`: schema, writer and orders. `columns` are those
    of the file that Spark takes the schema from; a column that a directory name overrides is marked as not to
    be pruned on. `summary`: that file, if it holds no data.
    """

    files: tuple[DataFile, ...]
    kinds: tuple[Provenance, ...]
    kind: Positions
    columns: tuple[LeafColumn, ...]
    partitions: tuple[LeafColumn, ...]
    summary: DataFile | None
    traffic: Traffic
    file: Positions
    ordinal: Positions
    row_count: Positions
    _batches: _Batches
    _chunks: dict[Path, ColumnChunks] = field(default_factory=dict)
    _bounds: dict[Path, Bounds] = field(default_factory=dict)
    _offsets: dict[Path, _Fetched[OffsetIndexes]] = field(default_factory=dict)
    _pages: dict[Path, _Fetched[PageBatch]] = field(default_factory=dict)
    _filters: dict[tuple[int, Path], NDArray[np.uint32] | str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.row_count)

    def provenance(self, position: int) -> Provenance:
        """Return what the file of a row group says of its schema and writer."""
        return self.kinds[int(self.kind[self.file[position]])]

    def column_chunks(self, column: LeafColumn) -> ColumnChunks:
        """Return what the footers say of a column in every row group."""
        self._decode_footers(column)
        return self._chunks[column.path]

    def chunk(self, position: int, column: LeafColumn) -> ColumnChunk | None:
        """Return a column's chunk in one row group; None when the file has no such column."""
        return self.column_chunks(column).chunk(int(position))

    def bounds(self, column: LeafColumn) -> Bounds:
        """Return what the statistics of every row group say of a column."""
        self._decode_footers(column)
        return self._bounds[column.path]

    def _decode_footers(self, column: LeafColumn) -> None:
        if column.path in self._chunks:
            return
        chunks: list[ColumnChunks] = []
        bounds: list[Bounds] = []
        trusts, first = self._trusts(column), 0
        for footers in self._batches.read(self.traffic):
            found, statistics, there = footers.chunks(column.path)
            rows = self.row_count[first : first + len(footers)]
            kind = self.kind[self.file[first : first + len(footers)]]
            chunks.append(found)
            if statistics is None:
                bounds.append(unknown_bounds(column, rows))
            else:
                bounds.append(spread_bounds(trusted_bounds(column, statistics, trusts, kind[there]), there, rows))
            first += len(footers)
        self._chunks[column.path] = concat_chunks(chunks)
        self._bounds[column.path] = concat_bounds(bounds)

    def _trusts(self, column: LeafColumn) -> list[Trust]:
        return [trust(column, kind) for kind in self.kinds]

    def fetch_pages(self, columns: Sequence[LeafColumn], positions: Positions) -> None:
        """Read the page indexes of columns in chosen row groups, as few requests as the gaps in the files allow."""
        paged = [(column, self._stored(self._pages, column).missing(positions)) for column in columns]
        located = [(column, self._stored(self._offsets, column).missing(positions)) for column in columns]
        ranges = [
            *(_Wanted(column, at, self.column_chunks(column).column_index[at]) for column, at in paged),
            *(_Wanted(column, at, self.column_chunks(column).offset_index[at]) for column, at in located),
        ]
        found = self._read_structures(ranges, "index")
        for (column, at), encoded in zip(located, found[len(paged) :], strict=True):
            self._add_offsets(column, at, encoded)
        for (column, at), encoded in zip(paged, found, strict=False):
            if len(at) or self._pages[column.path].kept is None:
                offsets = self._offsets[column.path].take(at)
                source = Source(column, self.row_count[at], self._trusts(column), self.kind[self.file[at]])
                batch = join_indexes(source, decode_column_indexes(encoded), offsets)
                self._pages[column.path].add(at, batch, concat_batches)

    def _stored(self, kept: dict[Path, _Fetched[Part]], column: LeafColumn) -> _Fetched[Part]:
        return kept.setdefault(column.path, _Fetched(np.full(len(self), -1, np.int64)))

    def _add_offsets(self, column: LeafColumn, positions: Positions, encoded: IndexBytes) -> None:
        stored = self._offsets[column.path]
        if len(positions) or stored.kept is None:
            stored.add(positions, decode_offset_indexes(encoded, self.row_count[positions]), concat_offset_indexes)

    def pages(self, column: LeafColumn, positions: Positions) -> PageBatch:
        """Return what the page indexes of the chosen row groups say of a column."""
        self.fetch_pages([column], positions)
        return self._pages[column.path].take(positions)

    def locations(self, columns: Sequence[LeafColumn], positions: Positions) -> list[OffsetIndexes]:
        """Return where the pages of the chosen row groups lie, by column; column indexes are not read for it."""
        located = [(column, self._stored(self._offsets, column).missing(positions)) for column in columns]
        wanted = [_Wanted(column, at, self.column_chunks(column).offset_index[at]) for column, at in located]
        for (column, at), encoded in zip(located, self._read_structures(wanted, "index"), strict=True):
            self._add_offsets(column, at, encoded)
        return [self._offsets[column.path].take(positions) for column in columns]

    def _read_structures(self, wanted: Sequence[_Wanted], purpose: str) -> list[IndexBytes]:
        """Read the ranges of several columns together; a reason stands where there is nothing to be believed."""
        position = np.concatenate([_NO_ROWS, *(part.positions for part in wanted)])
        offset, length = np.concatenate([_NO_RANGES, *(part.ranges for part in wanted)]).T
        part = np.repeat(np.arange(len(wanted)), [len(part.positions) for part in wanted])

        def place(i: int) -> str:
            return self._place(int(position[i]), wanted[part[i]].column)

        file, there = self.file[position], offset > 0
        sizes = np.array([entry.size for entry in self.files], np.int64)[file]
        for i in np.flatnonzero(there & ((offset > sizes) | (length > sizes - offset))):
            raise MalformedFile(
                f"{place(i)}: its {purpose} lies at {offset[i]} and {length[i]} bytes on, outside of the file "
                f"({sizes[i]} bytes); the footer is damaged"
            )
        absent = np.full(len(position), "", object)
        absent[~there] = _ABSENT
        shared = there & any_in(_overlaps(file, offset, length, there), file, len(self.files))[file]
        absent[shared] = f"the footer puts several {purpose} structures into the same bytes"
        read = np.flatnonzero(there & ~shared)
        buffer, at = gather(self.files, file[read], offset[read], length[read], purpose=purpose, traffic=self.traffic)
        start, stop = np.zeros(len(position), np.int64), np.full(len(position), -1, np.int64)
        start[read], stop[read] = at, at + length[read]
        edges = np.cumsum([0, *(len(part.positions) for part in wanted)]).tolist()
        return [
            IndexBytes(buffer, start[low:high], stop[low:high], absent[low:high], _shifted(place, low))
            for low, high in pairwise(edges)
        ]

    def _place(self, position: int, column: LeafColumn) -> str:
        path = self.files[int(self.file[position])].path
        return f"{path}: row group {self.ordinal[position]}, column {column.name!r}"

    def bloom_filters(self, column: LeafColumn, positions: Positions) -> list[NDArray[np.uint32] | str]:
        """Return a column's filter in each chosen row group; a reason stands for an absent one."""
        missing = np.array([p for p in positions.tolist() if (p, column.path) not in self._filters], np.int64)
        if len(missing):
            self._fetch_filters(column, missing)
        return [self._filters[p, column.path] for p in positions.tolist()]

    def _fetch_filters(self, column: LeafColumn, positions: Positions) -> None:
        ranges = self.column_chunks(column).bloom_filter[positions]
        rebased = np.array([is_rebased(column, kind) for kind in self.kinds], np.bool_)[self.kind[self.file[positions]]]
        ranges[rebased] = -1
        reasons: dict[int, str] = dict.fromkeys(
            positions[rebased].tolist(), "the file stores dates of another calendar"
        )
        for i in np.flatnonzero((ranges[:, 0] > 0) & (ranges[:, 1] < 0)):
            length = self._filter_length(int(positions[i]), column, int(ranges[i, 0]))
            if isinstance(length, str):
                ranges[i], reasons[int(positions[i])] = -1, length
            else:
                ranges[i, 1] = length
        (found,) = self._read_structures([_Wanted(column, positions, ranges)], "bloom")
        for i, position in enumerate(positions.tolist()):
            if found.stop[i] < 0:
                self._filters[position, column.path] = reasons.get(position, found.absent[i])
            else:
                data = found.buffer[found.start[i] : found.stop[i]]
                self._filters[position, column.path] = parse_filter(data, place=found.place(i))

    def _filter_length(self, position: int, column: LeafColumn, offset: int) -> int | str:
        """Return how many bytes a filter takes, read off its header: the footer does not say."""
        file = self.files[int(self.file[position])]
        guess = max(0, min(HEADER_BYTES, file.size - offset))
        data = read_range(file, offset, guess, purpose="bloom", traffic=self.traffic)
        header = parse_header(data, place=self._place(position, column))
        return header if isinstance(header, str) else header.header_bytes + header.bitset_bytes


_NO_ROWS = np.zeros(0, dtype=np.int64)
_NO_RANGES = np.zeros((0, 2), dtype=np.int64)


def _shifted(place: Callable[[int], str], by: int) -> Callable[[int], str]:
    return lambda i: place(i + by)


def _overlaps(file: Positions, offset: Positions, length: Positions, there: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which ranges begin inside of another range of their file."""
    order = np.lexsort((offset, file))
    order = order[there[order]]
    owner, start, stop = file[order], offset[order], (offset + length)[order]
    found = np.zeros(len(file), np.bool_)
    found[order[1:]] = (owner[1:] == owner[:-1]) & (start[1:] < stop[:-1])
    return found


@dataclass(slots=True)
class _Batches:
    """Footers in batches; when they take too much memory they are read again each time."""

    files: tuple[DataFile, ...]
    kept: tuple[Footers, ...] | None

    def read(self, traffic: Traffic) -> Iterable[Footers]:
        return read_footers(self.files, traffic=traffic) if self.kept is None else self.kept


def read_dataset(table: str | os.PathLike[str] | Iterable[str]) -> MetadataIndex:
    """Read the footers of all data files of a table.

    Raises TableNotFound, MalformedFile, UnsupportedFeature and StorageFailure, each naming the file.
    """
    traffic = Traffic()
    files = tuple(list_data_files(table))
    batches = list(read_footers(files, traffic=traffic))
    row_count = np.concatenate([batch.row_count for batch in batches])
    # Each is at most MAX_ROWS; as floating point their sum cannot wrap around.
    if (rows := row_count.sum(dtype=np.float64)) > MAX_ROWS:
        raise MalformedFile(f"{table}: its footers claim {rows:.0f} rows in all; one of them is damaged")
    summary = summary_file(table)
    first_columns = batches[0].kinds[batches[0].kind[0]].columns
    columns = first_columns if summary is None else read_schema(summary, traffic=traffic)
    partitions = partition_columns(file.path for file in files)
    kinds, kind = _merged_kinds(batches)
    firsts = np.cumsum([0, *(len(batch.files) for batch in batches)])
    kept = sum(len(batch.encoded) for batch in batches) <= _MOST_FOOTER_BYTES
    return MetadataIndex(
        files=files,
        kinds=kinds,
        kind=kind,
        columns=without_overridden(columns, partitions),
        partitions=partitions,
        summary=summary,
        traffic=traffic,
        file=np.concatenate([batch.file + first for batch, first in zip(batches, firsts, strict=False)]),
        ordinal=np.concatenate([batch.ordinal for batch in batches]),
        row_count=row_count,
        _batches=_Batches(files, tuple(batches) if kept else None),
    )


# Footers beyond this many bytes are not kept; what is asked of them later is read again.
_MOST_FOOTER_BYTES = 256 << 20


def _merged_kinds(batches: Sequence[Footers]) -> tuple[tuple[Provenance, ...], Positions]:
    kinds: list[Provenance] = []
    numbers: list[Positions] = []
    for batch in batches:
        places = []
        for kind in batch.kinds:
            if kind not in kinds:
                kinds.append(kind)
            places.append(kinds.index(kind))
        numbers.append(np.array(places, np.int64)[batch.kind])
    return tuple(kinds), np.concatenate(numbers)
