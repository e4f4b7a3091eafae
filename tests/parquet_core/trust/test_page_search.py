"""Binary search among pages answers as a look at every page, for every operator and order."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_core.evidence.min_max import outcomes_from_bounds
from parquet_core.format.page_index import BoundaryOrder, boundary_order
from parquet_core.outcomes import may_match
from parquet_core.predicate import Compare, Op
from parquet_core.trust.bounds import Bounds
from parquet_core.trust.page_search import matching_pages

VALUES = {
    "int": (pa.int32(), st.integers(-4, 4)),
    "uint64": (pa.uint64(), st.sampled_from([0, 1, 2**63, 2**64 - 1])),
    "double": (pa.float64(), st.sampled_from([-1.5, -0.0, 0.0, 0.5, float("inf")])),
    "bool": (pa.bool_(), st.booleans()),
    "string": (pa.binary(), st.sampled_from([b"", b"a", b"ab", b"b", "é".encode(), "\U0001f680".encode(), b"\xff"])),
    "date": (pa.date32(), st.dates(dt.date(2020, 1, 1), dt.date(2020, 1, 5))),
    "timestamp": (pa.timestamp("ms", "UTC"), st.integers(-3, 3)),
    "decimal": (pa.decimal128(38, 2), st.integers(-3, 3).map(lambda number: Decimal(number).scaleb(-2))),
}


@st.composite
def searches(draw):
    """Pages whose minima and maxima both ascend: they may tie and overlap, and null pages stand among them."""
    kind, values = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    count = draw(st.integers(0, 8))
    lows, highs = (sorted(draw(st.lists(values, min_size=count, max_size=count))) for _ in range(2))
    pages = [(min(low, high), max(low, high)) for low, high in zip(lows, highs, strict=True)]
    lows, highs = sorted(low for low, _ in pages), sorted(high for _, high in pages)
    pages = list(zip(lows, highs, strict=True))
    if draw(st.booleans()):
        pages.reverse()
    for _ in range(draw(st.integers(0, 3))):
        pages.insert(draw(st.integers(0, len(pages))), (None, None))
    return kind, pages, draw(values), draw(st.sampled_from(list(Op)))


def bounds_of(kind, pages):
    return Bounds(
        lower=pa.array([low for low, _ in pages], kind),
        upper=pa.array([high for _, high in pages], kind),
        null_count=pa.array([10 if low is None else 0 for low, _ in pages], pa.int64()),
        row_count=np.full(len(pages), 10),
        nan_count=pa.array([0] * len(pages), pa.int64()),
    )


def by_looking_at_every_page(op, bounds, value):
    return np.flatnonzero(may_match(outcomes_from_bounds(Compare(("x",), op, value), bounds))).tolist()


@settings(max_examples=1500, deadline=None)
@given(searches())
def test_the_answer_is_that_of_a_look_at_every_page(search):
    kind, pages, literal, op = search
    bounds, value = bounds_of(kind, pages), pa.scalar(literal, kind)
    order = boundary_order(bounds.lower, bounds.upper)
    assert order is not BoundaryOrder.UNORDERED
    expected = by_looking_at_every_page(op, bounds, value)
    descending = order is BoundaryOrder.DESCENDING
    assert matching_pages(op, bounds.lower, bounds.upper, value, descending=descending).tolist() == expected


@pytest.mark.parametrize("op", list(Op))
@pytest.mark.parametrize("descending", [False, True])
def test_a_chunk_of_one_value_may_be_searched_in_either_direction(op, descending):
    bounds = bounds_of(pa.int64(), [(5, 5), (None, None), (5, 5), (5, 5)])
    for literal in (4, 5, 6):
        value = pa.scalar(literal, pa.int64())
        found = matching_pages(op, bounds.lower, bounds.upper, value, descending=descending)
        assert found.tolist() == by_looking_at_every_page(op, bounds, value)


def test_case_35_a_search_by_an_order_that_lies_would_lose_pages():
    bounds = bounds_of(pa.int64(), [(1, 2), (8, 9), (1, 2), (1, 2)])
    value = pa.scalar(8, pa.int64())
    assert boundary_order(bounds.lower, bounds.upper) is BoundaryOrder.UNORDERED, "so nobody searches"
    assert by_looking_at_every_page(Op.EQ, bounds, value) == [1]
    assert matching_pages(Op.EQ, bounds.lower, bounds.upper, value).tolist() == []


def test_case_35_overlapping_pages_that_ascend():
    bounds = bounds_of(pa.int64(), [(1, 9), (2, 9), (3, 10)])
    assert matching_pages(Op.EQ, bounds.lower, bounds.upper, pa.scalar(9, pa.int64())).tolist() == [0, 1, 2]
    assert matching_pages(Op.EQ, bounds.lower, bounds.upper, pa.scalar(10, pa.int64())).tolist() == [2]
