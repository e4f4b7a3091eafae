"""Places among sorted numbers and bytes, compared with Python's bisect."""

from __future__ import annotations

from bisect import bisect_left
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from parquet_core.pruning.evidence.listed_values import listed_values

WORDS = [
    b"",
    b"\0",
    b"a",
    b"a\0",
    b"ab",
    b"key-0000",
    b"key-00001",
    b"key-00001\0",
    b"key-000011",
    b"\xff" * 9,
    b"\xff",
]


def places(listed, bounds):
    ordered = sorted(listed)
    found = [bisect_left(ordered, bound) for bound in bounds]
    return [2 * i + (ordered[i : i + 1] == [bound]) for i, bound in zip(found, bounds, strict=True)]


def check(listed, bounds, arrow_type):
    found = listed_values(pa.array(listed, arrow_type), arrow_type).places(pa.array(bounds, arrow_type))
    assert found.tolist() == places(listed, bounds)


@pytest.mark.parametrize("common", [b"", b"k", b"customer/", b"customer/0123456789/", b"\0" * 9])
@pytest.mark.parametrize("listed", [1, 3, 400])
def test_bytes_are_placed_by_all_their_bytes(common, listed):
    rng = np.random.default_rng(listed)
    words = [*WORDS, *(b"%05d" % i for i in rng.integers(0, 999, 900)), *(b"key-0000%d" % i for i in range(40))]
    chosen = sorted({common + words[i] for i in rng.integers(0, len(words), listed)})
    bounds = [*words, *(common + word for word in words), common[:-1], common[:4], common + common]
    check(chosen, bounds, pa.binary())
    sliced = pa.array([b"x", *bounds, b"y"], pa.binary())[1:-1]
    assert listed_values(pa.array(chosen, pa.binary()), pa.binary()).places(sliced).tolist() == places(chosen, bounds)


@pytest.mark.parametrize("listed", [3, 2_000])
@pytest.mark.parametrize("count", [10, 1_500])
def test_numbers_are_placed_in_any_order_of_the_bounds(listed, count):
    rng = np.random.default_rng(count)
    values, bounds = np.unique(rng.integers(0, 3_000, listed)).tolist(), rng.integers(-9, 3_009, count).tolist()
    for of_bounds in (bounds, sorted(bounds)):
        check(values, of_bounds, pa.int64())
        check(values, of_bounds, pa.decimal128(38, 0))


def test_decimals_beyond_64_bits_are_compared_exactly():
    largest = Decimal(2**63 - 1)
    wide = [Decimal(10) ** 30, Decimal(10) ** 30 + 1, -(Decimal(10) ** 30), largest, -largest - 1, Decimal(0)]
    for listed in (wide, [Decimal(0), Decimal(7)], [largest], [-largest - 1], [Decimal(10) ** 30]):
        check(sorted(listed), [*wide, largest + 1, largest - 1, -largest - 2, Decimal(7)], pa.decimal128(38, 0))
