"""Filters with any fill: every value is found, and false positives are as rare as the fill predicts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_filters import build_filter, serialize

from parquet_core.bloom import estimated_fpp, estimated_ndv, fill, may_contain, parse_filter
from parquet_core.bloom.blocks import folded

HASHES = st.lists(st.integers(0, 2**64 - 1), max_size=200).map(lambda numbers: np.array(numbers, np.uint64))
SIZES = st.integers(1, 100).map(lambda blocks: 32 * blocks)


def random_hashes(count, seed=1):
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


@given(HASHES, SIZES)
def test_every_value_is_found(hashes, size):
    assert may_contain([build_filter(hashes, size)], hashes).all()


@given(HASHES.filter(len), SIZES)
def test_what_is_written_is_read(hashes, size):
    blocks = build_filter(hashes, size)
    assert (parse_filter(serialize(blocks), place="here") == blocks).all()


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


@given(HASHES, st.integers(1, 64), st.integers(0, 6), st.sampled_from([0.0001, 0.001, 0.05, 1.0]))
def test_a_folded_filter_loses_no_value_and_finds_as_few_others_as_it_says(hashes, odd, halvings, most_fpp):
    whole = build_filter(hashes, 32 * odd << halvings)
    half = folded(whole, most_fpp)
    assert may_contain([half], hashes).all()
    assert len(whole) % len(half) == 0
    assert estimated_fpp(half) <= max(most_fpp, estimated_fpp(whole))
    # If it has few blocks, it equals the filter built from the same values.
    assert (half == build_filter(hashes, half.nbytes)).all()


def test_a_filter_of_the_size_that_spark_writes_by_default_is_folded_to_what_its_values_need():
    ndv = 6000
    whole = build_filter(random_hashes(ndv), 1 << 20)
    half = folded(whole, 0.001)
    assert (whole.nbytes, half.nbytes) == (1 << 20, 16 << 10)
    assert may_contain([half], random_hashes(ndv)).all()
    assert may_contain([half], random_hashes(1_000_000, seed=2)).mean() <= 0.001
    full = build_filter(random_hashes(ndv), 8 << 10)
    assert folded(full, 0.001) is full
