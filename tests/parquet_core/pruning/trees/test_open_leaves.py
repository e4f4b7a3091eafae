from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_core.pruning.outcomes import Outcomes, may_match
from parquet_core.pruning.predicate import And, IsTruth, Not, Or, Unsupported, leaves
from parquet_core.pruning.trees import fold, open_outcomes, outcomes_to_refute
from prune_assets.planner.explain.attribution import replaced

A, B, C = (Unsupported(name, "") for name in "abc")
TRUTHS = st.sampled_from([Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL])


def connectives(inner):
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(several.map(And), several.map(Or), inner.map(Not), st.builds(IsTruth, inner, TRUTHS))


@st.composite
def answered(draw):
    predicate = draw(st.recursive(st.sampled_from([A, B, C]), connectives, max_leaves=6))
    count = sum(1 for _ in leaves(predicate))
    bits = st.lists(st.integers(1, 7), min_size=4, max_size=4)
    return predicate, [np.array(draw(bits), np.uint8) for _ in range(count)]


@given(answered())
def test_without_what_is_open_nothing_can_match(drawn):
    predicate, answers = drawn
    opened = open_outcomes(predicate, answers)
    alive = may_match(fold(predicate, answers))
    without = [answer & ~part for answer, part in zip(answers, opened, strict=True)]
    assert not may_match(fold(predicate, without)).any()
    assert all(np.all(part & ~answer == 0) for answer, part in zip(answers, opened, strict=True))
    assert np.array_equal(np.any([part != 0 for part in opened], axis=0), alive), (
        "some leaf answers for all that is kept"
    )


BITS = {"t": 1, "f": 2, "tf": 3, "tfn": 7}
CASES = [
    (And((A, B)), "tf t", [1, 1], "each operand of AND may be TRUE"),
    (And((A, B)), "tf f", [0, 0], "it is skipped: nothing is in the way"),
    (Or((A, B)), "tf f", [1, 0], "an arm that is denied is not in the way"),
    (Not(A), "tf", [2], "below NOT it is FALSE that counts"),
    (Not(And((A, B))), "tf t", [2, 0], "one FALSE is enough, and the second has none"),
    (IsTruth(A, Outcomes.NULL), "tfn", [4], "IS UNKNOWN asks for NULL"),
    (Not(IsTruth(A, Outcomes.TRUE)), "tfn", [6], "not TRUE is FALSE or NULL"),
]


@pytest.mark.parametrize(("predicate", "answers", "expected", "why"), CASES, ids=[why for *_, why in CASES])
def test_which_leaves_are_in_the_way(predicate, answers, expected, why):
    given_ = [np.array([BITS[word]], np.uint8) for word in answers.split()]
    assert [int(part[0]) for part in open_outcomes(predicate, given_)] == expected, why


def test_what_counts_of_a_leaf_follows_from_the_tree_alone():
    tree = And((A, Not(Or((B, C)))))
    assert outcomes_to_refute(tree) == [Outcomes.TRUE, Outcomes.FALSE, Outcomes.FALSE]


def test_depth_costs_no_stack():
    deep = A
    for _ in range(5_000):
        deep = Not(And((deep, B)))
    count = sum(1 for _ in leaves(deep))
    opened = open_outcomes(deep, [np.array([7], np.uint8)] * count)
    assert all(part[0] for part in opened)
    swapped = replaced(deep, {A: C})
    assert next(iter(leaves(swapped))) == C
    assert sum(leaf == B for leaf in leaves(swapped)) == 5_000
