from __future__ import annotations

from functools import reduce
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import And, Compare, IsNull, IsTruth, Not, Op, Or, columns_of, conjuncts_of, leaves
from parquet_core.pruning.trees import fold

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


SETS = st.integers(0, 7)
TREES = st.recursive(
    st.just(A),
    lambda children: st.one_of(
        st.lists(children, min_size=2, max_size=4).map(lambda found: And(tuple(found))),
        st.lists(children, min_size=2, max_size=4).map(lambda found: Or(tuple(found))),
        children.map(Not),
        st.builds(IsTruth, children, st.sampled_from([T, F, N])),
    ),
    max_leaves=12,
)


def node_by_node(predicate, answers):
    """Fold two answers at a time, each possible outcome of one with each of the other."""
    match predicate:
        case And(children) | Or(children):
            choose = min if isinstance(predicate, And) else max
            folded = [node_by_node(child, answers) for child in children]
            return reduce(lambda left, right: {choose(a, b, key=[F, N, T].index) for a in left for b in right}, folded)
        case Not(child):
            return {{T: F, F: T, N: N}[value] for value in node_by_node(child, answers)}
        case IsTruth(child, truth):
            return {T if value is truth else F for value in node_by_node(child, answers)}
        case _:
            return next(answers)


@settings(deadline=None)
@given(TREES, st.data())
def test_a_fold_equals_the_pairwise_combination_of_single_outcomes(predicate, data):
    count = len(list(leaves(predicate)))
    answers = data.draw(st.lists(st.lists(SETS, min_size=3, max_size=3), min_size=count, max_size=count))
    found = fold(predicate, np.array(answers, np.uint8))
    for container in range(3):
        by_leaf = iter([{value for value in (T, F, N) if row[container] & value} for row in answers])
        assert {value for value in (T, F, N) if found[container] & value} == node_by_node(predicate, by_leaf)
