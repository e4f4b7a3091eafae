"""Lists that claim, or have, very many elements of very few bytes take little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from slow_thrift import BINARY, I32, I64, LIST, STRUCT, encode, encode_list, varint
from targets import footers_of

from parquet_core.dataset.page_batch import Source, join_indexes
from parquet_core.errors import MalformedFile
from parquet_core.format.page_index import IndexBytes, decode_column_indexes, decode_offset_indexes
from parquet_core.format.provenance import Provenance
from parquet_core.format.schema import LeafColumn, Physical, SortOrder
from parquet_core.trust.trust_policy import trust
from parquet_core.trust.trusted_bounds import trusted_bounds

COUNT = 30_000
RATIO, FREE_BYTES = 80, 1 << 18
ROOT = [[4, BINARY, b"schema"], [5, I32, 1]]
LEAF = [[1, I32, 2], [3, I32, 0], [4, BINARY, b"a"]]
META = [[1, I32, 2], [2, LIST, (I32, [0])], [3, LIST, (BINARY, [b"a"])], [4, I32, 0], [5, I64, 1], [7, I64, 1]]
WHOLE = encode([[2, I64, 4], [3, STRUCT, [*META, [9, I64, 4]]]])
PAIRS, ORDERS = 5, 7


def repeated(element, wire=STRUCT):
    """Return the bytes of a list of one element many times."""
    return bytes([0xF0 | wire]) + varint(COUNT) + element * COUNT


def footer(schema=None, groups=b"\x0c", **others):
    schema = encode_list(STRUCT, [ROOT, LEAF]) if schema is None else schema
    more = b"".join(bytes([9]) + varint(2 * field) + data for field, data in sorted(others.values()))
    return b"\x29" + schema + b"\x16\x00\x19" + groups + more + b"\0"


def group(chunk):
    """Return a row group of one row and one chunk."""
    return b"\x19\x1c" + chunk + b"\x16\x02\x16\x02\x00"


FOOTERS = {
    "schema elements of a byte": footer(repeated(b"\0")),
    "schema elements with a name": footer(repeated(b"\x48\0\0")),
    "row groups of a byte": footer(groups=repeated(b"\0")),
    "row groups without columns": footer(encode_list(STRUCT, [ROOT[:1]]), repeated(b"\x19\x0c\x16\x02\x16\x02\x00")),
    "chunks of a byte": footer(groups=repeated(group(b"\0"))),
    "chunks of their offset alone": footer(groups=repeated(group(b"\x26\x08\0"))),
    "the least that a chunk may have": footer(groups=repeated(group(WHOLE))),
    "key-value pairs of a byte": footer(pairs=(PAIRS, repeated(b"\0"))),
    "key-value pairs of empty keys": footer(pairs=(PAIRS, repeated(b"\x18\0\0"))),
    "column orders of a byte": footer(orders=(ORDERS, repeated(b"\0"))),
    "column orders of one member": footer(orders=(ORDERS, repeated(b"\x1c\0\0"))),
}


def read_footer(data):
    """Read a footer and all of its columns, as an index of a dataset does."""
    footers = footers_of(data)
    for leaf in footers.kinds[0].columns:
        _, statistics, _ = footers.chunks(leaf.path)
        if statistics is not None:
            trusted_bounds(leaf, statistics, [trust(leaf, footers.kinds[0])], np.zeros(len(footers), np.int64))


@pytest.fixture
def measured():
    """A function that returns the bytes that a call allocates."""
    before = pa.default_memory_pool()

    def measure(call, *arguments):
        pool = pa.proxy_memory_pool(pa.system_memory_pool())
        pa.set_memory_pool(pool)
        tracemalloc.start()
        try:
            call(*arguments)
        except MalformedFile:
            pass
        finally:
            allocated = tracemalloc.get_traced_memory()[1] + (pool.max_memory() or 0)
            tracemalloc.stop()
            pa.set_memory_pool(before)
        return allocated

    measure(read_footer, footer(groups=b"\x1c" + group(WHOLE)))  # imports modules late
    return measure


@pytest.mark.parametrize("name", FOOTERS)
def test_footers(measured, name):
    data = FOOTERS[name]
    assert measured(read_footer, data) < RATIO * len(data) + FREE_BYTES


def read_indexes(column_index, offset_index, rows):
    column = LeafColumn(("s",), 0, Physical.BYTE_ARRAY, pa.string(), SortOrder.UNSIGNED, max_definition_level=1)
    parts = [np.array([0]), np.array([""], object), lambda _: "here"]
    one, two = (IndexBytes(d, parts[0], np.array([len(d)]), *parts[1:]) for d in (column_index, offset_index))
    offsets = decode_offset_indexes(two, np.array([rows]), np.array([[0, 1 << 62]]))
    trusts = [trust(column, Provenance((column,), (1,), {}, ""))]
    source = Source(column, np.array([rows]), trusts, np.array([0]))
    return join_indexes(source, decode_column_indexes(one), offsets)


def pages(flag, value):
    return b"\x19" + repeated(flag, 1) + b"\x19" + repeated(value, BINARY) + b"\x19" + repeated(value, BINARY)


def locations():
    return b"".join(encode([[1, I64, 4 + i], [2, I32, 1], [3, I64, i]]) for i in range(COUNT))


@pytest.mark.parametrize("offsets", [repeated(b"\0"), bytes([0xFC]) + varint(COUNT) + locations()])
@pytest.mark.parametrize(("flag", "value"), [(b"\2", b"\0"), (b"\1", b"\0"), (b"\2", b"\1a")])
def test_page_indexes(measured, flag, value, offsets):
    data = pages(flag, value) + b"\x15\x00\x00", b"\x19" + offsets + b"\0"
    assert measured(read_indexes, *data, COUNT) < RATIO * sum(map(len, data)) + FREE_BYTES
