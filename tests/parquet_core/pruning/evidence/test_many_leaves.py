"""Evaluating many leaves together gives the same outcomes as evaluating each alone."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from test_min_max import cases, make_bounds, make_leaf

from parquet_core.pruning.evidence import many_leaves
from parquet_core.pruning.evidence.many_leaves import FEW, outcomes_of_each
from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.predicate import Compare, Op


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(many_leaves, "MAX_CELLS", 8)


@settings(max_examples=4 * settings().max_examples)
@given(cases())
def test_each_of_many_leaves_is_answered_as_if_alone(case):
    arrow_type, containers, extra, hidden, literals, kind = case
    bounds = make_bounds(containers, extra, hidden, arrow_type)
    comparisons = [
        Compare(("x",), op, pa.scalar(value, arrow_type)) for value in literals for op in (*Op, Op.EQ, Op.LT)
    ]
    asked = [*comparisons[:3], make_leaf(kind, literals, arrow_type)[0], *comparisons[3:]]
    assert len(comparisons) >= FEW
    found = outcomes_of_each(asked, bounds)
    assert found.tolist() == [outcomes_from_bounds(leaf, bounds).tolist() for leaf in asked]


def test_no_leaf_has_no_answer():
    bounds = make_bounds([[1, None]], [(0, 0)], [0], pa.int64())
    assert outcomes_of_each([], bounds).shape == (0, 1)
