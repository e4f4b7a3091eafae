from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from parquet_core.pruning.outcomes import Outcomes, all_of, any_of, intersect, may_match, must_match, negate, unknown

KLEENE = {Outcomes.FALSE: 0, Outcomes.NULL: 1, Outcomes.TRUE: 2}
BY_RANK = {rank: value for value, rank in KLEENE.items()}


def members(bits):
    return {value for value in KLEENE if bits & value}


def as_array(*bits):
    return np.array(bits, np.uint8)


@pytest.mark.parametrize(("fold", "choose"), [(all_of, min), (any_of, max)])
def test_every_pair_of_sets_is_the_set_of_all_pairs(fold, choose):
    for left, right in product(range(8), repeat=2):
        expected = {BY_RANK[choose(KLEENE[a], KLEENE[b])] for a, b in product(members(left), members(right))}
        assert members(int(fold([as_array(left), as_array(right)])[0])) == expected


def test_not_swaps_true_and_false_and_keeps_null():
    for bits in range(8):
        assert members(int(negate(as_array(bits))[0])) == {BY_RANK[2 - KLEENE[value]] for value in members(bits)}


def test_unknown_rules_nothing_out():
    assert may_match(unknown(3)).all()
    assert not must_match(unknown(3)).any()


def test_every_row_matches_only_when_nothing_but_true_is_left():
    assert must_match(as_array(*range(8))).tolist() == [False, True, *[False] * 6]


def test_answers_that_contradict_each_other_are_both_dropped():
    assert intersect(as_array(1, 3, 7), as_array(6, 1, 4)).tolist() == [7, 1, 4]
