"""Values of a PLAIN-encoded page: all values are decoded, or none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_core.format.plain import fixed_width, length_prefixed


def page(values):
    return np.frombuffer(b"".join(len(value).to_bytes(4, "little") + value for value in values), np.uint8)


@given(st.lists(st.binary(max_size=30)))
def test_values_come_back(values):
    found = length_prefixed(page(values), len(values))
    assert found.binary().to_pylist() == values


@given(st.integers(0, 20).flatmap(lambda width: st.lists(st.binary(min_size=width, max_size=width), min_size=1)))
def test_values_of_one_length_come_back(values):
    assert length_prefixed(page(values), len(values)).binary().to_pylist() == values


@given(st.lists(st.binary(max_size=30)), st.integers(-3, 3).filter(bool))
def test_another_number_of_values_is_refused(values, more):
    assert length_prefixed(page(values), len(values) + more) is None


@given(st.binary(max_size=60), st.integers(0, 20))
def test_values_of_any_bytes_lie_inside(data, count):
    found = length_prefixed(np.frombuffer(data, np.uint8), count)
    if found is not None:
        assert len(found) == count
        assert b"".join(len(v).to_bytes(4, "little") + v for v in found.binary().to_pylist()) == data


@pytest.mark.parametrize(("size", "count", "width"), [(12, 4, 4), (12, 3, 0), (0, 10**9, 0), (12, -3, -4), (13, 3, 4)])
def test_values_of_fixed_width_that_do_not_add_up(size, count, width):
    assert fixed_width(np.zeros(size, np.uint8), count, width) is None


def test_values_of_fixed_width():
    values = np.arange(5, dtype="<i4")
    found, valid = fixed_width(values.view(np.uint8), 5, 4).fixed(4)
    assert found.view("<i4")[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert valid.all()
