"""Outcomes from dictionaries, compared with every row that they may contain."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import pyarrow as pa
import pytest

from parquet_core.pruning.evidence.dictionary import can_decide, outcomes_of_each_from_dictionaries
from parquet_core.pruning.evidence.many_leaves import outcomes_of_values
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Compare, Constant, In, Interval, IsNaN, IsNull, Op

PATH = ("c",)
TRUE, FALSE, NULL = Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL
SORTED = {
    pa.int32(): list(range(-3, 4)),
    pa.binary(): [b"", b"\x00", b"a", b"ab", "é".encode(), b"\xff", b"\xff\x00"],
    pa.date32(): [dt.date(1990, 1, 1) + dt.timedelta(i) for i in range(7)],
    pa.decimal128(9, 2): [Decimal(i - 3).scaleb(-2) for i in range(7)],
}
HOLDS = {
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.GT: lambda a, b: a > b,
    Op.GE: lambda a, b: a >= b,
}


def leaves_on(kind, values, chance):
    one, low, high = chance.choice(values), *sorted(chance.sample(values, 2))
    some = chance.sample(values, chance.randint(1, 4))
    op = chance.choice(list(Op))
    yield Compare(PATH, op, pa.scalar(one, kind)), lambda value: HOLDS[op](value, one)
    yield Interval(PATH, pa.scalar(low, kind), pa.scalar(high, kind)), lambda value: low <= value <= high
    yield In(PATH, pa.array(some, kind)), lambda value: value in some


@pytest.mark.parametrize("kind", SORTED, ids=str)
def test_the_outcomes_are_those_of_the_entries_and_null(kind):
    """Outcomes are exact, not only sound, because all entries of a dictionary are known."""
    chance = random.Random(str(kind))
    for _ in range(60):
        entries = [chance.sample(SORTED[kind], chance.randint(1, 3)) for _ in range(4)]
        given = [None if chance.random() < 0.2 else pa.array(values, kind) for values in entries]
        for leaf, holds in leaves_on(kind, SORTED[kind], chance):
            expected = [
                Outcomes.UNKNOWN if array is None else NULL | sum({TRUE if holds(v) else FALSE for v in values})
                for array, values in zip(given, entries, strict=True)
            ]
            assert outcomes_of_each_from_dictionaries([leaf], given)[0].tolist() == expected, leaf


def test_nothing_is_said_of_nulls_or_without_entries():
    some, none = pa.array([1], pa.int32()), pa.array([], pa.int32())
    assert outcomes_of_each_from_dictionaries([IsNull(PATH)], [some])[0].tolist() == [Outcomes.UNKNOWN]
    assert outcomes_of_each_from_dictionaries([Constant(NULL)], [some])[0].tolist() == [Outcomes.UNKNOWN]
    assert not can_decide(IsNull(PATH))
    leaf = Compare(PATH, Op.EQ, pa.scalar(7, pa.int32()))
    assert outcomes_of_each_from_dictionaries([leaf], [none, some, None])[0].tolist() == [7, FALSE | NULL, 7]


def test_days_that_a_session_may_read_as_others_leave_all_open():
    old, new = dt.date(1500, 1, 1), dt.date(1600, 1, 1)
    given = [pa.array([old, new]), pa.array([new])]
    other = Compare(PATH, Op.EQ, pa.scalar(dt.date(1500, 1, 11)))
    assert outcomes_of_each_from_dictionaries([other], given)[0].tolist() == [Outcomes.UNKNOWN, FALSE | NULL]


def test_zeros_and_nan_leave_open_what_bits_alone_would_deny():
    """A chunk of -0.0 alone does hold 0.0; a NaN is no value between bounds."""
    zero = Compare(PATH, Op.EQ, pa.scalar(0.0))
    (answer,) = outcomes_of_each_from_dictionaries([zero], [pa.array([-0.0])])[0]
    assert answer & TRUE
    above = Compare(PATH, Op.GT, pa.scalar(5.0))
    (answer,) = outcomes_of_each_from_dictionaries([above], [pa.array([1.0, float("nan")])])[0]
    assert answer & TRUE, "to Spark NaN is greater than any number"


def test_a_null_value_makes_a_leaf_null():
    values = pa.array([1, None, 2], pa.int32())
    assert outcomes_of_values(Compare(PATH, Op.GT, pa.scalar(1, pa.int32())), values).tolist() == [FALSE, NULL, TRUE]
    assert outcomes_of_values(IsNull(PATH), values).tolist() == [FALSE, TRUE, FALSE]


def test_null_is_no_nan():
    nan, number = pa.array([float("nan")]), pa.array([1.0])
    found = outcomes_of_each_from_dictionaries([IsNaN(PATH)], [nan, number, pa.concat_arrays([nan, number])])[0]
    assert found.tolist() == [TRUE | FALSE, FALSE, TRUE | FALSE]
