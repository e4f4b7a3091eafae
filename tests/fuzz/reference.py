"""Slow reference decoders; each function raises Lie if the columnar reader claims something else."""

from __future__ import annotations

import math
import re
import struct
import zlib
from itertools import pairwise

import pyarrow as pa
import slow_thrift
from slow_thrift import BINARY, FALSE, NUMBERS, STRUCT, TRUE, elements, get

from parquet_core.format.schema import Physical


class Lie(AssertionError):
    """A claim contradicts the bytes."""


def must(holds, *what):
    if not holds:
        raise Lie(*what)


def value_of(leaf, raw):
    """Return the value of a PLAIN encoding, in the form of `targets.plain`."""
    if pa.types.is_decimal(leaf.type) and leaf.physical not in {Physical.INT32, Physical.INT64}:
        return int.from_bytes(raw, "big", signed=True)
    match leaf.physical:
        case Physical.BOOLEAN:
            return raw == b"\1"
        case Physical.INT32 | Physical.INT64:
            return int.from_bytes(raw, "little", signed=not pa.types.is_unsigned_integer(leaf.type))
        case Physical.FLOAT | Physical.DOUBLE:
            return struct.unpack("<f" if leaf.physical is Physical.FLOAT else "<d", raw)[0]
        case _ if pa.types.is_float16(leaf.type):
            return struct.unpack("<e", raw)[0]
    return raw


def check_bound(leaf, claimed, raw, zero, *where):
    """Check one claimed bound against the bytes of the writer; None is no claim."""
    if claimed is None:
        return
    must(raw is not None, *where, "a bound that the writer did not give")
    # Bounds of timestamps are microseconds, whatever the file counts in.
    is_milli = leaf.type is not None and pa.types.is_timestamp(leaf.type) and leaf.type.unit == "ms"
    must(claimed == value_of(leaf, raw) * (1_000 if is_milli else 1), *where, claimed, raw)
    if isinstance(claimed, float) and claimed == 0:
        must(math.copysign(1, claimed) == math.copysign(1, zero), *where, "a zero that is not widened")


# These writers include NaN in bounds, so non-NaN bounds prove that there is no NaN.
_WITH_NAN = re.compile(rb"parquet-mr version 1\.1[0-7]\.\d+(?!\S*-SNAPSHOT)")


def check_footer(data, claims):
    """Check the claims about every column of an encoded footer."""
    fields, _ = slow_thrift.parse(data)
    with_nan = _WITH_NAN.match(get(fields, 6, BINARY) or b"") is not None
    groups = elements(fields, 4)
    must(claims.row_counts == [get(group, 3, *NUMBERS) for group in groups], "row counts")
    for group, found in zip(groups, claims.sorted_by, strict=True):
        if isinstance(found, list):
            must(found == _sorted_by(group), "sorting columns", found)
    for column in claims.columns:
        for i, group in enumerate(groups):
            chunk = elements(group, 1)[column.leaf.index]
            _check_chunk(chunk, column.chunks[i], column.leaf.name, i)
            _check_chunk_bounds(chunk, column, i, with_nan=with_nan)


def _sorted_by(group):
    rows = [(get(s, 1, *NUMBERS), get(s, 2, TRUE, FALSE), get(s, 3, TRUE, FALSE)) for s in elements(group, 4) or ()]
    return [(index, descending is True, first is True) for index, descending, first in rows if index is not None]


def _check_chunk(chunk, found, *where):
    meta = get(chunk, 3, STRUCT)
    must(found is not None, *where, "a chunk is missing")
    must(
        found.encrypted == (meta is None or any(f == 8 and w in {9, 10, 12} for f, w, _ in chunk)), *where, "encrypted"
    )
    if meta is None:
        return
    claimed = (found.num_values, found.compressed_bytes, found.data_page_offset)
    must(claimed == tuple(get(meta, field, *NUMBERS) for field in (5, 7, 9)), *where, claimed)
    for known, value in (
        (found.codec, get(meta, 4, *NUMBERS)),
        (found.dictionary_page_offset, get(meta, 11, *NUMBERS)),
    ):
        must(known in {None, value}, *where, known, value)
    for place, holder, fields in (
        (found.column_index, chunk, (6, 7)),
        (found.offset_index, chunk, (4, 5)),
        (found.bloom_filter, meta, (14, 15)),
    ):
        if place is not None:
            offset, length = (get(holder, field, *NUMBERS) for field in fields)
            must(not found.encrypted and place[0] == offset and place[1] in {None, length}, *where, place)
    encodings = {e if 0 <= e < 62 else 62 for e in elements(meta, 2) or ()}
    must(set(found.encodings) == encodings, *where, found.encodings)
    _check_encoding_stats(meta, found, *where)


def _check_encoding_stats(meta, found, *where):
    stats = elements(meta, 13)
    rows = [tuple(get(entry, field, *NUMBERS) for field in (1, 2, 3)) for entry in stats or ()]
    must((found.encoding_stats is None) == (stats is None), *where, "encoding statistics")
    must(list(found.encoding_stats or ()) == rows, *where, found.encoding_stats)
    of_data = [(encoding, count) for kind, encoding, count in rows if kind in {0, 3}]
    if found.data_pages is not None:
        must(found.data_pages == sum(count for _, count in of_data), *where, "data pages")
    if found.dictionary_only is not None:
        must(found.dictionary_only == all(encoding in {2, 8} for encoding, _ in of_data), *where, "dictionary only")


def _check_chunk_bounds(chunk, column, i, *, with_nan):
    meta = get(chunk, 3, STRUCT)
    written = get(meta, 12, STRUCT)
    where = (column.leaf.name, i)
    new = get(written, 6, BINARY), get(written, 5, BINARY)
    old = get(written, 2, BINARY), get(written, 1, BINARY)
    low, high = new if new != (None, None) else old
    check_bound(column.leaf, column.lower[i], low, -0.0, *where, "lower")
    check_bound(column.leaf, column.upper[i], high, 0.0, *where, "upper")
    for claimed, field in ((column.null_counts[i], 3), (column.nan_counts[i], 9)):
        floating = pa.types.is_floating(column.leaf.type) if column.leaf.type is not None else True
        certain = 0 if (field == 3 and column.leaf.max_definition_level == 0) or (field == 9 and not floating) else None
        if field == 9 and with_nan and None not in {*new, column.lower[i], column.upper[i]}:
            certain = 0
        must(claimed in {None, certain, get(written, field, *NUMBERS)}, *where, field, claimed)
    for claimed, field in ((column.min_exact[i], 8), (column.max_exact[i], 7)):
        must(claimed in {None, get(written, field, TRUE, FALSE)}, *where, field, claimed)


def check_offset_index(data, pages, rows):
    """Check the claimed (offset, bytes, first row) of every page, and that they share the rows between them."""
    found = elements(slow_thrift.parse(data)[0], 1)
    must(pages == [tuple(get(page, field, *NUMBERS) for field in (1, 2, 3)) for page in found], pages)
    edges = [first for _, _, first in pages] + [max(rows, 1)]
    must(edges[0] == 0 and all(a < b for a, b in pairwise(edges)), "rows of pages", edges)


def check_column_index(data, leaf, pages):
    """Check the claims about every page."""
    fields, _ = slow_thrift.parse(data)
    lists = [elements(fields, number) for number in (1, 2, 3, 5, 8)]
    must(all(of is None or len(of) == len(pages.lower) for of in lists), "pages", lists)
    null_pages, lows, highs, nulls, nans = lists
    for i, marked in enumerate(null_pages):
        null_page = marked == 1
        check_bound(leaf, pages.lower[i], None if null_page else lows[i], -0.0, i, "lower")
        check_bound(leaf, pages.upper[i], None if null_page else highs[i], 0.0, i, "upper")
        implied = pages.row_counts[i] if null_page and nulls is None else nulls and nulls[i]
        certain = 0 if leaf.max_definition_level == 0 else None
        must(pages.null_counts[i] in {None, certain, implied}, i, "nulls", pages.null_counts[i])
        certain = None if pa.types.is_floating(leaf.type) else 0
        must(pages.nan_counts[i] in {None, certain, nans and nans[i]}, i, "NaN", pages.nan_counts[i])


def check_filter(data, blocks, *, whole):
    """Check the words of a trusted filter; a `whole` one ends with the bytes."""
    header, stop = slow_thrift.parse(data)
    size = get(header, 1, *NUMBERS)
    kinds = [get(header, field, STRUCT) for field in (2, 3, 4)]
    must(all(kind and kind[-1][0] == 1 for kind in kinds), "a filter of another kind")
    must(blocks == data[stop : stop + size] and len(blocks) == size, "words of the filter")
    must(not whole or len(data) == stop + size, "bytes behind the filter")


def check_dictionary(data, leaf, codec, values):
    """Check the values of a trusted dictionary, if its compression needs no external library."""
    header, stop = slow_thrift.parse(data)
    size = get(header, 3, *NUMBERS)
    stored = data[stop : stop + size]
    if codec not in {None, 0, 2}:
        return
    plain = zlib.decompress(stored, zlib.MAX_WBITS | 32) if codec == 2 else stored
    must(values == _entries(plain, leaf), "entries of the dictionary", values)
    must(len(values) == get(get(header, 7, STRUCT), 1, *NUMBERS), "their number")


def _entries(plain, leaf):
    if leaf.physical is not Physical.BYTE_ARRAY:
        width = leaf.type_length if leaf.physical is Physical.FIXED_LEN_BYTE_ARRAY else 4
        width = 8 if leaf.physical in {Physical.INT64, Physical.DOUBLE} else width
        return [plain[i : i + width] for i in range(0, len(plain), width)]
    entries = []
    while plain:
        length = int.from_bytes(plain[:4], "little")
        entries.append(plain[4 : 4 + length])
        plain = plain[4 + length :]
    return entries
