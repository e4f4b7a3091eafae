from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_core.pruning.evidence.many_leaves import outcomes_of_values
from parquet_core.pruning.evidence.satisfiable import may_be_true
from parquet_core.pruning.outcomes import Outcomes, may_match
from parquet_core.pruning.predicate import (
    And,
    Compare,
    Constant,
    In,
    Interval,
    IsNaN,
    IsNull,
    IsTruth,
    Not,
    Op,
    Or,
    StartsWith,
    Unsupported,
    leaves,
)
from parquet_core.pruning.trees import fold

X = ("x",)
NAN = float("nan")
# Every value that a column of the type may hold in these tests, and the literals among them.
WORLDS = {
    "int8": pa.array([*range(-128, 128), None], pa.int8()),
    "bool": pa.array([True, False, None]),
    "decimal": pa.array([None, *(Decimal(i).scaleb(-1) for i in range(-9, 10))], pa.decimal128(1, 1)),
    "float": pa.array([-np.inf, -1.5, -0.0, 0.0, 0.5, 1.0, 1e300, np.inf, NAN, None], pa.float64()),
    "text": pa.array([b"", b"\x00", b"a", b"a\x00", b"aa", b"b", b"\xff", b"\xff\xff", None], pa.binary()),
    "date": pa.array([None, *(dt.date(1970, 1, 1) + dt.timedelta(days=i) for i in range(-3, 4))], pa.date32()),
}


@st.composite
def predicates(draw, world, depth=3):
    literals = world.drop_null()
    value = st.integers(0, len(literals) - 1).map(lambda i: literals[i])
    if depth and draw(st.booleans()):
        kind = draw(st.sampled_from([And, Or, Not, IsTruth]))
        if kind is Not:
            return Not(draw(predicates(world, depth - 1)))
        if kind is IsTruth:
            truth = draw(st.sampled_from([Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL]))
            return IsTruth(draw(predicates(world, depth - 1)), truth)
        return kind(tuple(draw(st.lists(predicates(world, depth - 1), min_size=2, max_size=3))))
    match draw(st.integers(0, 4)):
        case 0:
            return IsNull(X)
        case 1 if pa.types.is_floating(world.type):
            return IsNaN(X)
        case 2 if not pa.types.is_boolean(world.type):
            return Interval(X, draw(value), draw(value))
        case 3:
            chosen = sorted(draw(st.sets(st.integers(0, len(literals) - 1), min_size=1, max_size=3)))
            return In(X, literals.take(pa.array(chosen)))
    return Compare(X, draw(st.sampled_from(list(Op))), draw(value))


@pytest.mark.parametrize("name", WORLDS)
@settings(max_examples=3 * settings().max_examples // 2)
@given(data=st.data())
def test_what_some_value_satisfies_may_be_true(name, data):
    world = WORLDS[name]
    predicate = data.draw(predicates(world))
    answers = fold(predicate, [outcomes_of_values(leaf, world) for leaf in leaves(predicate)])
    satisfied = bool(may_match(answers).any())
    assert may_be_true(predicate) or not satisfied
    if name in {"int8", "bool"}:
        # The whole type is there: nothing else could satisfy it.
        assert may_be_true(predicate) == satisfied


def is_(op, value, column=X):
    return Compare(column, op, pa.scalar(value))


@pytest.mark.parametrize(
    ("predicate", "answer"),
    [
        (And((is_(Op.GT, 5), is_(Op.LT, 3))), False),
        (And((is_(Op.GT, 5), is_(Op.LT, 6))), False),
        (And((is_(Op.GT, 5.0), is_(Op.LT, 6.0))), True),
        (And((is_(Op.GT, "a"), is_(Op.LT, "a\0"))), False),
        (And((is_(Op.GT, "a"), is_(Op.LT, "b"))), True),
        (And((is_(Op.GE, 5), IsNull(X))), False),
        (And((IsNull(X), Not(IsNull(X)))), False),
        (And((is_(Op.GT, 1.0), IsNaN(X))), True),
        (And((is_(Op.LT, 1.0), IsNaN(X))), False),
        (And((is_(Op.GT, 5), is_(Op.LT, 3, ("y",)))), True),
        (And((is_(Op.GT, 5), Unsupported("f(x)", "why"), is_(Op.LT, 5))), False),
        (Or((is_(Op.GT, 5), is_(Op.LT, 3))), True),
        # A value between the literals' neighbours: a pattern tells values apart that they do not.
        (And((is_(Op.GT, "a"), StartsWith(X, pa.scalar("b")))), True),
        (StartsWith(X, pa.scalar("b")), True),
        (And((is_(Op.GT, "b"), is_(Op.LT, "a"), StartsWith(X, pa.scalar("b")))), False),
        (Unsupported("f(x)", "why"), True),
        (Constant(Outcomes.FALSE), True),
    ],
)
def test_parts_on_one_column_are_tried_together(predicate, answer):
    assert may_be_true(predicate) is answer


def test_columns_that_compare_otherwise_are_not_tried():
    both = And((is_(Op.EQ, "a"), is_(Op.EQ, "A")))
    assert may_be_true(both, columns={("y",)})
    assert not may_be_true(both, columns={X})


@pytest.mark.parametrize(
    ("most", "other"), [(pa.scalar(Decimal("99.99")), Decimal("50.00")), (pa.scalar(255, pa.uint8()), 5)]
)
def test_what_does_not_fit_a_type_may_stand_in_a_file(most, other):
    assert may_be_true(And((Compare(X, Op.GT, most), Compare(X, Op.NE, pa.scalar(other, most.type)))))


def test_half_floats_are_not_tried():
    assert may_be_true(Compare(X, Op.LT, pa.array([1], pa.float16())[0]))


def test_long_lists_are_not_tried():
    many = In(X, pa.array(range(2000)))
    assert may_be_true(And((many, is_(Op.GT, 5000))))


def test_times_are_tried_as_what_they_are():
    kind = pa.timestamp("us", "UTC")
    low, high = (pa.scalar(dt.datetime(2024, 1, day, tzinfo=dt.UTC), kind) for day in (1, 2))
    assert may_be_true(And((Compare(X, Op.GT, low), Compare(X, Op.LT, high))))
    assert not may_be_true(And((Compare(X, Op.GT, high), Compare(X, Op.LT, low))))
