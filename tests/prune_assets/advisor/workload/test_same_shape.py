"""Equivalent query shapes are merged, and others are not."""

from __future__ import annotations

import pytest

from prune_assets.advisor.workload.constants import shape_of
from prune_assets.advisor.workload.same_shape import same_shape


@pytest.mark.parametrize(
    ("written", "logged"),
    [
        ("visit_day = DATE '2025-02-01' AND clinic_id = 7", "clinic_id = 7 AND visit_day = DATE '2025-02-01'"),
        ("visit_day BETWEEN DATE '2025-02-01' AND DATE '2025-02-08'", "visit_day <= 'x' AND visit_day >= 'y'"),
        ("b = 1 and (a BETWEEN 1 AND 2 AND c > 3)", "a <= 2 AND a >= 1 AND b = 1 AND c > 3"),
        ("c = 1 OR a BETWEEN 1 AND 2", "((a >= 1 AND a <= 2) OR c = 1)"),
        ("a NOT BETWEEN 1 AND 2 OR b = 1", "((b = 1 OR a < 1) OR a > 2)"),
        ("NOT (a BETWEEN 1 AND 2) AND b = 1", "b = 1 AND (a < 1 OR a > 2)"),
        ("((a = 1))", "1=A"),
        ("1 < a", "a > 1"),
        ("a <> 1", "NOT (a = 1)"),
        ("id in(1, 2)", "id IN (1, 2, 3)"),
        ("id NOT IN (1,2)", "not id IN (1)"),
        ("`a` + 1 = 2", "(a + 1) = 2"),
        ("substr(a,1,2)='x'", "substr(a, 1, 2) = 'x'"),
        ("between(a, 1, 2)", "a >= 1 AND a <= 2"),
    ],
)
def test_shapes_that_mean_the_same_are_one(written, logged):
    assert same_shape(shape_of(written)) == same_shape(shape_of(logged))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a = 1 AND b = 2", "a = 1 OR b = 2"),
        ("a < 1", "a > 1"),
        ("a < 1", "1 < a"),
        ("NOT (a BETWEEN 1 AND 2)", "a BETWEEN 1 AND 2"),
        ("(a = 1 OR b = 2) AND c = 3", "a = 1 OR (b = 2 AND c = 3)"),
        ("(a = 1 OR b = 2) AND c = 3", "a = 1 OR b = 2 AND c = 3"),
        ("c = 3 OR a BETWEEN 1 AND 2", "(c = 3 OR a >= 1) AND a <= 2"),
        ("a = b", "b = c"),
        ("a IN (1, b)", "a IN (1)"),
    ],
)
def test_shapes_that_mean_something_else_are_not(one, other):
    assert same_shape(shape_of(one)) != same_shape(shape_of(other))


@pytest.mark.parametrize("shape", ["day > ? - INTERVAL ? DAY", "a = = ?", "", "(" * 9 + "a = ?"])
def test_what_is_no_sql_is_its_own_form(shape):
    assert same_shape(shape) == shape
