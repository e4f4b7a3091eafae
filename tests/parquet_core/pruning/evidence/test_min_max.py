"""Outcomes from bounds must include the outcomes of the rows: for every type, operator, null and missing bound."""

from __future__ import annotations

import datetime as dt
import math
import operator
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Compare, In, Interval, IsNaN, IsNull, Op
from parquet_core.trust.bounds import Bounds

PYTHON = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}
FLOATS = st.sampled_from([math.nan, -math.inf, -1.0, -0.0, 0.0, 2.0**-149, 1.0, 1.5, math.inf])
TYPES = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), st.one_of(st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1]))),
    "uint64": (pa.uint64(), st.one_of(st.integers(0, 3), st.just(2**64 - 1))),
    "date": (pa.date32(), st.dates(dt.date(1969, 12, 28), dt.date(1970, 1, 4))),
    "decimal(5,2)": (pa.decimal128(5, 2), st.decimals(-2, 2, places=2)),
    "decimal(38,3)": (pa.decimal128(38, 3), st.sampled_from([Decimal(10) ** 34, Decimal("-0.001"), Decimal(0)])),
    "boolean": (pa.bool_(), st.booleans()),
    "float": (pa.float32(), FLOATS),
    "double": (pa.float64(), FLOATS),
    "string": (pa.binary(), st.sampled_from(["", "a", "ab", "b", "\x7f", "é", "\U0001f680", "zz"]).map(str.encode)),
}


def comparable(value):
    """NaN equals itself and is larger than everything; the zeros are equal."""
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def is_nan(value):
    return isinstance(value, float) and math.isnan(value)


@st.composite
def cases(draw):
    arrow_type, values = TYPES[draw(st.sampled_from(sorted(TYPES)))]
    containers = draw(st.lists(st.lists(st.one_of(st.none(), values), max_size=4), min_size=1, max_size=5))
    extra = draw(st.lists(st.tuples(values, values), min_size=len(containers), max_size=len(containers)))
    hidden = draw(st.lists(st.integers(0, 15), min_size=len(containers), max_size=len(containers)))
    literals = draw(st.lists(values, min_size=1, max_size=4, unique_by=comparable))
    kind = draw(st.sampled_from([*Op, "interval", "in", "null", "nan"]))
    return arrow_type, containers, extra, hidden, literals, kind


def make_leaf(kind, literals, arrow_type):
    if kind == "null":
        return IsNull(("x",)), lambda value: Outcomes.TRUE if value is None else Outcomes.FALSE
    if kind == "nan":
        return IsNaN(("x",)), lambda value: Outcomes.TRUE if is_nan(value) else Outcomes.FALSE
    keys = [comparable(literal) for literal in literals]
    if kind == "in":
        leaf, test = In(("x",), pa.array(literals, arrow_type)), lambda value: comparable(value) in keys
    elif kind == "interval":
        low, high = min(literals, key=comparable), max(literals, key=comparable)
        leaf = Interval(("x",), pa.scalar(low, arrow_type), pa.scalar(high, arrow_type))
        test = lambda value: min(keys) <= comparable(value) <= max(keys)  # noqa: E731
    else:
        leaf = Compare(("x",), kind, pa.scalar(literals[0], arrow_type))
        test = lambda value: PYTHON[kind](comparable(value), keys[0])  # noqa: E731
    return leaf, lambda value: Outcomes.NULL if value is None else Outcomes.TRUE if test(value) else Outcomes.FALSE


def make_bounds(containers, extra, hidden, arrow_type):
    """Bounds of each container, widened by values that need not occur, some sides withheld."""
    low, high, nulls, nans = [], [], [], []
    for rows, wider, mask in zip(containers, extra, hidden, strict=True):
        values = [value for value in rows if value is not None and not is_nan(value)]
        wide = [bound for bound in wider if not is_nan(bound)] or values
        low.append(None if mask & 1 or not values else signed(min([*values, wide[0]] if mask & 2 else values), -0.0))
        high.append(None if mask & 4 or not values else signed(max([*values, wide[-1]] if mask & 2 else values), 0.0))
        nulls.append(None if mask == 5 else rows.count(None))
        nans.append(None if mask & 8 else sum(map(is_nan, rows)))
    return Bounds.of(
        pa.array(low, arrow_type),
        pa.array(high, arrow_type),
        pa.array(nulls, pa.int64()),
        np.array([len(rows) for rows in containers]),
        pa.array(nans, pa.int64()),
    )


def signed(bound, zero):
    """Trusted bounds of floats are wide enough for both zeros."""
    return zero if isinstance(bound, float) and bound == 0 else bound


@settings(max_examples=6 * settings().max_examples)
@given(cases())
def test_no_outcome_of_a_row_is_ruled_out(case):
    arrow_type, containers, extra, hidden, literals, kind = case
    leaf, outcome = make_leaf(kind, literals, arrow_type)
    answers = outcomes_from_bounds(leaf, make_bounds(containers, extra, hidden, arrow_type))
    for rows, answer in zip(containers, answers.tolist(), strict=True):
        actual = 0
        for value in rows:
            actual |= outcome(value)
        assert actual & ~answer == 0


@settings(max_examples=3 * settings().max_examples)
@given(cases())
def test_a_container_of_one_value_is_decided_exactly(case):
    arrow_type, containers, _, _, literals, kind = case
    containers = [rows[:1] for rows in containers]
    leaf, outcome = make_leaf(kind, literals, arrow_type)
    plain = [(None, None)] * len(containers)
    answers = outcomes_from_bounds(leaf, make_bounds(containers, plain, [0] * len(containers), arrow_type))
    expected = [int(outcome(rows[0])) if rows else 0 for rows in containers]
    assert answers.tolist() == expected


@pytest.mark.parametrize(
    ("values", "expected", "why"),
    [
        ([1, 9], Outcomes.FALSE, "the bounds [3, 5] lie between two values of the list: the hull would keep them"),
        ([1, 4], Outcomes.TRUE | Outcomes.FALSE, "4 may occur"),
        ([6, 9], Outcomes.FALSE, "every value is above"),
        ([5, 3, 9, 4, 4], Outcomes.TRUE, "every value from 3 to 5 is in the list"),
        ([3, 5], Outcomes.TRUE | Outcomes.FALSE, "4 is not"),
    ],
)
def test_a_list_is_decided_per_value(values, expected, why):
    bounds = Bounds.of(pa.array([3]), pa.array([5]), pa.array([0]), np.array([10]))
    assert outcomes_from_bounds(In(("x",), pa.array(values)), bounds).tolist() == [expected], why


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.date32(), pa.decimal128(5, 2), pa.decimal128(38, 0)])
@pytest.mark.parametrize("base", [0, 100, 115])
def test_a_list_holds_for_all_where_it_has_no_gap_between_the_bounds(kind, base):
    draw = random.Random(f"{kind} {base}")

    def array(*numbers):
        plain = pa.array(numbers, pa.int32() if pa.types.is_date(kind) else pa.int64())
        if not pa.types.is_decimal(kind):
            return plain.cast(kind)
        return pa.array([Decimal(number).scaleb(-kind.scale) for number in numbers], kind)

    for _ in range(200):
        values = [base + draw.randint(0, 9) for _ in range(draw.randint(1, 9))]
        low = base + draw.randint(0, 9)
        high = low + draw.randint(0, 3)
        bounds = Bounds.of(array(low), array(high), pa.array([0]), np.array([10]))
        between = set(range(low, high + 1))
        expected = Outcomes.TRUE * bool(between & set(values)) | Outcomes.FALSE * bool(between - set(values))
        assert outcomes_from_bounds(In(("x",), array(*values)), bounds).tolist() == [expected], (low, high, values)


@pytest.mark.parametrize("ends", [(-(2**63), 2**63 - 1), (-(2**63), -(2**63) + 2)])
def test_steps_that_wrap_around_are_gaps(ends):
    bounds = Bounds.of(pa.array([ends[0]]), pa.array([ends[1]]), pa.array([0]), np.array([10]))
    found = outcomes_from_bounds(In(("x",), pa.array(ends)), bounds)
    assert found.tolist() == [Outcomes.TRUE | Outcomes.FALSE]


def test_a_list_of_both_flags_leaves_no_flag_out():
    bounds = Bounds.of(pa.array([False]), pa.array([True]), pa.array([0]), np.array([10]))
    assert outcomes_from_bounds(In(("x",), pa.array([False, True])), bounds).tolist() == [Outcomes.TRUE]


NUMBERS = Bounds.of(pa.array([1.0]), pa.array([2.0]), pa.array([0]), np.array([10]))
WITHOUT_NAN = Bounds.of(pa.array([1.0]), pa.array([2.0]), pa.array([0]), np.array([10]), pa.array([0]))
ONLY_NAN = Bounds.of(pa.nulls(1, pa.float64()), pa.nulls(1, pa.float64()), pa.array([2]), np.array([10]), pa.array([8]))
T, F, N = Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL
FIVE, NAN = pa.scalar(5.0), pa.scalar(math.nan)


@pytest.mark.parametrize(
    ("leaf", "unknown", "none", "nothing_else"),
    [
        (Compare(("x",), Op.GT, FIVE), T | F, F, T | N),
        (Compare(("x",), Op.GE, FIVE), T | F, F, T | N),
        (Compare(("x",), Op.LT, FIVE), T | F, T, F | N),
        (Compare(("x",), Op.EQ, FIVE), F, F, F | N),
        (Compare(("x",), Op.NE, FIVE), T, T, T | N),
        (Compare(("x",), Op.EQ, NAN), T | F, F, T | N),
        (Compare(("x",), Op.LT, NAN), T | F, T, F | N),
        (Compare(("x",), Op.GT, NAN), F, F, F | N),
        (Compare(("x",), Op.LE, NAN), T, T, T | N),
        (Interval(("x",), FIVE, pa.scalar(9.0)), F, F, F | N),
        (Interval(("x",), FIVE, NAN), T | F, F, T | N),
        (In(("x",), pa.array([5.0, math.nan])), T | F, F, T | N),
        (In(("x",), pa.array([0.0, 5.0])), F, F, F | N),
        (IsNaN(("x",)), T | F, F, T | F),
        (IsNull(("x",)), F, F, T | F),
    ],
    ids=str,
)
def test_nan_stands_above_the_bounds_unless_there_is_none(leaf, unknown, none, nothing_else):
    """Bounds [1, 2] with an unknown NaN count, with no NaN, and a container of eight NaN and two nulls."""
    asked = [outcomes_from_bounds(leaf, bounds).tolist() for bounds in (NUMBERS, WITHOUT_NAN, ONLY_NAN)]
    assert asked == [[unknown], [none], [nothing_else]]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint32(), pa.int64(), pa.float32(), pa.float64()])
@pytest.mark.parametrize("nan", [None, 0])
def test_beyond_the_ends_of_a_type_lies_nothing_but_nan(kind, nan):
    floating = pa.types.is_floating(kind)
    low, high = (-math.inf, math.inf) if floating else (np.iinfo(kind.to_pandas_dtype()).min, 0)
    high = high if floating else np.iinfo(kind.to_pandas_dtype()).max
    unknown = pa.nulls(1, kind)
    bounds = Bounds.of(unknown, unknown, pa.array([0]), np.array([3]), pa.array([nan], pa.int64()))
    above = Outcomes.FALSE | Outcomes.TRUE if floating and nan is None else Outcomes.FALSE
    below = Outcomes.FALSE | Outcomes.TRUE if floating and nan is None else Outcomes.TRUE
    expected = {(Op.LT, low): Outcomes.FALSE, (Op.GE, low): Outcomes.TRUE, (Op.GT, high): above, (Op.LE, high): below}
    for (op, end), outcome in expected.items():
        assert outcomes_from_bounds(Compare(("x",), op, pa.scalar(end, kind)), bounds)[0] == outcome
