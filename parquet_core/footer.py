"""FileMetaData: what stands in a file's footer, as far as pruning and layout checks need it.

Source: `parquet.thrift` of parquet-format.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.compact import BINARY, BOOLEAN, EMPTY, INTEGER, decode, list_of, member, struct
from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.schema import LeafColumn, SchemaElement, leaf_columns
from parquet_core.spark_schema import without_spark_comparisons
from parquet_core.storage import DataFile, Traffic, read_range

if TYPE_CHECKING:
    from parquet_core.compact import Slots

MAGIC = b"PAR1"
ENCRYPTED_MAGIC = b"PARE"
SIZE_HINT = 64 << 10

# Row numbers stay exact as floating point, which sums of them pass through.
MAX_ROWS = (1 << 53) - 1

TYPE_ORDER = 1  # member of the union ColumnOrder: bounds compare as the type defines

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
        10: _LOGICAL_TYPE,
    }
)
_STATISTICS = struct({3: INTEGER, 5: BINARY, 6: BINARY, 7: BOOLEAN, 8: BOOLEAN})
_COLUMN_META_DATA = struct(
    {
        1: INTEGER,  # type
        2: list_of(INTEGER),  # encodings
        3: list_of(BINARY),  # path_in_schema
        5: INTEGER,  # num_values
        7: INTEGER,  # total_compressed_size
        9: INTEGER,  # data_page_offset
        11: INTEGER,  # dictionary_page_offset
        12: _STATISTICS,
        13: list_of(struct({1: INTEGER, 2: INTEGER, 3: INTEGER})),  # encoding_stats: page type, encoding, count
        14: INTEGER,  # bloom_filter_offset
        15: INTEGER,  # bloom_filter_length
        16: struct({1: INTEGER}),  # size_statistics: unencoded_byte_array_data_bytes
    }
)
_COLUMN_CHUNK = struct(
    {
        1: BINARY,  # file_path
        3: _COLUMN_META_DATA,
        4: INTEGER,  # offset_index_offset
        5: INTEGER,  # offset_index_length
        6: INTEGER,  # column_index_offset
        7: INTEGER,  # column_index_length
        8: member({}),  # crypto_metadata
    }
)
_ROW_GROUP = struct({1: list_of(_COLUMN_CHUNK), 3: INTEGER})
_FILE_META_DATA = struct(
    {
        2: list_of(_SCHEMA_ELEMENT),
        3: INTEGER,  # num_rows
        4: list_of(_ROW_GROUP),
        5: list_of(struct({1: BINARY, 2: BINARY})),  # key_value_metadata
        6: BINARY,  # created_by
        7: list_of(member({TYPE_ORDER: EMPTY})),  # column_orders
    }
)
_SCHEMA_ONLY = struct({2: list_of(_SCHEMA_ELEMENT), 5: list_of(struct({1: BINARY, 2: BINARY}))})

_DATA_PAGE, _DATA_PAGE_V2 = 0, 3


class ByteRange(NamedTuple):
    """Where a structure lies in the file; `length` None when the footer does not say."""

    offset: int
    length: int | None


class ChunkStatistics(NamedTuple):
    """Statistics of a column chunk as written; None where the writer left a field out."""

    null_count: int | None
    min_value: bytes | None
    max_value: bytes | None
    min_exact: bool | None
    max_exact: bool | None


class ColumnChunk(NamedTuple):
    """One column of one row group.

    `num_values` counts level entries, nulls included. `data_pages` comes from the encoding
    statistics, None without them. `value_bytes` is the unencoded size of byte array values.
    """

    num_values: int
    compressed_bytes: int
    first_page_offset: int
    encodings: tuple[int, ...]
    data_pages: int | None
    dictionary_only: bool | None
    statistics: ChunkStatistics | None
    column_index: ByteRange | None
    offset_index: ByteRange | None
    bloom_filter: ByteRange | None
    value_bytes: int | None
    encrypted: bool


class RowGroup(NamedTuple):
    """A row group: its rows and its column chunks in the order of the schema's leaves."""

    num_rows: int
    columns: tuple[ColumnChunk, ...]


@dataclass(frozen=True, slots=True)
class Footer:
    """A file's footer. `column_orders` holds a union member per leaf, empty when the writer gave none."""

    file: DataFile
    num_rows: int
    columns: tuple[LeafColumn, ...]
    row_groups: tuple[RowGroup, ...]
    column_orders: tuple[int, ...]
    key_values: dict[str, str]
    created_by: str


def read_footer(file: DataFile, *, traffic: Traffic, size_hint: int = SIZE_HINT) -> Footer:
    """Read a file's footer: one request when `size_hint` bytes from the end cover it, otherwise two.

    Raises MalformedFile for what is not a whole Parquet file, UnsupportedFeature for an encrypted footer.
    """
    return parse_footer(_read_footer_bytes(file, traffic, size_hint), file)


def _read_footer_bytes(file: DataFile, traffic: Traffic, size_hint: int) -> bytes:
    if file.size < 12:
        raise MalformedFile(
            f"{file.path}: {file.size} bytes are too few for a Parquet file; it is cut off or another format"
        )
    tail_length = min(file.size, size_hint)
    tail = read_range(file, file.size - tail_length, tail_length, purpose="footer", traffic=traffic)
    if tail[-4:] == ENCRYPTED_MAGIC:
        raise UnsupportedFeature(f"{file.path}: its footer is encrypted; pruning needs a plaintext footer")
    if tail[-4:] != MAGIC:
        raise MalformedFile(f"{file.path}: does not end in PAR1: not a Parquet file, or cut off; write it again")
    length = int.from_bytes(tail[-8:-4], "little")
    if length + 12 > file.size:
        raise MalformedFile(f"{file.path}: claims a footer of {length} bytes in a file of {file.size}; it is damaged")
    if length + 8 <= tail_length:
        return tail[tail_length - 8 - length : tail_length - 8]
    return read_range(file, file.size - 8 - length, length, purpose="footer", traffic=traffic)


def read_schema(file: DataFile, *, traffic: Traffic) -> tuple[LeafColumn, ...]:
    """Read the columns alone: of a summary file, whose row groups lie in other files."""
    slots, _ = decode(_read_footer_bytes(file, traffic, SIZE_HINT), _SCHEMA_ONLY, place=f"{file.path}: footer")
    elements, key_values = slots
    if elements is None:
        raise MalformedFile(f"{file.path}: the footer lacks a schema; it is damaged")
    return _columns(elements, _key_values(key_values), file)


def _columns(elements: list[Slots], key_values: dict[str, str], file: DataFile) -> tuple[LeafColumn, ...]:
    columns = leaf_columns([_schema_element(slots) for slots in elements], place=file.path)
    return without_spark_comparisons(columns, key_values)


def parse_footer(data: bytes, file: DataFile) -> Footer:
    """Decode the bytes of a FileMetaData and check what everything else relies on."""
    slots, _ = decode(data, _FILE_META_DATA, place=f"{file.path}: footer")
    elements, num_rows, groups, key_values, created_by, orders = slots
    if elements is None or num_rows is None or groups is None:
        raise MalformedFile(f"{file.path}: the footer lacks schema, num_rows or row groups; it is damaged")
    metadata = _key_values(key_values)
    columns = _columns(elements, metadata, file)
    return Footer(
        file=file,
        num_rows=num_rows,
        columns=columns,
        row_groups=tuple(_row_group(slots, columns, i, file) for i, slots in enumerate(groups)),
        column_orders=tuple(0 if order is None else order[0] for order in orders or ()),
        key_values=metadata,
        created_by=_text(created_by),
    )


def _schema_element(slots: Slots) -> SchemaElement:
    physical, length, repetition, name, children, converted, scale, precision, logical = slots
    return SchemaElement(
        name=_text(name),
        physical=physical,
        type_length=length,
        repetition=repetition,
        children=children,
        converted=converted,
        scale=scale,
        precision=precision,
        logical=logical,
    )


def _row_group(slots: Slots, columns: tuple[LeafColumn, ...], index: int, file: DataFile) -> RowGroup:
    chunks, num_rows = slots
    place = f"{file.path}: row group {index}"
    if chunks is None or num_rows is None or num_rows < 0 or len(chunks) != len(columns):
        raise MalformedFile(f"{place}: does not hold the {len(columns)} columns of the schema; the footer is damaged")
    if num_rows > MAX_ROWS:
        raise MalformedFile(f"{place}: claims {num_rows} rows; the footer is damaged")
    return RowGroup(
        num_rows,
        tuple(
            _column_chunk(chunk, leaf, file, f"{place}, column {leaf.index}")
            for chunk, leaf in zip(chunks, columns, strict=True)
        ),
    )


def _column_chunk(slots: Slots, leaf: LeafColumn, file: DataFile, place: str) -> ColumnChunk:
    path, meta, oi_offset, oi_length, ci_offset, ci_length, crypto = slots
    if path:
        raise UnsupportedFeature(f"{place}: lies in another file ({_text(path)}); such files are not read")
    if meta is None:
        # An encrypted column under a plaintext footer: everything about it is unknown.
        return ColumnChunk(0, 0, 0, (), None, None, None, None, None, None, None, encrypted=True)
    physical, encodings, names, num_values, size, data_offset, dictionary_offset, *rest = meta
    statistics, pages, bloom, bloom_length, sizes = rest
    if num_values is None or size is None or data_offset is None or min(num_values, size, data_offset) < 0:
        raise MalformedFile(f"{place}: lacks num_values, size or offset; the footer is damaged")
    if size > file.size or num_values > MAX_ROWS:
        raise MalformedFile(f"{place}: claims {size} bytes and {num_values} values; the footer is damaged")
    # Readers that go by the path and readers that go by the position must mean the same column.
    if physical != leaf.physical or (len(leaf.path) == 1 and [_text(name) for name in names or ()] != list(leaf.path)):
        raise MalformedFile(f"{place}: is not the column {leaf.path!r} that the schema has there; write the file again")
    starts_with_dictionary = dictionary_offset is not None and 0 < dictionary_offset < data_offset
    return ColumnChunk(
        num_values=num_values,
        compressed_bytes=size,
        first_page_offset=dictionary_offset if starts_with_dictionary else data_offset,
        encodings=tuple(encodings or ()),
        data_pages=_data_pages(pages, num_values),
        dictionary_only=_dictionary_only(pages),
        statistics=None if statistics is None else _statistics(statistics),
        column_index=_byte_range(ci_offset, ci_length),
        offset_index=_byte_range(oi_offset, oi_length),
        bloom_filter=None if bloom is None else ByteRange(bloom, bloom_length),
        value_bytes=None if sizes is None else sizes[0],
        encrypted=crypto is not None,
    )


def _statistics(slots: Slots) -> ChunkStatistics:
    null_count, max_value, min_value, max_exact, min_exact = slots
    return ChunkStatistics(null_count, min_value, max_value, min_exact, max_exact)


def _byte_range(offset: int | None, length: int | None) -> ByteRange | None:
    return None if offset is None or length is None or offset <= 0 or length <= 0 else ByteRange(offset, length)


def _data_page_stats(pages: list[Slots] | None) -> list[tuple[int, int]] | None:
    if pages is None or any(None in page for page in pages):
        return None
    return [(encoding, count) for kind, encoding, count in pages if kind in {_DATA_PAGE, _DATA_PAGE_V2}]


def _data_pages(pages: list[Slots] | None, num_values: int) -> int | None:
    stats = _data_page_stats(pages)
    count = -1 if stats is None else sum(count for _, count in stats)
    # A page holds a value at least, but for the one page of an empty chunk.
    return count if 0 <= count <= max(num_values, 1) else None


def _dictionary_only(pages: list[Slots] | None) -> bool | None:
    stats = _data_page_stats(pages)
    return None if not stats else all(encoding in {2, 8} for encoding, _ in stats)  # PLAIN_DICTIONARY, RLE_DICTIONARY


def _key_values(pairs: list[Slots] | None) -> dict[str, str]:
    return {_text(key): _text(value) for key, value in pairs or ()}


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "replace")
