from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, Compare, IsNull, Not, Op, Or, columns_of, conjuncts_of, leaves
from parquet_core.pruning import fold

T, F, N = Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL
A = Compare(("a",), Op.EQ, pa.scalar(1))
B = IsNull(("b",))
C = Compare(("c",), Op.LT, pa.scalar(3))


def kleene(predicate, values):
    """Evaluate for one row; `values` gives the outcome of each leaf."""
    match predicate:
        case And(children):
            return min((kleene(child, values) for child in children), key=[F, N, T].index)
        case Or(children):
            return max((kleene(child, values) for child in children), key=[F, N, T].index)
        case Not(child):
            return {T: F, F: T, N: N}[kleene(child, values)]
        case leaf:
            return values[leaf]


@pytest.mark.parametrize(
    "predicate", [And((A, Or((B, Not(C))))), Not(And((A, Not(Or((B, C)))))), Or((And((A, B)), And((Not(A), C)))), A]
)
def test_the_fold_of_single_outcomes_is_three_valued_logic(predicate):
    parts = list(leaves(predicate))
    rows = list(product((T, F, N), repeat=3))
    answers = [np.array([dict(zip((A, B, C), row, strict=True))[leaf] for row in rows], np.uint8) for leaf in parts]
    expected = [kleene(predicate, dict(zip((A, B, C), row, strict=True))) for row in rows]
    assert fold(predicate, answers).tolist() == expected


def test_ten_thousand_levels_cost_no_stack():
    predicate = A
    for _ in range(10_000):
        predicate = Not(predicate)
    assert fold(predicate, [np.array([T], np.uint8)]).tolist() == [T]
    assert list(leaves(predicate)) == [A]


def test_columns_come_once_and_in_order():
    assert columns_of(And((C, Or((A, C)), B))) == (("c",), ("a",), ("b",))
    assert conjuncts_of(And((A, B))) == (A, B)
    assert conjuncts_of(Or((A, B))) == (Or((A, B)),)
