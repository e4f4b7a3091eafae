"""Hashes are those of the stored bytes for every type; probes include all values that compare equal."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from made_filters import build_filter

from parquet_core.bloom import can_hash, hash_values, may_contain, may_hold, probe_hashes
from parquet_core.errors import WrongUse
from parquet_core.format.schema import LeafColumn, Physical, SortOrder


def leaf(physical, arrow_type, width=0, unsupported=""):
    return LeafColumn(("a",), 0, physical, arrow_type, SortOrder.SIGNED, type_length=width, unsupported=unsupported)


def little(number, width):
    return number.to_bytes(width, "little", signed=True)


def big(number, width):
    return number.to_bytes(width, "big", signed=True)


FIXED = Physical.FIXED_LEN_BYTE_ARRAY
INT32, INT64 = Physical.INT32, Physical.INT64
CASES = [
    (leaf(INT32, pa.int8()), [-128, 0, 127], pa.int8(), lambda v: little(v, 4)),
    (leaf(INT32, pa.int16()), [-(2**15), 5], pa.int16(), lambda v: little(v, 4)),
    (leaf(INT32, pa.int32()), [-(2**31), 2**31 - 1], pa.int32(), lambda v: little(v, 4)),
    (leaf(INT32, pa.uint8()), [0, 255], pa.uint8(), lambda v: little(v, 4)),
    (leaf(INT32, pa.uint32()), [0, 2**32 - 1], pa.uint32(), lambda v: v.to_bytes(4, "little")),
    (leaf(INT64, pa.int64()), [-(2**63), 2**63 - 1, 0], pa.int64(), lambda v: little(v, 8)),
    (leaf(INT64, pa.uint64()), [0, 2**64 - 1], pa.uint64(), lambda v: v.to_bytes(8, "little")),
    (
        leaf(INT32, pa.date32()),
        [dt.date(1, 1, 1), dt.date(9999, 12, 31)],
        pa.date32(),
        lambda v: little((v - dt.date(1970, 1, 1)).days, 4),
    ),
    (
        leaf(INT64, pa.timestamp("us", "UTC")),
        [dt.datetime(1969, 12, 31, 23, tzinfo=dt.UTC), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)],
        pa.timestamp("us"),
        lambda v: little(round((v - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) / dt.timedelta(microseconds=1)), 8),
    ),
    (leaf(INT32, pa.time32("ms")), [dt.time(0, 0, 1)], pa.time32("ms"), lambda v: little(1000, 4)),
    (leaf(INT64, pa.time64("us")), [dt.time(0, 0, 1)], pa.time64("us"), lambda v: little(10**6, 8)),
    (
        leaf(INT32, pa.decimal128(9, 2)),
        [Decimal("-9999999.99"), Decimal("0.01")],
        pa.decimal128(9, 2),
        lambda v: little(int(v.scaleb(2)), 4),
    ),
    (
        leaf(INT64, pa.decimal128(18, 4)),
        [Decimal("-9999999.9999"), Decimal("0.01")],
        pa.decimal128(18, 4),
        lambda v: little(int(v.scaleb(4)), 8),
    ),
    *[
        (
            leaf(FIXED, pa.decimal128(9, 2), width),
            [Decimal("-9999999.99"), Decimal("0.01"), Decimal(0)],
            pa.decimal128(9, 2),
            lambda v, width=width: big(int(v.scaleb(2)), width),
        )
        for width in (4, 5, 16, 20)
    ],
    (leaf(FIXED, pa.binary(3), 3), [b"abc", b"\x00\x00\x00"], pa.binary(3), bytes),
    (leaf(FIXED, pa.binary(3), 3), [b"abc", b"toolong"], pa.binary(), bytes),
    (leaf(Physical.BYTE_ARRAY, pa.string()), ["", "é", "x" * 100], pa.string(), str.encode),
    (leaf(Physical.BYTE_ARRAY, pa.string()), ["", "é"], pa.large_string(), str.encode),
    (leaf(Physical.BYTE_ARRAY, pa.string()), [b"", b"\xff"], pa.binary(), bytes),
    (leaf(Physical.BYTE_ARRAY, pa.binary()), [b"", b"\xff"], pa.binary(), bytes),
]


@pytest.mark.parametrize(("column", "values", "arrow_type", "encode"), CASES)
def test_values_hash_as_they_are_stored(column, values, arrow_type, encode):
    assert can_hash(column)
    array = pa.array(values, arrow_type)
    expected = [xxhash.xxh64_intdigest(encode(value)) for value in values]
    assert hash_values(column, array).tolist() == expected
    assert hash_values(column, array.slice(1)).tolist() == expected[1:], "a slice has an offset"
    assert hash_values(column, array.slice(0, 0)).tolist() == []
    assert probe_hashes(column, array).hashes.tolist() == expected


def test_days_beyond_the_calendar_of_python():
    days = pa.array([10**8, -(10**8)], pa.int32()).view(pa.date32())
    expected = [xxhash.xxh64_intdigest(little(day, 4)) for day in (10**8, -(10**8))]
    assert hash_values(leaf(INT32, pa.date32()), days).tolist() == expected


@pytest.mark.parametrize(
    ("column", "given_type", "why"),
    [
        (leaf(INT64, pa.timestamp("us")), pa.timestamp("ms"), "another unit"),
        (leaf(INT64, pa.timestamp("us")), pa.int64(), "no unit"),
        (leaf(INT64, pa.int64()), pa.timestamp("us"), "a unit where there is none"),
        (leaf(INT32, pa.date32()), pa.date64(), "another unit"),
        (leaf(INT32, pa.date32()), pa.int32(), "no date"),
        (leaf(Physical.FLOAT, pa.float32()), pa.float64(), "another width"),
        (leaf(Physical.DOUBLE, pa.float64()), pa.float32(), "another width"),
        (leaf(INT32, pa.int32()), pa.float32(), "no integer"),
        (leaf(INT32, pa.decimal128(9, 2)), pa.decimal128(9, 3), "another scale"),
        (leaf(INT32, pa.decimal128(9, 2)), pa.decimal256(9, 2), "another form"),
        (leaf(INT32, pa.decimal128(9, 2)), pa.int32(), "no scale"),
        (leaf(INT32, pa.int32()), pa.decimal128(9, 0), "no integer"),
        (leaf(FIXED, pa.decimal128(9, 2), 4), pa.binary(4), "no number"),
        (leaf(FIXED, pa.binary(3), 3), pa.binary(4), "another width"),
        (leaf(Physical.BYTE_ARRAY, pa.string()), pa.int32(), "no string"),
        (leaf(Physical.BYTE_ARRAY, pa.decimal128(9, 2)), pa.decimal128(9, 2), "its encoding is not unique"),
        (leaf(Physical.BYTE_ARRAY, pa.decimal128(9, 2)), pa.binary(), "its encoding is not unique"),
        (leaf(Physical.BOOLEAN, pa.bool_()), pa.bool_(), "filters of it are empty"),
        (leaf(Physical.INT96, pa.timestamp("ns")), pa.timestamp("ns"), "its bytes are not compared"),
    ],
)
def test_values_of_another_encoding_are_refused(column, given_type, why):
    with pytest.raises(TypeError, match="no bloom filter"):
        hash_values(column, pa.array([], given_type))


def test_nulls_are_refused():
    with pytest.raises(WrongUse, match="null"):
        hash_values(leaf(INT32, pa.int32()), pa.array([1, None], pa.int32()))


@pytest.mark.parametrize(
    ("column", "answer"),
    [
        (leaf(INT32, pa.int32()), True),
        (leaf(INT32, pa.int32(), unsupported="a reason"), False),
        (leaf(Physical.FLOAT, pa.float32()), True),
        (leaf(Physical.DOUBLE, pa.float64()), True),
        (leaf(FIXED, pa.decimal128(9, 2), 4), True),
        (leaf(Physical.BYTE_ARRAY, pa.decimal128(9, 2)), False),
        (leaf(Physical.BOOLEAN, pa.bool_()), False),
        (leaf(Physical.INT96, pa.timestamp("ns")), False),
    ],
)
def test_columns_that_can_be_probed(column, answer):
    assert can_hash(column) == answer


FLOATS = [
    (leaf(Physical.FLOAT, pa.float32()), pa.float32(), np.float32),
    (leaf(Physical.DOUBLE, pa.float64()), pa.float64(), np.float64),
    (leaf(FIXED, pa.float16(), 2), pa.float16(), np.float16),
]


@pytest.mark.parametrize(("column", "arrow_type", "numbers"), FLOATS)
@pytest.mark.parametrize("stored", [0.0, -0.0])
@pytest.mark.parametrize("wanted", [0.0, -0.0])
def test_a_zero_is_found_under_either_sign(column, arrow_type, numbers, stored, wanted):
    blocks = build_filter(hash_values(column, pa.array(np.array([stored], numbers), arrow_type)), 256)
    probes = probe_hashes(column, pa.array(np.array([1.5, wanted, 2.5], numbers), arrow_type))
    assert may_hold([blocks], probes).tolist() == [[False, True, False]]


@pytest.mark.parametrize(("column", "arrow_type", "numbers"), FLOATS)
def test_nan_is_never_proven_absent(column, arrow_type, numbers):
    blocks = build_filter(hash_values(column, pa.array(np.array([1.5], numbers), arrow_type)), 256)
    probes = probe_hashes(column, pa.array(np.array([np.nan, -np.nan, 7, 1.5], numbers), arrow_type))
    assert may_hold([blocks], probes).tolist() == [[True, True, False, True]]
    assert may_hold([], probes).shape == (0, 4)


@given(st.lists(st.floats(width=32), min_size=1, max_size=30), st.floats(width=32))
def test_what_compares_equal_is_found(stored, wanted):
    column = leaf(Physical.FLOAT, pa.float32())
    blocks = build_filter(hash_values(column, pa.array(stored, pa.float32())), 4096)
    (found,) = may_hold([blocks], probe_hashes(column, pa.array([wanted], pa.float32())))[0]
    if wanted in stored or (math.isnan(wanted) and any(map(math.isnan, stored))):
        assert found


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=8), st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=50)
)
def test_many_filters_answer_as_each_alone(sizes, numbers):
    hashes = np.array(numbers, np.uint64)
    filters = [build_filter(hashes[i::3], 32 * size) for i, size in enumerate(sizes)]
    found = may_contain(filters, hashes)
    assert found.shape == (len(filters), len(hashes))
    for i, blocks in enumerate(filters):
        assert found[i, i::3].all() or i >= 3
        for j, number in enumerate(numbers):
            assert found[i, j] == by_the_letter(blocks, number)


SALTS = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)


def by_the_letter(blocks, number):
    """Probe a filter once, exactly as the specification describes it."""
    block = blocks[(number >> 32) * len(blocks) >> 32].tolist()
    key = number & 0xFFFFFFFF
    return all(word >> ((key * salt & 0xFFFFFFFF) >> 27) & 1 for word, salt in zip(block, SALTS, strict=True))


def test_more_probes_than_one_block_of_work():
    hashes = np.random.default_rng(1).integers(0, 2**64, 20_000, np.uint64)
    filters = [build_filter(hashes[i::2], 32 * (1000 + i)) for i in range(2)]
    found = may_contain(filters, hashes)
    assert [found[i].tolist() for i in range(2)] == [may_contain([blocks], hashes)[0].tolist() for blocks in filters]
    assert found[0, ::2].all()
    assert found[1, 1::2].all()
    assert not found.all()
