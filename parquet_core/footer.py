"""FileMetaData: what stands in a file's footer, as far as pruning and layout checks need it.

Source: `parquet.thrift` of parquet-format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from parquet_core.column_chunk import MAX_ROWS, ColumnChunk, parse_column_chunk
from parquet_core.compact import BINARY, BOOLEAN, EMPTY, ENCODED, INTEGER, decode, decode_list, list_of, member, struct
from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.schema import LeafColumn, SchemaElement, leaf_columns
from parquet_core.spark_schema import SPARK_SCHEMA_KEY, without_spark_comparisons
from parquet_core.storage import DataFile, Traffic, read_range

if TYPE_CHECKING:
    from parquet_core.compact import Slots

MAGIC = b"PAR1"
ENCRYPTED_MAGIC = b"PARE"
SIZE_HINT = 64 << 10

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
_ROW_GROUP = struct({1: list_of(ENCODED), 3: INTEGER})
_FILE_META_DATA = struct(
    {
        2: ENCODED,  # schema
        3: INTEGER,  # num_rows
        4: list_of(_ROW_GROUP),
        5: list_of(struct({1: BINARY, 2: BINARY})),  # key_value_metadata
        6: BINARY,  # created_by
        7: list_of(member({TYPE_ORDER: EMPTY})),  # column_orders
    }
)
_SCHEMA_ONLY = struct({2: ENCODED, 5: list_of(struct({1: BINARY, 2: BINARY}))})


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group: its rows, and its column chunks, each decoded when it is first asked for."""

    num_rows: int
    encoded_chunks: list[bytes]
    file: DataFile
    place: str
    decoded: dict[int, ColumnChunk] = field(default_factory=dict)

    def chunk(self, leaf: LeafColumn) -> ColumnChunk:
        """Return the chunk of a leaf of this file; raises MalformedFile and UnsupportedFeature."""
        found = self.decoded.get(leaf.index)
        if found is None:
            place = f"{self.place}, column {leaf.name!r}"
            found = parse_column_chunk(self.encoded_chunks[leaf.index], leaf, self.file, place=place)
            self.decoded[leaf.index] = found
        return found


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
    schema, key_values = slots
    if schema is None:
        raise MalformedFile(f"{file.path}: the footer lacks a schema; it is damaged")
    return _columns(schema, _key_values(key_values), file)


def _columns(schema: bytes, key_values: dict[str, str], file: DataFile) -> tuple[LeafColumn, ...]:
    try:
        return _parse_schema(schema, key_values.get(SPARK_SCHEMA_KEY))
    except MalformedFile as error:
        raise MalformedFile(f"{file.path}: {error}") from None


# The files of a table carry the same schema, byte for byte.
@lru_cache(maxsize=64)
def _parse_schema(schema: bytes, spark_schema: str | None) -> tuple[LeafColumn, ...]:
    elements = decode_list(schema, _SCHEMA_ELEMENT, place="schema")
    columns = leaf_columns([_schema_element(slots) for slots in elements], place="schema")
    return without_spark_comparisons(columns, spark_schema)


def parse_footer(data: bytes, file: DataFile) -> Footer:
    """Decode the bytes of a FileMetaData and check what everything else relies on."""
    slots, _ = decode(data, _FILE_META_DATA, place=f"{file.path}: footer")
    schema, num_rows, groups, key_values, created_by, orders = slots
    if schema is None or num_rows is None or groups is None:
        raise MalformedFile(f"{file.path}: the footer lacks schema, num_rows or row groups; it is damaged")
    metadata = _key_values(key_values)
    columns = _columns(schema, metadata, file)
    return Footer(
        file=file,
        num_rows=num_rows,
        columns=columns,
        row_groups=tuple(_row_group(slots, len(columns), i, file) for i, slots in enumerate(groups)),
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


def _row_group(slots: Slots, leaves: int, index: int, file: DataFile) -> RowGroup:
    chunks, num_rows = slots
    place = f"{file.path}: row group {index}"
    if chunks is None or num_rows is None or num_rows < 0 or len(chunks) != leaves:
        raise MalformedFile(f"{place}: does not hold the {leaves} columns of the schema; the footer is damaged")
    if num_rows > MAX_ROWS:
        raise MalformedFile(f"{place}: claims {num_rows} rows; the footer is damaged")
    return RowGroup(num_rows, chunks, file, place)


def _key_values(pairs: list[Slots] | None) -> dict[str, str]:
    return {_text(key): _text(value) for key, value in pairs or ()}


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "replace")
