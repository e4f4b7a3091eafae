"""Conditions that bounds cannot decide, evaluated on the only value of a container."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from parquet_core.pruning.evidence.dictionary import outcomes_of_each_from_dictionaries
from parquet_core.pruning.evidence.many_leaves import outcomes_of_values
from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import OnValues, Unsupported
from parquet_core.trust.bounds import Bounds

T, F, N, ANY = int(Outcomes.TRUE), int(Outcomes.FALSE), int(Outcomes.NULL), int(Outcomes.UNKNOWN)


class Listed:
    """A test that is TRUE for listed values, FALSE for others, and `null` for null."""

    limits = ""

    def __init__(self, *true, null=N):
        self.true, self.null, self.asked = true, null, []

    def __call__(self, values):
        self.asked += values.to_pylist()
        return np.array([self.of(value) for value in values.to_pylist()], np.uint8)

    def of(self, value):
        if value is None:
            return self.null
        return T if any(str(value) == str(each) for each in self.true) else F


def part(test):
    return OnValues(("x",), Unsupported("f(x)", "no bounds tell"), test)


def bounds(lower, upper, nulls, kind, nans=None):
    return Bounds.of(
        pa.array(lower, kind),
        pa.array(upper, kind),
        pa.array(nulls, pa.int64()),
        np.full(len(lower), 4, np.int64),
        nan_count=None if nans is None else pa.array(nans, pa.int64()),
    )


@pytest.mark.parametrize(
    ("lower", "upper", "nulls", "expected", "why"),
    [
        (7, 7, 0, T, "all rows have the value"),
        (8, 8, 0, F, "the same, and it fails"),
        (7, 7, 1, T | N, "and null where there may be some"),
        (7, 7, None, T | N, "as there may be where nobody counted"),
        (7, 8, 0, ANY, "two values, and what lies between them"),
        (None, 7, 0, ANY, "an unknown bound is no value"),
        (None, None, 4, N, "nothing but null"),
        (None, None, None, ANY, "nothing is known"),
    ],
)
def test_equal_bounds_are_the_only_value(lower, upper, nulls, expected, why):
    answers = outcomes_from_bounds(part(Listed(7)), bounds([lower], [upper], [nulls], pa.int32()))
    assert answers.tolist() == [expected], why


def test_nothing_is_asked_where_no_value_is_known():
    test = Listed(7)
    outcomes_from_bounds(part(test), bounds([1, 2], [3, 4], [1, 0], pa.int32()))
    assert test.asked == []


def test_both_zeros_of_floats_are_asked_about_and_nan_beside_them():
    test = Listed("-0.0", "nan")
    found = outcomes_from_bounds(
        part(test), bounds([-0.0, 1.0, 1.0, None], [0.0, 1.0, 1.0, None], [0] * 4, pa.float64(), nans=[0, 0, 2, 4])
    )
    assert found.tolist() == [T | F, F, T | F, T]
    single = outcomes_of_values(part(Listed("nan")), pa.array([math.nan, 2.0, None]))
    assert single.tolist() == [T, F, N]


def test_a_dictionary_proves_absence_and_knows_nothing_of_null():
    held = [pa.array([b"a", b"b"]), pa.array([b"c"]), None, pa.array([b"a"])]
    asked = [part(Listed("b'a'", null=T)), part(Listed("b'a'"))]
    never_null = np.array([False, False, False, True])
    found = outcomes_of_each_from_dictionaries(asked, held, may_be_null=never_null)
    assert found.tolist() == [[T | F, F, ANY, T], [T | F, F, ANY, T | N]]
    assert outcomes_of_each_from_dictionaries(asked, held).tolist() == [
        [T | F, T | F, ANY, T],
        [ANY, F | N, ANY, T | N],
    ]
