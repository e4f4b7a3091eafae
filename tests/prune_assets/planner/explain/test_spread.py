"""Shares of a column's values, as bounds and predicates tell them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from parquet_core.pruning.predicate import And, Compare, In, Interval, Not, Op, Or
from parquet_core.trust.bounds import Bounds
from prune_assets.planner.explain.spread import spread_of

C = ("c",)
NEW_YEAR = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


def bounds(low, high, kind):
    lower, upper = pa.array(low, kind), pa.array(high, kind)
    return Bounds.of(lower, upper, pa.array([0] * len(low), pa.int64()), np.full(len(low), 10))


def number(value, kind=None):
    return pa.scalar(value, kind or pa.int32())


TENTHS = bounds([0, 50, None], [49, 99, None], pa.int32())


@pytest.mark.parametrize(
    ("predicate", "asked"),
    [
        (Compare(C, Op.EQ, number(7)), 0.01),
        (Compare(C, Op.LT, number(24)), 0.24),
        (Compare(C, Op.GT, number(1_000)), 0),
        (Interval(C, number(-5), number(9)), 0.1),
        (In(C, pa.array([1, 2, 300], pa.int32())), 0.02),
        (Or((Compare(C, Op.EQ, number(1)), Compare(C, Op.GE, number(90)))), 0.11),
        (And((Compare(C, Op.GE, number(10)), Compare(C, Op.LE, number(29)))), 0.2),
        (Not(Compare(C, Op.EQ, number(7))), 0.99),
        (Or((Compare(C, Op.EQ, number(1)), Compare(C, Op.NE, number(90)))), 0.99),
    ],
)
def test_what_is_asked_for(predicate, asked):
    spread = spread_of(TENTHS, (predicate,))
    assert spread.of_row_group == pytest.approx(0.5), "each known row group holds half of the range"
    assert spread.requested == pytest.approx(asked)


def test_several_predicates_ask_for_what_they_share():
    both = (Compare(C, Op.GE, number(20)), Compare(C, Op.LT, number(39)), Not(Compare(C, Op.EQ, number(30))))
    assert spread_of(TENTHS, both).requested == pytest.approx(0.18)


@pytest.mark.parametrize(
    ("kind", "low", "high", "value"),
    [
        (pa.date32(), dt.date(2020, 1, 1), dt.date(2020, 4, 9), dt.date(2020, 1, 1)),
        (pa.float64(), 0.0, 100.0, 1.0),
        (pa.decimal128(10, 2), Decimal(0), Decimal(100), Decimal(1)),
        (pa.timestamp("us"), NEW_YEAR, NEW_YEAR + dt.timedelta(1), NEW_YEAR + dt.timedelta(minutes=14)),
    ],
)
def test_kinds_of_numbers(kind, low, high, value):
    one = bounds([low], [high], kind)
    spread = spread_of(one, (Compare(C, Op.LE, pa.scalar(value, kind)),))
    assert spread[:2] == pytest.approx((1, 0.01), rel=0.05)


@pytest.mark.parametrize(
    "one", [bounds([b"a"], [b"b"], pa.binary()), bounds([None], [None], pa.int32()), bounds([1.0], [1.0], pa.float64())]
)
def test_what_is_not_known(one):
    assert spread_of(one, ()) is None


@pytest.mark.parametrize(
    ("predicate", "has_end"),
    [
        (Compare(C, Op.EQ, number(7)), False),
        (Interval(C, number(5), number(9)), False),
        (Compare(C, Op.LT, number(9)), True),
        (Compare(C, Op.GT, number(90)), True),
        (Compare(C, Op.LE, number(0)), True),
    ],
)
def test_a_range_that_is_open_has_an_end_of_the_column(predicate, has_end):
    assert spread_of(TENTHS, (predicate,)).has_end is has_end
