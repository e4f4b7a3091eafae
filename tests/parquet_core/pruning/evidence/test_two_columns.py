"""Outcomes of comparing two columns by their bounds must include the outcomes of the rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_min_max import PYTHON, TYPES, comparable, make_bounds

from parquet_core.pruning.evidence.two_columns import outcomes_from_two_bounds
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Op
from parquet_core.trust.bounds import Bounds

# Types that compare with each other though they are not the same.
NUMBERS = ["int8", "int64", "uint64", "decimal(5,2)", "float", "double"]
WIDER = {"decimal(38,3)": ["decimal(38,3)", "decimal(5,2)"], **dict.fromkeys(NUMBERS, NUMBERS)}


@st.composite
def cases(draw, most=4):
    name = draw(st.sampled_from(sorted(TYPES)))
    columns = [name, draw(st.sampled_from(WIDER.get(name, [name])))]
    values = [st.one_of(st.none(), TYPES[column][1]) for column in columns]
    containers = draw(st.lists(st.lists(st.tuples(*values), max_size=most), min_size=1, max_size=5))
    sides = []
    for i, column in enumerate(columns):
        arrow_type, value = TYPES[column]
        several = {"min_size": len(containers), "max_size": len(containers)}
        extra = draw(st.lists(st.tuples(value, value), **several))
        hidden = draw(st.lists(st.integers(0, 15), **several))
        sides.append(([[row[i] for row in rows] for rows in containers], extra, hidden, arrow_type))
    return containers, sides, draw(st.sampled_from(list(Op)))


def outcome(op, left, right):
    if left is None or right is None:
        return Outcomes.NULL
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    return Outcomes.TRUE if PYTHON[op](comparable(left), comparable(right)) else Outcomes.FALSE


@pytest.mark.deep
@settings(max_examples=8 * settings().max_examples)
@given(cases())
def test_no_outcome_of_a_row_is_ruled_out(case):
    containers, sides, op = case
    answers = outcomes_from_two_bounds(op, *(make_bounds(*side) for side in sides))
    for rows, answer in zip(containers, answers.tolist(), strict=True):
        actual = 0
        for left, right in rows:
            actual |= outcome(op, left, right)
        assert actual & ~answer == 0


@settings(max_examples=3 * settings().max_examples)
@given(cases(most=1))
def test_a_row_alone_is_decided_exactly(case):
    containers, sides, op = case
    kinds = [kind for _, _, _, kind in sides]
    # A decimal that becomes a double is known up to its rounding.
    assume(not (any(map(pa.types.is_decimal, kinds)) and any(map(pa.types.is_floating, kinds))))
    plain = [(values, [(None, None)] * len(values), [0] * len(values), kind) for values, _, _, kind in sides]
    answers = outcomes_from_two_bounds(op, *(make_bounds(*side) for side in plain))
    # It is unknown which of two columns is null where both have a null, but the outcome is certainly NULL.
    expected = [int(outcome(op, *rows[0])) if rows else 0 for rows in containers]
    assert answers.tolist() == expected


@pytest.mark.parametrize(
    ("op", "left", "right", "expected", "why"),
    [
        (Op.GT, [1, 5], [6, 9], Outcomes.FALSE, "every left value is below every right one"),
        (Op.LT, [1, 5], [6, 9], Outcomes.TRUE, "the same, asked the other way"),
        (Op.LT, [1, 6], [6, 9], Outcomes.TRUE | Outcomes.FALSE, "6 may meet 6"),
        (Op.LE, [1, 6], [6, 9], Outcomes.TRUE, "6 may meet 6"),
        (Op.EQ, [1, 5], [6, 9], Outcomes.FALSE, "no value is in both"),
        (Op.NE, [4, 4], [4, 4], Outcomes.FALSE, "both have one value, the same"),
        (Op.EQ, [4, None], [1, 3], Outcomes.FALSE, "the one bound that is known is enough"),
        (Op.EQ, [None, 4], [1, 3], Outcomes.TRUE | Outcomes.FALSE, "anything may be below 4"),
    ],
)
def test_rulings(op, left, right, expected, why):
    sides = [
        Bounds.of(pa.array([low], pa.int64()), pa.array([high], pa.int64()), pa.array([0]), np.array([10]))
        for low, high in (left, right)
    ]
    assert outcomes_from_two_bounds(op, *sides).tolist() == [expected], why
