"""Read and decode the footers of many files.

Only the parts of FileMetaData that pruning and layout checks need are decoded.
Source: `parquet.thrift` of parquet-format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.errors import MalformedFile
from parquet_core.format.chunk_decoding import ChunkRanges, Totals, as_rows, decode_column_chunks, decode_totals
from parquet_core.format.chunk_places import CHUNK_PLACES, Surroundings, conflicts
from parquet_core.format.column_chunk import MAX_ROWS, ColumnChunks, absent_chunks
from parquet_core.format.compact import (
    BINARY,
    BOOLEAN,
    ENCODED_LIST,
    INTEGER,
    decode_list,
    decode_table,
    decode_tables,
    rows_of,
    struct,
)
from parquet_core.format.encoded_footers import encoded_footers
from parquet_core.format.provenance import EncodedKind, Provenance, provenance_of
from parquet_core.ragged import spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_core.arrays import Numbers
    from parquet_core.format.schema import Path
    from parquet_core.format.written_statistics import WrittenStatistics
    from parquet_core.storage import DataFile, Traffic


_SORTING_COLUMN = struct({1: INTEGER, 2: BOOLEAN, 3: BOOLEAN}, least=5)
_GROUPS, _CHUNKS = 0, 1
# columns, total_byte_size, num_rows
_ROW_GROUP = struct({1: rows_of(CHUNK_PLACES, _CHUNKS), 3: INTEGER, 4: ENCODED_LIST}, least=7)
_FILE_META_DATA = struct(
    {
        2: ENCODED_LIST,  # schema
        3: INTEGER,  # num_rows
        4: rows_of(_ROW_GROUP, _GROUPS),
        5: ENCODED_LIST,  # key_value_metadata
        6: BINARY,  # created_by
        7: ENCODED_LIST,  # column_orders
    }
)
_PATH = struct({3: struct({1: INTEGER, 3: ENCODED_LIST})})
_COMMON_KINDS = 8
_WIDTH = _FILE_META_DATA.width
_SUNK_WIDTHS = 1 + _ROW_GROUP.width, 1 + CHUNK_PLACES.width
_NONE = np.zeros(0, np.bool_)


# Limit for column chunks that are summed together.
_MOST_CHUNKS = 1 << 16


@dataclass(slots=True)
class Footers:
    """The footers of successive files.

    Per file: `kind` is the index in `kinds` of its schema, writer and column orders, and `start` and `footer_bytes` are
    the range of its FileMetaData in `encoded`. Per row group: `file` is the
    number of its file, `ordinal` its number in the file (from 0), `file_size` is in bytes, and `first_chunk` is the
    number of its first column chunk. Per column chunk: `chunk_start` and `chunk_stop` are its range in `encoded`, and
    `conflicts` has bits of Conflict.
    """

    files: tuple[DataFile, ...]
    kinds: tuple[Provenance, ...]
    encoded_kinds: tuple[EncodedKind, ...]
    kind: Numbers
    num_rows: Numbers
    start: Numbers
    footer_bytes: Numbers
    file: Numbers
    ordinal: Numbers
    row_count: Numbers
    file_size: Numbers
    sorting_columns: Numbers  # start and length of the list, by row group
    first_chunk: Numbers
    chunk_start: Numbers
    chunk_stop: Numbers
    conflicts: NDArray[np.uint8]
    encoded: bytes = field(repr=False)

    def __len__(self) -> int:
        return len(self.row_count)

    @property
    def kind_of_group(self) -> Numbers:
        """For each row group, the index in `kinds` of its file's footer kind."""
        return self.kind[self.file]

    def place(self, position: int, name: str = "") -> str:
        """Return the location of a row group or column, for messages."""
        column = f", column {name!r}" if name else ""
        return f"{self.files[self.file[position]].path}: row group {self.ordinal[position]}{column}"

    def chunks(self, path: Path) -> tuple[ColumnChunks, WrittenStatistics | None, Numbers]:
        """Decode the chunks and statistics of one column.

        Returns the chunks of all row groups, the statistics of row groups whose file has the column (None if no file
        has it), and the positions of these row groups. Raises MalformedFile and UnsupportedFeature, which name file,
        row group and column.
        """
        leaves = [footer_kind.by_path.get(path) for footer_kind in self.kinds]
        leaf_index = np.array([-1 if leaf is None else leaf.index for leaf in leaves], np.int64)[self.kind_of_group]
        physical = np.array([-1 if leaf is None else leaf.physical for leaf in leaves], np.int64)[self.kind_of_group]
        there = np.flatnonzero(leaf_index >= 0)
        if len(there) == 0:
            return absent_chunks(len(self)), None, there
        chunk = self.first_chunk[there] + leaf_index[there]
        name = ".".join(path)
        decoded, statistics = decode_column_chunks(
            ChunkRanges(
                buffer=self.encoded,
                start=self.chunk_start[chunk],
                stop=self.chunk_stop[chunk],
                physical=physical[there],
                row_count=self.row_count[there],
                file_size=self.file_size[there],
                path=path,
                place=lambda i: self.place(int(there[i]), name),
            )
        )
        return decoded.scattered(there, len(self)), statistics, there

    def is_repeated(self) -> NDArray[np.bool_]:
        """Flag column chunks of repeated columns."""
        kinds = [
            np.array([leaf.max_repetition_level > 0 for leaf in footer_kind.columns], np.bool_)
            for footer_kind in self.kinds
        ]
        repeated: NDArray[np.bool_] = np.concatenate([kinds[i] for i in self.kind_of_group.tolist()] or [_NONE])
        return repeated

    def totals(self, columns: Sequence[Sequence[Path]]) -> Totals:
        """Sum bytes and pages of columns per row group.

        `columns`: for each column, the paths under which files may have it; the first existing path counts. Raises
        MalformedFile for a chunk that cannot be decoded.
        """
        none = np.zeros(len(self), np.int64)
        result = Totals(none, none.copy(), np.ones(len(self), np.bool_))
        for index, footer_kind in enumerate(self.kinds):
            of_kind = np.flatnonzero(self.kind_of_group == index)
            there = [next((path for path in paths if path in footer_kind.by_path), None) for paths in columns]
            leaves = np.array([footer_kind.by_path[path].index for path in there if path is not None], np.int64)
            step = max(1, _MOST_CHUNKS // max(1, len(leaves)))
            for first in range(0, len(of_kind) if len(leaves) else 0, step):
                groups = of_kind[first : first + step]
                part = self._totals(groups, footer_kind, leaves)
                result.bytes[groups], result.pages[groups] = part.bytes, part.pages
                result.located[groups] = part.located
        return result

    def _totals(self, groups: Numbers, footer_kind: Provenance, leaves: Numbers) -> Totals:
        chunk = (self.first_chunk[groups][:, None] + leaves).reshape(-1)
        encoded = self.encoded, self.chunk_start[chunk], self.chunk_stop[chunk]

        def place(i: int) -> str:
            group, leaf = divmod(i, len(leaves))
            return self.place(int(groups[group]), footer_kind.columns[leaves[leaf]].name)

        return decode_totals(encoded, np.repeat(self.file_size[groups], len(leaves)), len(leaves), place=place)

    def lack_paths(self) -> NDArray[np.bool_]:
        """Flag row groups whose first column chunk has no `path_in_schema`."""
        filled = np.flatnonzero(np.diff(self.first_chunk, append=len(self.chunk_start)))
        chunk = self.first_chunk[filled]
        table = decode_table(
            self.encoded, self.chunk_start[chunk], self.chunk_stop[chunk], _PATH, place=lambda i: self.place(filled[i])
        )
        lacking = np.zeros(len(self), np.bool_)
        lacking[filled] = as_rows(table, _PATH.width)[:, _PATH.offset(3, 3) + 1] < 0
        return lacking

    def sorted_by(self, position: int) -> list[tuple[int, bool, bool]]:
        """Return the row group's `sorting_columns`: leaf index, descending, nulls first."""
        start, length = self.sorting_columns[position]
        if length < 0:
            return []
        slots = decode_list(self.encoded[start : start + length], _SORTING_COLUMN, place=self.place(position))
        return [(index, descending is True, first is True) for index, descending, first in slots if index is not None]


def read_footers(files: Sequence[DataFile], *, traffic: Traffic) -> Iterator[Footers]:
    """Read the footers of files and yield them in batches.

    A file takes one request if the size hint covers its footer, otherwise two. The hint starts at 64 KiB and adapts to
    the footers read so far. Raises MalformedFile for a file that is truncated or not Parquet, and UnsupportedFeature
    for an encrypted footer.
    """
    for batch in encoded_footers(files, _decode, traffic=traffic):
        yield _footers(batch.encoded, batch.starts, batch.stops, batch.files, _joined(batch.parts))


def read_footer(file: DataFile, *, traffic: Traffic) -> Footers:
    """Read the footer of one file."""
    return next(read_footers([file], traffic=traffic))


def read_kind(file: DataFile, *, traffic: Traffic) -> EncodedKind:
    """Read schema, key-value metadata, writer and column orders from a footer.

    Used for summary files, whose row groups are in other files. Raises MalformedFile if the footer lacks a schema.
    """
    (batch,) = encoded_footers([file], _decode, traffic=traffic)
    table = batch.parts[0].files
    if table[0, _FILE_META_DATA.offset(2)] < 0:
        raise MalformedFile(f"{file.path}: the footer lacks a schema; it is damaged")
    (footer_kind,), _ = _encoded_kinds(batch.encoded, table)
    return footer_kind


class _Tables(NamedTuple):
    """Decoded FileMetaData.

    `files`, `groups`: one row of numbers per file and per row group.
    `chunk_start`, `chunk_stop`: byte range of each column chunk.
    `conflicts`: bits of Conflict per column chunk.
    """

    files: Numbers
    groups: Numbers
    chunk_start: Numbers
    chunk_stop: Numbers
    conflicts: NDArray[np.uint8]


def _decode(encoded: bytes, starts: Numbers, stops: Numbers, files: Sequence[DataFile]) -> _Tables:
    def place(i: int) -> str:
        return f"{files[i].path}: footer"

    decoded, sunk = decode_tables(encoded, starts, stops, _FILE_META_DATA, 2, place=place)
    table, groups, chunks = as_rows(decoded, _WIDTH), *(as_rows(*pair) for pair in zip(sunk, _SUNK_WIDTHS, strict=True))
    groups, group_counts = _elements(table, _FILE_META_DATA.offset(4), groups)
    groups = groups[:, 1:]
    chunks, chunk_counts = _elements(groups, _ROW_GROUP.offset(1), chunks)
    around = Surroundings(
        file=np.repeat(np.repeat(np.arange(len(files)), group_counts), chunk_counts),
        row_count=np.repeat(groups[:, _ROW_GROUP.offset(3)], chunk_counts),
        sizes=np.array([file.size for file in files], np.int64),
    )
    return _Tables(table, groups, chunks[:, 0].copy(), chunks[:, 1].copy(), conflicts(chunks[:, 1:], around))


def _elements(table: Numbers, column: int, rows: Numbers) -> tuple[Numbers, Numbers]:
    """Return the elements and counts of the lists at `column`.

    `rows`: all decoded elements. If a file repeats the list's field, they include elements of earlier lists, which are
    left out.
    """
    counts = np.maximum(table[:, column + 1], 0)
    whole = counts.sum() == len(rows)
    return (rows if whole else rows[spans(table[:, column], counts)]), counts


def _joined(parts: Sequence[_Tables]) -> _Tables:
    """Concatenate the tables of successive files."""
    return parts[0] if len(parts) == 1 else _Tables(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _footers(encoded: bytes, starts: Numbers, stops: Numbers, files: Sequence[DataFile], tables: _Tables) -> Footers:
    table, groups = tables.files, tables.groups
    column_of = _FILE_META_DATA.offset
    incomplete = (table[:, column_of(2)] < 0) | (table[:, column_of(3)] < 0) | (table[:, column_of(4)] < 0)
    for i in np.flatnonzero(incomplete):
        raise MalformedFile(f"{files[int(i)].path}: the footer lacks schema, num_rows or row groups; it is damaged")
    encoded_kinds, kind = _encoded_kinds(encoded, table)
    kinds = tuple(provenance_of(entry, files[int(np.argmax(kind == i))]) for i, entry in enumerate(encoded_kinds))
    counts = table[:, column_of(4) + 1]
    file = np.repeat(np.arange(len(files)), counts)
    ordinal = np.arange(len(file)) - np.repeat(np.cumsum(counts) - counts, counts)
    leaves = np.array([len(provenance.columns) for provenance in kinds], np.int64)[kind[file]]

    def group_place(i: int) -> str:
        return f"{files[file[i]].path}: row group {ordinal[i]}"

    column_of = _ROW_GROUP.offset
    row_count, chunk_counts = groups[:, column_of(3)].copy(), np.maximum(groups[:, column_of(1) + 1], 0)
    for i in np.flatnonzero((row_count < 0) | (chunk_counts != leaves)):
        group_name = group_place(int(i))
        raise MalformedFile(f"{group_name}: does not hold the {leaves[i]} columns of the schema; the footer is damaged")
    for i in np.flatnonzero(row_count > MAX_ROWS):
        raise MalformedFile(f"{group_place(int(i))}: claims {row_count[i]} rows; the footer is damaged")
    return Footers(
        files=tuple(files),
        kinds=kinds,
        encoded_kinds=encoded_kinds,
        kind=kind,
        num_rows=table[:, _FILE_META_DATA.offset(3)].copy(),
        start=starts,
        footer_bytes=stops - starts,
        file=file,
        ordinal=ordinal,
        row_count=row_count,
        file_size=np.array([file.size for file in files], np.int64)[file],
        sorting_columns=groups[:, column_of(4) : column_of(4) + 2].copy(),
        first_chunk=np.cumsum(chunk_counts) - chunk_counts,
        chunk_start=tables.chunk_start,
        chunk_stop=tables.chunk_stop,
        conflicts=tables.conflicts,
        encoded=encoded,
    )


def _encoded_kinds(encoded: bytes, table: Numbers) -> tuple[tuple[EncodedKind, ...], Numbers]:
    """Return the distinct footer kinds, and for each file the index of its kind.

    Footers of one writer usually have equal kinds, byte for byte.
    """
    kinds: dict[EncodedKind, int] = {}
    columns = np.array([_FILE_META_DATA.offset(field) for field in (2, 5, 6, 7)])
    starts, lengths = table[:, columns], table[:, columns + 1]
    kind, rest = np.full(len(table), -1, np.int64), np.arange(len(table))
    # Most datasets have few kinds. Files with the kind of the first one are matched without slicing their own bytes.
    for _ in range(_COMMON_KINDS):
        if len(rest) == 0:
            break
        slices = _slices(encoded, starts[rest[0]].tolist(), lengths[rest[0]].tolist())
        alike = np.all(lengths[rest] == lengths[rest[0]], axis=1)
        for part, begins in zip(slices, starts[rest].T.tolist(), strict=True):
            if part is None:
                continue
            alike &= np.fromiter(map(encoded.startswith, repeat(part), begins), np.bool_, len(rest))
        kind[rest[alike]] = kinds.setdefault(slices, len(kinds))
        rest = rest[~alike]
    for i, start, length in zip(rest.tolist(), starts[rest].tolist(), lengths[rest].tolist(), strict=True):
        kind[i] = kinds.setdefault(_slices(encoded, start, length), len(kinds))
    return tuple(kinds), kind


def _slices(encoded: bytes, starts: list[int], lengths: list[int]) -> EncodedKind:
    return tuple(encoded[a : a + b] if b >= 0 else None for a, b in zip(starts, lengths, strict=True))  # type: ignore[return-value]  # of 4
