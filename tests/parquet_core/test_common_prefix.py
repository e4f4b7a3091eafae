from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from parquet_core.pruning.evidence.patterns import MAX_LENGTH, common_prefix

WORDS = st.lists(st.sampled_from([b"a", b"b", b"\xff", b"\0"]), max_size=5).map(b"".join)


def shared(left, right):
    return max((left[:i] for i in range(len(left) + 1) if right.startswith(left[:i])), key=len)


@given(st.lists(st.tuples(WORDS, WORDS), max_size=6), st.integers(0, 3))
def test_it_is_that_of_each_pair(pairs, before):
    left, right = (pa.array([b"aa"] * before + [pair[i] for pair in pairs], pa.binary())[before:] for i in (0, 1))
    assert common_prefix(left, right).to_pylist() == [shared(*pair) for pair in pairs]


def test_a_long_one_is_cut():
    long = pa.array([b"a" * 5_000])
    assert common_prefix(long, long).to_pylist() == [b"a" * MAX_LENGTH]
