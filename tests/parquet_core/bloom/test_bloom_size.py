"""Sizes are those of parquet-java."""

from __future__ import annotations

import numpy as np
import pytest

from parquet_core.bloom import optimal_bytes, serialize
from parquet_core.errors import WrongUse


@pytest.mark.parametrize(
    ("ndv", "fpp", "length"),
    [(1, 0.01, 47), (100, 0.01, 272), (1000, 0.01, 2064), (1000, 0.1, 1040), (3000, 0.01, 4112), (26000, 0.01, 32785)],
)
def test_lengths_seen_in_files_of_spark(ndv, fpp, length):
    assert len(serialize(np.zeros((optimal_bytes(ndv, fpp) // 32, 8), np.uint32))) == length


def test_the_cap():
    assert optimal_bytes(10**9, 0.01) == 1 << 20
    assert optimal_bytes(10**9, 0.01, max_bytes=1000) == 1000, "taken as it stands"
    assert optimal_bytes(10**9, 0.01, max_bytes=1 << 30) == 128 << 20
    assert optimal_bytes(10**9, 0.01, max_bytes=32) == 128 << 20, "taken for none"


def test_what_cannot_be():
    for ndv, fpp in ((-1, 0.1), (1, 0.0), (1, 1.0), (1, float("nan"))):
        with pytest.raises(WrongUse, match="0 < fpp < 1"):
            optimal_bytes(ndv, fpp)


@pytest.mark.spark
def test_sizes_of_parquet_java(spark):
    theirs = spark._jvm.org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter
    # Around the powers of two too, where the odd rounding shows.
    counts = [0, 1, 2, 26, 27, 53, 54, 100, 425, 426, 850, 853, 856, 1000, 10**5, 10**7, 10**9, 2**31, 10**12]
    different = [
        (ndv, fpp, most)
        for ndv in counts
        for fpp in (0.5, 0.1, 0.01, 1e-4, 1e-10, 1 - 1e-16, 1e-200)
        # The largest would fill Java's heap.
        for most in (1000, 1 << 20, *([32] if ndv <= 100 and 1e-10 <= fpp < 0.9 else ()))
        if theirs(theirs.optimalNumOfBits(ndv, fpp) // 8, most).getBitsetSize() != optimal_bytes(ndv, fpp, most)
    ]
    assert different == []
