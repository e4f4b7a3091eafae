"""Arrays built without pyarrow's conversion of Python values equal those built with it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_core.arrow_arrays import array_of, array_of_scalars, flags_from, ordered_numbers, scalar_of

KINDS = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "double": (pa.float64(), st.floats(allow_nan=False)),
    "bool": (pa.bool_(), st.booleans()),
    "string": (pa.string(), st.text(st.characters(codec="utf-8"), max_size=4)),
    "binary": (pa.binary(), st.binary(max_size=4)),
    "decimal": (pa.decimal128(20, 4), st.decimals(-(10**15), 10**15, places=4)),
    "days": (pa.date32(), st.integers(-3_000_000, 3_000_000)),
    "date": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us"), st.datetimes(dt.datetime(1800, 1, 1), dt.datetime(2200, 1, 1))),  # noqa: DTZ001
}


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_an_array_of_values_is_that_of_pyarrow(name, data):
    kind, values = KINDS[name]
    given_values = data.draw(st.lists(st.one_of(st.none(), values), max_size=5))
    found = array_of(given_values, kind)
    found.validate(full=True)
    assert found.equals(pa.array(given_values, kind))
    if given_values:
        assert scalar_of(given_values[0], kind).equals(pa.scalar(given_values[0], kind))
        assert array_of_scalars([pa.scalar(value, kind) for value in given_values]).equals(found)


@pytest.mark.parametrize("value", [Decimal("1.23456"), Decimal(10) ** 17])
def test_a_decimal_that_does_not_fit_is_refused(value):
    with pytest.raises(pa.ArrowInvalid, match="does not fit"):
        array_of([value], pa.decimal128(20, 4))


@given(st.lists(st.one_of(st.none(), st.booleans()), max_size=40), st.integers(0, 40))
def test_flags_of_a_slice_are_those_of_its_values(values, start):
    array = pa.array(values, pa.bool_())[start:]
    assert flags_from(array).tolist() == [value is True for value in values[start:]]


def test_numbers_are_in_the_order_of_the_values():
    days = pa.array([dt.date(1969, 12, 31), dt.date(1970, 1, 2)])
    assert ordered_numbers(days).tolist() == [-1, 1]
    assert ordered_numbers(pa.array([Decimal(1)])) is None
    assert ordered_numbers(pa.array(["a"])) is None
