"""PLAIN-encoded values in a buffer are decoded correctly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_core.format.plain import PlainValues

LISTS = st.lists(st.one_of(st.none(), st.binary(max_size=9), st.binary(min_size=4, max_size=4)), max_size=8)


def scattered(values):
    """Put the values into a buffer in reverse order, with bytes between them that belong to none."""
    data, start = b"\xee", {}
    for i, value in reversed(list(enumerate(values))):
        start[i] = len(data)
        data += (b"" if value is None else value) + b"\xee"
    lengths = [-1 if value is None else len(value) for value in values]
    # Where there is no value, its place means nothing.
    places = [1 << 40 if value is None else start[i] for i, value in enumerate(values)]
    return PlainValues(np.frombuffer(data, np.uint8), np.array(places, np.int64), np.array(lengths, np.int64))


@given(LISTS)
def test_bytes(values):
    assert scattered(values).binary().to_pylist() == PlainValues.of(values).binary().to_pylist() == values


@pytest.mark.parametrize("stored", ["u1", "<i4", "<f4", "<i8", "<f2"])
@given(LISTS)
def test_numbers_and_fixed_widths(stored, values):
    width = np.dtype(stored).itemsize
    zeros = [value if value is not None and len(value) == width else bytes(width) for value in values]
    numbers, valid = scattered(values).numbers(np.dtype(stored))
    raw, also_valid = scattered(values).fixed(width)
    assert numbers.tobytes() == raw.tobytes() == b"".join(zeros)
    assert valid.tolist() == also_valid.tolist() == [value is not None and len(value) == width for value in values]


def test_only_what_is_flagged_stays():
    values = PlainValues.of([b"a", b"b", None])
    assert values.only(np.array([False, True, True])).binary().to_pylist() == [None, b"b", None]
