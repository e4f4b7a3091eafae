"""Chunk bounds computed from page bounds: their range, their counts, and unknown results."""

from __future__ import annotations

import time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_core.trust.bounds import Bounds
from parquet_core.trust.fold_pages import fold_pages

VALUES = {
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "bool": (pa.bool_(), st.booleans()),
    "double": (pa.float64(), st.floats(allow_nan=False)),
    "binary": (pa.binary(), st.binary(max_size=3)),
    "date": (pa.date32(), st.integers(-5, 5)),
    "time": (pa.time64("us"), st.integers(0, 5)),
    "timestamp": (pa.timestamp("us", "UTC"), st.integers(-5, 5)),
    "decimal": (pa.decimal128(38, 2), st.integers(-(10**35), 10**35).map(lambda number: Decimal(number).scaleb(-2))),
}


@st.composite
def page_lists(draw):
    """Pages as (container, lower, upper, nulls, nans, rows); None is unknown."""
    kind, values = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    counts = st.one_of(st.none(), st.integers(0, 3))
    side = st.one_of(st.none(), values)
    pages = draw(st.lists(st.tuples(st.integers(0, 4), side, side, counts, counts, st.integers(1, 4)), max_size=12))
    return kind, sorted(pages, key=lambda page: page[0])


def bounds_of(kind, pages):
    columns = list(zip(*pages, strict=True)) if pages else [()] * 6
    return Bounds.of(
        lower=pa.array(columns[1], kind),
        upper=pa.array(columns[2], kind),
        null_count=pa.array(columns[3], pa.int64()),
        row_count=np.array(columns[5], np.int64),
        nan_count=pa.array(columns[4], pa.int64()),
    )


def plain(array):
    if pa.types.is_temporal(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    return array.to_pylist()


def folded_by_hand(values, pages, pick):
    told = [value for value in values if value is not None]
    silent = [
        value is None and (nulls or 0) + (nans or 0) != rows
        for value, (_, _, _, nulls, nans, rows) in zip(values, pages, strict=True)
    ]
    return pick(told) if told and not any(silent) else None


def total(counts):
    return sum(counts) if counts and None not in counts else None


@settings(max_examples=4 * settings().max_examples)
@given(page_lists())
def test_a_fold_is_what_a_look_at_every_page_gives(case):
    kind, pages = case
    found = fold_pages(bounds_of(kind, pages), np.array([page[0] for page in pages], np.int64), 5)
    low, high = plain(pa.array([page[1] for page in pages], kind)), plain(pa.array([page[2] for page in pages], kind))
    for container in range(5):
        members = [i for i, page in enumerate(pages) if page[0] == container]
        mine = [pages[i] for i in members]
        assert plain(found.lower)[container] == folded_by_hand([low[i] for i in members], mine, min)
        assert plain(found.upper)[container] == folded_by_hand([high[i] for i in members], mine, max)
        assert found.null_count[container].as_py() == total([page[3] for page in mine])
        assert found.nan_count[container].as_py() == total([page[4] for page in mine])
        assert found.row_count[container] == sum(page[5] for page in mine)
    assert found.min_exact.null_count == found.max_exact.null_count == 5


@pytest.mark.parametrize(
    ("pages", "lower", "why"),
    [
        ([(0, 4, 5, 0, 0, 9), (0, None, None, 9, 0, 9)], 4, "a null page has nothing to enclose"),
        ([(0, 4.0, 5.0, 0, 0, 9), (0, None, None, 2, 7, 9)], 4, "nor has one of nulls and NaN"),
        ([(0, 4, 5, 0, 0, 9), (0, None, None, 8, 0, 9)], None, "one value is not enclosed"),
        ([(0, 4, 5, 0, 0, 9), (0, None, None, None, None, 9)], None, "nobody knows"),
        ([(0, None, None, 9, 0, 9)], None, "no value at all"),
    ],
)
def test_pages_without_bounds(pages, lower, why):
    kind = pa.float64() if isinstance(pages[0][1], float) else pa.int64()
    assert fold_pages(bounds_of(kind, pages), np.zeros(len(pages), np.int64), 1).lower.to_pylist() == [lower], why


@pytest.mark.parametrize("kind", [pa.int64(), pa.binary()])
def test_many_pages_take_no_loop(kind):
    count = 62_000
    numbers = np.random.default_rng(1).integers(1 << 40, 1 << 41, count)
    values = pa.array(numbers) if kind == pa.int64() else pa.array([b"%d" % number for number in numbers])
    zeros = pa.array(np.zeros(count, np.int64))
    pages = Bounds.of(values, values, zeros, np.full(count, 100), zeros)
    container = np.arange(count) // 100
    start = time.perf_counter()
    found = fold_pages(pages, container, count // 100)
    assert time.perf_counter() - start < 3, "a loop over pages would take longer on any machine"
    expected = np.minimum.reduceat(numbers, np.arange(0, count, 100)).tolist()
    assert [int(low) for low in found.lower.to_pylist()] == expected
