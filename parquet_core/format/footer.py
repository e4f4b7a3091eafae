"""Footers: what stands in the FileMetaData of many files, as far as pruning and layout checks need it.

Source: `parquet.thrift` of parquet-format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import numpy as np

from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.format.column_chunk import (
    MAX_ROWS,
    ChunkRanges,
    ColumnChunks,
    absent_chunks,
    decode_column_chunks,
)
from parquet_core.format.compact import (
    BINARY,
    BOOLEAN,
    EMPTY,
    ENCODED_LIST,
    INTEGER,
    decode_list,
    decode_tables,
    encoded_struct,
    member,
    places_of,
    rows_of,
    struct,
)
from parquet_core.format.schema import LeafColumn, SchemaElement, leaf_columns
from parquet_core.format.spark_schema import SPARK_SCHEMA_KEY, without_spark_comparisons
from parquet_core.ragged import spans
from parquet_core.storage import DataFile, Ranges, Traffic, gather, is_remote
from parquet_core.trust.statistics import TYPE_ORDER, Provenance, WrittenStatistics

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_core.format.compact import Slots, Table
    from parquet_core.predicate import Path

    Numbers = NDArray[np.int64]

MAGIC = b"PAR1"
ENCRYPTED_MAGIC = b"PARE"
SIZE_HINT = 64 << 10
_LARGEST_HINT = 16 << 20
# Footers are decoded together up to this many bytes of them.
_BATCH_BYTES = 32 << 20

_TIME_UNIT = member({1: EMPTY, 2: EMPTY, 3: EMPTY})
_LOGICAL_TYPE = member(
    {
        **dict.fromkeys((1, 2, 3, 4, 6, 11, 12, 13, 14, 15), EMPTY),
        5: struct({1: INTEGER, 2: INTEGER}),  # DECIMAL scale, precision
        7: struct({1: BOOLEAN, 2: _TIME_UNIT}),  # TIME
        8: struct({1: BOOLEAN, 2: _TIME_UNIT}),  # TIMESTAMP
        10: struct({1: INTEGER, 2: BOOLEAN}),  # INTEGER bit width, signed
    }
)
_SCHEMA_ELEMENT = struct(
    {
        1: INTEGER,  # type
        2: INTEGER,  # type_length
        3: INTEGER,  # repetition_type
        4: BINARY,  # name
        5: INTEGER,  # num_children
        6: INTEGER,  # converted_type
        7: INTEGER,  # scale
        8: INTEGER,  # precision
        9: INTEGER,  # field_id
        10: _LOGICAL_TYPE,
    },
    least=5,  # name, and type or children
)
_KEY_VALUE = struct({1: BINARY, 2: BINARY}, least=3)  # key
_COLUMN_ORDER = member({TYPE_ORDER: EMPTY})
_SORTING_COLUMN = struct({1: INTEGER, 2: BOOLEAN, 3: BOOLEAN}, least=5)
_COLUMN_CHUNK = encoded_struct(least=3)  # file_offset
_GROUPS, _CHUNKS = 0, 1
# columns, total_byte_size, num_rows
_ROW_GROUP = struct({1: places_of(_COLUMN_CHUNK, _CHUNKS), 3: INTEGER, 4: ENCODED_LIST}, least=7)
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
_COMMON_KINDS = 8
_WIDTH = _FILE_META_DATA.width

# A footer's schema, key-value metadata, created_by and column orders, as they are encoded.
EncodedKind: TypeAlias = tuple[bytes | None, bytes | None, bytes | None, bytes | None]


@dataclass(slots=True)
class Footers:
    """The footers of successive files.

    `kind` is the index in `kinds` of what a file says about its schema, writer and orders. Per row group:
    `file` and `ordinal` (counted from 0 here), `row_count`, its `file_size`, and where in `encoded` its chunks begin.
    """

    files: tuple[DataFile, ...]
    kinds: tuple[Provenance, ...]
    encoded_kinds: tuple[EncodedKind, ...]
    kind: Numbers
    num_rows: Numbers
    footer_bytes: Numbers
    file: Numbers
    ordinal: Numbers
    row_count: Numbers
    file_size: Numbers
    sorting_columns: Numbers  # start and length of the list, by row group
    first_chunk: Numbers
    chunk_start: Numbers
    chunk_stop: Numbers
    encoded: bytes = field(repr=False)

    def __len__(self) -> int:
        return len(self.row_count)

    @property
    def kind_of_group(self) -> Numbers:
        """The kind of the file of each row group."""
        return self.kind[self.file]

    def place(self, position: int, name: str = "") -> str:
        """Name a row group, or a column of it, in messages."""
        column = f", column {name!r}" if name else ""
        return f"{self.files[self.file[position]].path}: row group {self.ordinal[position]}{column}"

    def chunks(self, path: Path) -> tuple[ColumnChunks, WrittenStatistics | None, Numbers]:
        """Decode one column: its chunks, the statistics of those that are there, and which these are.

        Raises MalformedFile and UnsupportedFeature, naming file, row group and column.
        """
        leaves = [leaf_at(path, kind.columns) for kind in self.kinds]
        leaf_index = np.array([-1 if leaf is None else leaf.index for leaf in leaves], np.int64)[self.kind_of_group]
        physical = np.array([-1 if leaf is None else leaf.physical for leaf in leaves], np.int64)[self.kind_of_group]
        there = np.flatnonzero(leaf_index >= 0)
        if len(there) == 0:
            return absent_chunks(len(self)), None, there
        chunk = self.first_chunk[there] + leaf_index[there]
        name = ".".join(path)
        found, statistics = decode_column_chunks(
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
        return found.scattered(there, len(self)), statistics, there

    def sorted_by(self, position: int) -> list[tuple[int, bool, bool]]:
        """Return the sorting columns that a row group claims: leaf index, descending, nulls first."""
        start, length = self.sorting_columns[position]
        if length < 0:
            return []
        slots = decode_list(self.encoded[start : start + length], _SORTING_COLUMN, place=self.place(position))
        return [(index, descending is True, first is True) for index, descending, first in slots if index is not None]


def leaf_at(path: Path, columns: Sequence[LeafColumn]) -> LeafColumn | None:
    """Return the leaf of this path; None when there is none."""
    return next((leaf for leaf in columns if leaf.path == path), None)


def read_footers(files: Sequence[DataFile], *, traffic: Traffic) -> Iterator[Footers]:
    """Read the footers of files, in batches: one request a file where the size hint covers it, otherwise two.

    The hint begins at 64 KiB and follows the footers seen. Raises MalformedFile for what is not a whole
    Parquet file, UnsupportedFeature for an encrypted footer.
    """
    if not files:
        return
    # The first file alone shows how long the footers of this dataset are.
    encoded, starts, stops = _read_encoded(files[:1], SIZE_HINT, traffic)
    begun, first = 0, 1
    if len(files) == 1:
        yield parse_footers(encoded, starts, stops, files)
    while first < len(files):
        hint = _hint(int((stops - starts).max()), files[first])
        last = first + max(1, _BATCH_BYTES // hint)
        if begun == first:
            encoded, starts, stops = b"", starts[:0], stops[:0]
        encoded, more_starts, more_stops = _read_encoded(files[first:last], hint, traffic, before=encoded)
        starts, stops = np.concatenate([starts, more_starts]), np.concatenate([stops, more_stops])
        yield parse_footers(encoded, starts, stops, files[begun:last])
        begun = first = last


def _hint(longest: int, file: DataFile) -> int:
    """Return how many bytes to ask for of the end of a file, by the longest footer of the files before it."""
    ample = longest + longest // 4 + 8
    # Bytes that nobody asked for are cheaper than a second request, but for a local file, of which they fill memory.
    rounded = 1 << ample.bit_length() if is_remote(file.path) else -(-ample // 512) * 512
    return min(_LARGEST_HINT, max(4096, rounded))


def read_footer(file: DataFile, *, traffic: Traffic) -> Footers:
    """Read the footer of one file."""
    return next(read_footers([file], traffic=traffic))


def read_schema(file: DataFile, *, traffic: Traffic) -> tuple[LeafColumn, ...]:
    """Read the columns alone: of a summary file, whose row groups lie in other files."""
    encoded, start, stop = _read_encoded([file], SIZE_HINT, traffic)
    decoded, _ = decode_tables(encoded, start, stop, _FILE_META_DATA, 2, place=lambda _: f"{file.path}: footer")
    table = _rows(decoded, _WIDTH)
    if table[0, _FILE_META_DATA.offset(2)] < 0:
        raise MalformedFile(f"{file.path}: the footer lacks a schema; it is damaged")
    (kind,), _ = _encoded_kinds(encoded, table)
    return provenance_of(kind, file).columns


def _read_encoded(
    files: Sequence[DataFile], hint: int, traffic: Traffic, *, before: bytes = b""
) -> tuple[bytes, Numbers, Numbers]:
    """Return bytes that begin with `before` and hold the FileMetaData of every file, and where each begins and ends."""
    sizes = np.array([file.size for file in files], np.int64)
    for i in np.flatnonzero(sizes < 12).tolist():
        raise MalformedFile(
            f"{files[i].path}: {sizes[i]} bytes are too few for a Parquet file; it is cut off or another format"
        )
    tails, every = np.minimum(sizes, hint), np.arange(len(files))
    ranges = Ranges(every, sizes - tails, tails)
    (encoded,) = gather(files, ranges, counts=[len(files)], purpose="footer", traffic=traffic, before=before)
    stops = len(before) + np.cumsum(tails) - 8
    lengths = _footer_lengths(encoded, stops, sizes, files)
    starts = stops - lengths
    short = np.flatnonzero(lengths + 8 > tails)
    if len(short):
        ranges = Ranges(short, (sizes - 8 - lengths)[short], lengths[short])
        (rest,) = gather(files, ranges, counts=[len(short)], purpose="footer", traffic=traffic)
        ends = len(encoded) + np.cumsum(lengths[short])
        starts[short], stops[short] = ends - lengths[short], ends
        encoded += rest
    if len(before) + int(lengths.sum()) < len(encoded) // 2:
        # Of tails that were mostly no footer nothing else is kept.
        kept = [encoded[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
        encoded = b"".join([before, *kept])
        stops = len(before) + np.cumsum(lengths)
        starts = stops - lengths
    return encoded, starts, stops


def _footer_lengths(encoded: bytes, at: Numbers, sizes: Numbers, files: Sequence[DataFile]) -> Numbers:
    """Return the bytes of each footer, which its file gives in the eight bytes at `at`."""
    ends = np.frombuffer(encoded, np.uint8)[at[:, None] + np.arange(8)]
    lengths: Numbers = ends[:, :4].copy().view("<u4")[:, 0].astype(np.int64)
    wrong = np.any(ends[:, 4:] != np.frombuffer(MAGIC, np.uint8), axis=1) | (lengths + 12 > sizes)
    for i in np.flatnonzero(wrong).tolist():
        _refuse(ends[i].tobytes(), files[i])
    return lengths


def _refuse(end: bytes, file: DataFile) -> NoReturn:
    if end[4:] == ENCRYPTED_MAGIC:
        raise UnsupportedFeature(f"{file.path}: its footer is encrypted; pruning needs a plaintext footer")
    if end[4:] != MAGIC:
        raise MalformedFile(f"{file.path}: does not end in PAR1: not a Parquet file, or cut off; write it again")
    length = int.from_bytes(end[:4], "little")
    raise MalformedFile(f"{file.path}: claims a footer of {length} bytes in a file of {file.size}; it is damaged")


def parse_footers(encoded: bytes, starts: Numbers, stops: Numbers, files: Sequence[DataFile]) -> Footers:
    """Decode the FileMetaData in each byte range and check what everything else relies on."""

    def file_place(i: int) -> str:
        return f"{files[i].path}: footer"

    decoded, (rows, places) = decode_tables(encoded, starts, stops, _FILE_META_DATA, 2, place=file_place)
    table, groups, begins = _rows(decoded, _WIDTH), _rows(rows, _ROW_GROUP.width), np.frombuffer(places, np.int64)
    at = _FILE_META_DATA.offset
    incomplete = (table[:, at(2)] < 0) | (table[:, at(3)] < 0) | (table[:, at(4)] < 0)
    for i in np.flatnonzero(incomplete):
        raise MalformedFile(f"{files[int(i)].path}: the footer lacks schema, num_rows or row groups; it is damaged")
    encoded_kinds, kind = _encoded_kinds(encoded, table)
    kinds = tuple(provenance_of(entry, files[int(np.argmax(kind == i))]) for i, entry in enumerate(encoded_kinds))
    counts = table[:, at(4) + 1]
    groups = groups[spans(table[:, at(4)], counts)]
    file = np.repeat(np.arange(len(files)), counts)
    ordinal = np.arange(len(file)) - np.repeat(np.cumsum(counts) - counts, counts)
    leaves = np.array([len(provenance.columns) for provenance in kinds], np.int64)[kind[file]]

    def group_place(i: int) -> str:
        return f"{files[file[i]].path}: row group {ordinal[i]}"

    at = _ROW_GROUP.offset
    row_count, chunk_counts = groups[:, at(3)].copy(), np.maximum(groups[:, at(1) + 1], 0)
    chunk = spans(groups[:, at(1)], chunk_counts)
    for i in np.flatnonzero((row_count < 0) | (chunk_counts != leaves)):
        place = group_place(int(i))
        raise MalformedFile(f"{place}: does not hold the {leaves[i]} columns of the schema; the footer is damaged")
    for i in np.flatnonzero(row_count > MAX_ROWS):
        raise MalformedFile(f"{group_place(int(i))}: claims {row_count[i]} rows; the footer is damaged")
    return Footers(
        files=tuple(files),
        kinds=kinds,
        encoded_kinds=encoded_kinds,
        kind=kind,
        num_rows=table[:, _FILE_META_DATA.offset(3)].copy(),
        footer_bytes=stops - starts,
        file=file,
        ordinal=ordinal,
        row_count=row_count,
        file_size=np.array([file.size for file in files], np.int64)[file],
        sorting_columns=groups[:, at(4) : at(4) + 2].copy(),
        first_chunk=np.cumsum(chunk_counts) - chunk_counts,
        chunk_start=begins[chunk],
        chunk_stop=begins[chunk + 1],
        encoded=encoded,
    )


def _rows(table: Table, width: int) -> Numbers:
    return np.frombuffer(table, np.int64).reshape(-1, width)


def _encoded_kinds(encoded: bytes, table: Numbers) -> tuple[tuple[EncodedKind, ...], Numbers]:
    """Return the distinct kinds of footers and the kind of each; files of one writer share theirs, byte for byte."""
    kinds: dict[EncodedKind, int] = {}
    columns = np.array([_FILE_META_DATA.offset(field) for field in (2, 5, 6, 7)])
    starts, lengths = table[:, columns], table[:, columns + 1]
    kind, rest = np.full(len(table), -1, np.int64), np.arange(len(table))
    # Most datasets have few kinds: whoever is of the first one's is found without making its own.
    for _ in range(_COMMON_KINDS):
        if len(rest) == 0:
            break
        found = _slices(encoded, starts[rest[0]].tolist(), lengths[rest[0]].tolist())
        alike = np.all(lengths[rest] == lengths[rest[0]], axis=1)
        for part, begins in zip(found, starts[rest].T.tolist(), strict=True):
            if part is None:
                continue
            alike &= np.fromiter(map(encoded.startswith, repeat(part), begins), np.bool_, len(rest))
        kind[rest[alike]] = kinds.setdefault(found, len(kinds))
        rest = rest[~alike]
    for i, start, length in zip(rest.tolist(), starts[rest].tolist(), lengths[rest].tolist(), strict=True):
        kind[i] = kinds.setdefault(_slices(encoded, start, length), len(kinds))
    return tuple(kinds), kind


def _slices(encoded: bytes, starts: list[int], lengths: list[int]) -> EncodedKind:
    return tuple(encoded[a : a + b] if b >= 0 else None for a, b in zip(starts, lengths, strict=True))  # type: ignore[return-value]  # of 4


def provenance_of(kind: EncodedKind, file: DataFile) -> Provenance:
    """Decode what a footer says beside its row groups; `file` is named where that is damaged."""
    try:
        return _provenance(kind)
    except (MalformedFile, UnsupportedFeature) as error:
        raise type(error)(f"{file.path}: {error}") from None


@lru_cache(maxsize=256)
def _provenance(kind: EncodedKind) -> Provenance:
    schema, pairs, created_by, orders = kind
    key_values = {} if pairs is None else _key_values(decode_list(pairs, _KEY_VALUE, place="footer"))
    members = [] if orders is None else decode_list(orders, _COLUMN_ORDER, place="footer")
    return Provenance(
        columns=_parse_schema(b"" if schema is None else schema, key_values.get(SPARK_SCHEMA_KEY)),
        column_orders=tuple(0 if order is None else order[0] for order in members),
        key_values=key_values,
        created_by=_text(created_by),
    )


# Files whose key-value metadata differ carry the same schema, byte for byte.
@lru_cache(maxsize=64)
def _parse_schema(schema: bytes, spark_schema: str | None) -> tuple[LeafColumn, ...]:
    elements = decode_list(schema, _SCHEMA_ELEMENT, place="schema")
    columns = leaf_columns(map(_schema_element, elements), place="schema")
    return without_spark_comparisons(columns, spark_schema)


def _schema_element(slots: Slots) -> SchemaElement:
    physical, length, repetition, name, children, converted, scale, precision, field_id, logical = slots
    return SchemaElement(
        name=_text(name),
        physical=physical,
        type_length=length,
        repetition=repetition,
        children=children,
        converted=converted,
        scale=scale,
        precision=precision,
        field_id=field_id,
        logical=logical,
    )


def _key_values(pairs: list[Slots]) -> dict[str, str]:
    return {_text(key): _text(value) for key, value in pairs}


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "replace")
