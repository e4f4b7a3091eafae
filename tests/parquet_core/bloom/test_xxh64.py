"""The hash of whole columns is the one of the reference library, value by value."""

from __future__ import annotations

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from parquet_core.bloom.xxh64 import xxh64


def by_library(rows):
    return [xxhash.xxh64_intdigest(row.tobytes()) for row in rows]


@given(st.integers(0, 100).flatmap(lambda width: st.lists(st.binary(min_size=width, max_size=width), max_size=20)))
def test_rows_of_any_width(values):
    width = len(values[0]) if values else 4
    rows = np.frombuffer(b"".join(values), np.uint8).reshape(len(values), width)
    assert xxh64(rows).tolist() == by_library(rows)


@pytest.mark.parametrize("dtype", ["<i4", "<i8", "<f4", "<f8"])
def test_extreme_numbers(dtype):
    kind = np.dtype(dtype)
    limits = np.iinfo(kind) if kind.kind == "i" else np.finfo(kind)
    odd = [0, 1, -1, limits.min, limits.max]
    values = np.array(odd + ([-0.0, np.nan, np.inf] if kind.kind == "f" else []), kind)
    rows = values.view(np.uint8).reshape(-1, kind.itemsize)
    assert xxh64(rows).tolist() == by_library(rows)


def test_more_rows_than_one_block_of_work():
    rows = np.random.default_rng(1).integers(0, 256, (40_000, 12), np.uint8)
    assert xxh64(rows).tolist() == by_library(rows)


def test_columns_of_a_wider_array():
    rows = np.random.default_rng(1).integers(0, 256, (50, 40), np.uint8)[:, 3:19]
    assert xxh64(rows).tolist() == by_library(rows)
