"""Decode chosen pages as a small Parquet file in memory.

The pages stay unchanged; a new footer describes one row group with only these columns. Arrow decodes the result like
any other file.
Source: `parquet.thrift`, and the compact protocol of Apache Thrift.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_core.errors import UnsupportedFeature
from parquet_core.fix import LEAVE_OUT
from parquet_core.format.compact_encoding import (
    BINARY,
    BYTE,
    FALSE,
    I32,
    I64,
    LIST,
    STRUCT,
    TRUE,
    encoded_bytes,
    encoded_list,
    encoded_number,
    encoded_struct,
)
from parquet_core.format.encoded_footers import MAGIC
from parquet_core.format.leaf_type import is_always_null
from parquet_core.format.schema import Physical
from parquet_core.values.int96 import may_be_wrapped, unwrapped
from parquet_core.values.pages import ChunkClaims, ChunkContent, check_codec, check_pages, is_always_compressed
from parquet_core.values.reader import BATCH_BYTES, BATCH_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn, Path, SchemaElement

_MOST_RATIO = 64
_DECIMAL, _TIME, _TIMESTAMP, _INTEGER = 5, 7, 8, 10


class ChunkPages(NamedTuple):
    """Pages of one column chunk, with their headers.

    The dictionary page, if any, comes before the data pages.
    `leaf`: number of the column among the leaves of the file.
    `data`: the pages in their first `length` bytes; more bytes may follow.
    `dictionary_bytes`: size of the dictionary page, where the data pages begin.
    `num_values`: number of values with nulls; None if only the page headers have it.
    `page_values`: number of values of each data page; empty if unknown.
    `location`: for messages.
    """

    leaf: int
    codec: int
    data: bytes
    length: int
    dictionary_bytes: int
    num_values: int | None
    page_values: Sequence[int]
    location: str


def schema_of(footer_kind: Provenance, leaves: Sequence[int]) -> bytes:
    """Return the encoded schema of some leaves of a file.

    The schema is Thrift-encoded and has the table's names. `leaves`: ascending leaf numbers.
    """
    return encoded_list(STRUCT, [_element(element) for element in _tree(footer_kind, leaves)])


def decode_pages(footer_kind: Provenance, schema: bytes, chunks: Sequence[ChunkPages], rows: int) -> pa.Table:
    """Decode pages of some columns to a table of top-level columns.

    `chunks`: pages that contain the same `rows` rows. `schema`: from `schema_of`, for the leaves of `chunks` in the
    same order. Raises MalformedFile for pages that contradict the claims about them, UnsupportedFeature for an
    unsupported codec and for values that take much more memory than their pages, and the errors of Arrow.
    """
    widest, parts, described, offset = 1, [MAGIC], [], len(MAGIC)
    most = max(4 * BATCH_BYTES, _MOST_RATIO * sum(len(chunk.data) for chunk in chunks))
    for chunk in chunks:
        leaf = footer_kind.columns[chunk.leaf]
        facts = _facts(chunk, leaf, always_compressed=is_always_compressed(footer_kind.created_by))
        widest = max(widest, facts.widest)
        if leaf.max_repetition_level and facts.num_values * max(facts.widest, 16) > most:
            raise _too_large(chunk.location, most)
        described.append(_chunk(leaf, chunk, facts.num_values, offset))
        parts.append(chunk.data)
        offset += len(chunk.data)
    footer = _footer(schema, described, rows, footer_kind.created_by)
    whole = b"".join([*parts, footer, len(footer).to_bytes(4, "little"), MAGIC])
    table = _decoded(whole, rows, widest, most, chunks[0].location)
    return _with_right_int96(
        table, footer_kind, chunks, lambda: _decoded(whole, rows, widest, most, chunks[0].location, int96_unit="ns")
    )


def _with_right_int96(
    table: pa.Table, footer_kind: Provenance, chunks: Sequence[ChunkPages], as_nanos: Callable[[], pa.Table]
) -> pa.Table:
    """Correct top-level INT96 columns that Arrow may have decoded wrongly."""
    leaves = [footer_kind.columns[chunk.leaf] for chunk in chunks]
    names = [leaf.path[0] for leaf in leaves if leaf.physical is Physical.INT96 and len(leaf.path) == 1]
    suspects = [name for name in names if may_be_wrapped(table.column(name))]
    exact = as_nanos() if suspects else table
    for name in suspects:
        position = table.schema.get_field_index(name)
        column = unwrapped(table.column(name), exact.column(name))
        table = table.set_column(position, table.schema.field(position), column)
    return table


def empty_table(footer_kind: Provenance, schema: bytes, leaves: Sequence[int]) -> pa.Table:
    """Return a table without rows, with the types that `decode_pages` returns."""
    chunks = [ChunkPages(leaf, 0, b"", 0, 0, 0, (), "") for leaf in leaves]
    return decode_pages(footer_kind, schema, chunks, 0)


def _facts(chunk: ChunkPages, leaf: LeafColumn, *, always_compressed: bool) -> ChunkContent:
    check_codec(chunk.codec, chunk.location)
    levels = (leaf.max_definition_level > 0) + (leaf.max_repetition_level > 0)
    is_text = leaf.physical is Physical.BYTE_ARRAY
    claims = ChunkClaims(
        chunk.num_values, chunk.codec, chunk.location, is_text, levels, chunk.page_values, always_compressed
    )
    facts = check_pages(chunk.data, chunk.length, claims)
    if leaf.physical is Physical.FIXED_LEN_BYTE_ARRAY:
        facts = facts._replace(widest=leaf.type_length)
    return facts


def _decoded(whole: bytes, rows: int, widest: int, most: int, location: str, *, int96_unit: str = "us") -> pa.Table:
    """Decode a file in memory to a table.

    Raises UnsupportedFeature for more than `most` decoded bytes. Decodes in batches if a few bytes may expand to more
    than `most`, so that the limit stops it before memory is full.
    """
    opened = pq.ParquetFile(
        pa.BufferReader(whole),
        coerce_int96_timestamp_unit=int96_unit,
        page_checksum_verification=True,
        pre_buffer=False,
    )
    if rows * widest <= most:
        return opened.read(use_threads=False)
    taken, parts = 0, []
    for batch in opened.iter_batches(max(1, min(BATCH_ROWS, BATCH_BYTES // widest)), use_threads=False):
        taken += batch.nbytes
        if taken > most:
            raise _too_large(location, most)
        parts.append(batch)
    return pa.Table.from_batches(parts, opened.schema_arrow)


def _too_large(location: str, most: int) -> UnsupportedFeature:
    return UnsupportedFeature(f"{location}: its values take more than {most:,} bytes decoded", LEAVE_OUT)


def _footer(schema: bytes, chunks: Sequence[bytes], rows: int, created_by: str) -> bytes:
    group = encoded_struct(
        (1, LIST, encoded_list(STRUCT, chunks)), (2, I64, encoded_number(0)), (3, I64, encoded_number(rows))
    )
    return encoded_struct(
        (1, I32, encoded_number(2)),
        (2, LIST, schema),
        (3, I64, encoded_number(rows)),
        (4, LIST, encoded_list(STRUCT, [group])),
        # created_by is kept because Arrow decodes files of some old writers differently.
        (6, BINARY, encoded_bytes(created_by.encode())),
    )


def _chunk(leaf: LeafColumn, chunk: ChunkPages, count: int, offset: int) -> bytes:
    described = [
        (1, I32, encoded_number(leaf.physical)),
        (2, LIST, _NO_ENCODINGS),
        (3, LIST, _names(leaf.path)),
        (4, I32, encoded_number(chunk.codec)),
        (5, I64, encoded_number(count)),
        (6, I64, encoded_number(chunk.length)),
        (7, I64, encoded_number(chunk.length)),
        (9, I64, encoded_number(offset + chunk.dictionary_bytes)),
    ]
    if chunk.dictionary_bytes:
        described.append((11, I64, encoded_number(offset)))
    return encoded_struct((2, I64, encoded_number(offset)), (3, STRUCT, encoded_struct(*described)))


@lru_cache(maxsize=4096)
def _names(path: Path) -> bytes:
    return encoded_list(BINARY, [encoded_bytes(name.encode()) for name in path])


def _tree(footer_kind: Provenance, leaves: Sequence[int]) -> list[SchemaElement]:
    """Return the schema elements of these leaves and their groups.

    The elements have the table's names.
    """
    wanted, elements = set(leaves), iter(footer_kind.elements)
    leaf_number = 0

    def below(depth: int) -> list[SchemaElement]:
        """Return the next element and its descendants, without unwanted leaves."""
        nonlocal leaf_number
        element = next(elements)
        if depth and element.physical is not None:
            leaf_number += 1
            name = footer_kind.columns[leaf_number - 1].path[depth - 1]
            return [replace(element, name=name)] if leaf_number - 1 in wanted else []
        first = leaf_number
        children = [below(depth + 1) for _ in range(element.children or 0)]
        nonempty = [part for part in children if part]
        if depth and not nonempty:
            return []
        # The group is named after a wanted leaf, because dropped leaves may have another name for it.
        one_kept = next((leaf for leaf in range(first, leaf_number) if leaf in wanted), first)
        name = footer_kind.columns[one_kept].path[depth - 1] if depth else element.name
        return [replace(element, name=name, children=len(nonempty)), *(inner for part in nonempty for inner in part)]

    return below(0)


def _element(element: SchemaElement) -> bytes:
    by_field_id = [
        (1, element.physical),
        (2, element.type_length),
        (3, element.repetition),
        (4, element.name.encode()),
        (5, None if element.physical is not None else element.children),
        (6, element.converted),
        (7, element.scale),
        (8, element.precision),
    ]
    fields = [
        (field_id, BINARY, encoded_bytes(value))
        if isinstance(value, bytes)
        else (field_id, I32, encoded_number(int(value)))
        for field_id, value in by_field_id
        if value is not None
    ]
    # Arrow drops the values of columns that are declared as always null; Spark reads them.
    if element.logical is not None and not is_always_null(element):
        fields.append((10, STRUCT, encoded_struct((element.logical[0], STRUCT, _logical(*element.logical)))))
    return encoded_struct(*fields)


def _logical(member: int, slots: list[Any]) -> bytes:
    if member == _DECIMAL:
        return encoded_struct(*((i, I32, encoded_number(slot)) for i, slot in enumerate(slots, 1) if slot is not None))
    if member in {_TIME, _TIMESTAMP}:
        unit = [] if slots[1] is None else [(2, STRUCT, encoded_struct((slots[1][0], STRUCT, encoded_struct())))]
        return encoded_struct((1, TRUE if slots[0] is True else FALSE, b""), *unit)
    if member == _INTEGER:
        return encoded_struct((1, BYTE, bytes([slots[0] & 0xFF])), (2, TRUE if slots[1] is True else FALSE, b""))
    return encoded_struct()


_NO_ENCODINGS = encoded_list(I32, [])
