"""Filters made here: every value is found, others as rarely as asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_core.bloom import (
    build_filter,
    estimated_fpp,
    estimated_ndv,
    fill,
    may_contain,
    merge,
    optimal_bytes,
    parse_filter,
    serialize,
)
from parquet_core.bloom.blocks import block_numbers, masks
from parquet_core.errors import WrongUse

HASHES = st.lists(st.integers(0, 2**64 - 1), max_size=200).map(lambda numbers: np.array(numbers, np.uint64))
SIZES = st.integers(1, 100).map(lambda blocks: 32 * blocks)


def random_hashes(count, seed=1):
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


@given(HASHES, SIZES)
def test_every_value_is_found(hashes, size):
    blocks = build_filter(hashes, size)
    assert (blocks.shape, blocks.dtype) == ((size // 32, 8), np.uint32)
    assert may_contain([blocks], hashes).all()


@given(HASHES, SIZES)
def test_no_bit_is_set_that_no_value_has(hashes, size):
    expected = np.zeros((size // 32, 8), np.uint32)
    np.bitwise_or.at(expected, block_numbers(hashes, size // 32), masks(hashes))
    assert (build_filter(hashes, size) == expected).all()


@pytest.mark.parametrize("count", [100_003, 1 << 17])
def test_filters_of_several_parts(count):
    edges = [-(-(block << 32) // count) << 32 for block in range(1 << 15, count, 1 << 15)]
    odd = [0, 2**64 - 1, *edges, *(edge - 1 for edge in edges)]
    hashes = np.concatenate([random_hashes(100_000), np.array(odd, np.uint64)])
    size = 32 * count
    expected = np.zeros((size // 32, 8), np.uint32)
    np.bitwise_or.at(expected, block_numbers(hashes, size // 32), masks(hashes))
    assert (build_filter(hashes, size) == expected).all()


@given(st.lists(HASHES, min_size=1, max_size=4), SIZES)
def test_a_merged_filter_is_that_of_all_values(parts, size):
    filters = [build_filter(part, size) for part in parts]
    copies = [blocks.copy() for blocks in filters]
    assert (merge(filters) == build_filter(np.concatenate(parts), size)).all()
    assert all((blocks == copy).all() for blocks, copy in zip(filters, copies, strict=True)), "the parts stay"


def test_what_cannot_be_built_or_merged():
    for size in (0, -32, 31, 33, (128 << 20) + 32):
        with pytest.raises(WrongUse, match="multiple of 32"):
            build_filter(random_hashes(1), size)
    with pytest.raises(WrongUse, match="one size"):
        merge([build_filter(random_hashes(1), 32), build_filter(random_hashes(1), 64)])
    with pytest.raises(WrongUse, match="one size"):
        merge([])


@given(HASHES.filter(len), SIZES)
def test_what_is_written_is_read(hashes, size):
    blocks = build_filter(hashes, size)
    assert (parse_filter(serialize(blocks), place="here") == blocks).all()


@pytest.mark.parametrize("fpp", [0.1, 0.01, 0.001])
def test_false_positives_are_as_rare_as_asked_for(fpp):
    ndv = 100_000
    blocks = build_filter(random_hashes(ndv), optimal_bytes(ndv, fpp))
    absent = random_hashes(400_000, seed=2)
    assert may_contain([blocks], absent).mean() <= 1.5 * fpp


@pytest.mark.parametrize("bits_per_value", [4, 6, 10.5, 16])
def test_a_filter_tells_its_false_positives_and_values(bits_per_value):
    ndv = 100_000
    blocks = build_filter(random_hashes(ndv), int(ndv * bits_per_value / 256) * 32)
    measured = may_contain([blocks], random_hashes(1_000_000, seed=2)).mean()
    assert estimated_fpp(blocks) == pytest.approx(measured, rel=0.15)
    assert estimated_ndv(blocks) == pytest.approx(ndv, rel=0.01)


def test_empty_and_full_filters():
    empty, full = np.zeros((4, 8), np.uint32), np.full((4, 8), 2**32 - 1, np.uint32)
    assert (fill(empty), estimated_fpp(empty), estimated_ndv(empty)) == (0, 0, 0)
    assert (fill(full), estimated_fpp(full), estimated_ndv(full)) == (1, 1, np.inf)
    half = np.concatenate([empty, full])
    assert (fill(half), estimated_fpp(half)) == (0.5, 0.5), "the fill is uneven, and so are the answers"
    assert estimated_ndv(build_filter(random_hashes(1), 32)) == pytest.approx(1)
