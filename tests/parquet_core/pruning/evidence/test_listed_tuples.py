"""Outcomes of a list of tuples: no matching row is ruled out, and a container without a tuple in its bounds is."""

from __future__ import annotations

import math
import operator
from functools import reduce

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_min_max import TYPES, comparable, is_nan, make_bounds

from parquet_core.pruning.evidence import listed_tuples
from parquet_core.pruning.evidence.listed_tuples import outcomes_from_bounds_of_columns
from parquet_core.pruning.evidence.min_max import presence_of
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import And, Compare, InTuples, Op
from parquet_core.pruning.row_selection import outcomes_on_rows, selected_rows
from parquet_core.trust.bounds import Bounds

NAMES = [("a",), ("s", "b"), ("c",)]


def leaf_of(tuples, types):
    values = tuple(pa.array(column, kind) for column, kind in zip(zip(*tuples, strict=True), types, strict=True))
    return InTuples(tuple(NAMES[: len(types)]), values)


def outcome(row, tuples):
    if None in row:
        return Outcomes.NULL
    keys = {tuple(map(comparable, values)) for values in tuples}
    return Outcomes.TRUE if tuple(map(comparable, row)) in keys else Outcomes.FALSE


def may_hold(bounds, tuples, container):
    """Compare each tuple with the bounds of its columns; None: a column without bounds."""
    return any(
        all(of is None or _may_be(of, value, container) for of, value in zip(bounds, values, strict=True))
        for values in tuples
    )


def _may_be(bounds, value, container):
    presence = presence_of(bounds)
    if is_nan(value):
        return bool(presence.nan[container])
    low, high = bounds.lower[container].as_py(), bounds.upper[container].as_py()
    return bool(presence.value[container]) and (low is None or low <= value) and (high is None or value <= high)


@st.composite
def cases(draw, most=4):
    names = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=2, max_size=3))
    types, values = zip(*(TYPES[name] for name in names), strict=True)
    unique = {"unique_by": lambda row: tuple(map(comparable, row))}
    tuples = draw(st.lists(st.tuples(*values), min_size=1, max_size=8, **unique))
    row = st.tuples(*(st.one_of(st.none(), value) for value in values))
    containers = draw(
        st.lists(st.lists(st.one_of(row, st.sampled_from(tuples)), max_size=most), min_size=1, max_size=5)
    )
    size = {"min_size": len(containers), "max_size": len(containers)}
    extra = [draw(st.lists(st.tuples(value, value), **size)) for value in values]
    hidden = [draw(st.lists(st.integers(0, 15), **size)) for _ in values]
    return types, tuples, containers, extra, hidden


def bounds_of(types, containers, extra, hidden):
    return [
        make_bounds([[row[i] for row in rows] for rows in containers], extra[i], hidden[i], kind)
        for i, kind in enumerate(types)
    ]


@settings(max_examples=4 * settings().max_examples)
@given(cases(), st.integers(-1, 2))
def test_a_container_is_ruled_out_only_if_no_tuple_is_within_its_bounds(case, silent):
    types, tuples, containers, extra, hidden = case
    bounds = bounds_of(types, containers, extra, hidden)
    if 0 <= silent < len(types):
        bounds[silent] = None
    known = {name: of for name, of in zip(NAMES, bounds, strict=False) if of is not None}
    answers = outcomes_from_bounds_of_columns(leaf_of(tuples, types), known).tolist()
    for i, (rows, answer) in enumerate(zip(containers, answers, strict=True)):
        actual = reduce(operator.or_, (outcome(row, tuples) for row in rows), 0)
        assert actual & ~answer == 0
        assert bool(answer & Outcomes.TRUE) == (len(rows) > 0 and may_hold(bounds, tuples, i))


@settings(max_examples=3 * settings().max_examples)
@given(cases(most=1))
def test_a_row_alone_is_decided_exactly(case):
    types, tuples, containers, _, _ = case
    rows = [row for of_container in containers for row in of_container]
    values = {NAMES[i]: pa.array([row[i] for row in rows], kind) for i, kind in enumerate(types)}
    answers = outcomes_on_rows(leaf_of(tuples, types), values, len(rows))
    assert answers.tolist() == [outcome(row, tuples) for row in rows]


def random_boxes(rng, count, side, columns):
    """Bounds of `count` containers, each a few ranks wide in one column and wide in the others."""
    bounds = []
    for _ in range(columns):
        low = rng.integers(-5, side + 5, count)
        width = np.where(rng.random(count) < 0.5, rng.integers(0, 3, count), rng.integers(0, side, count))
        rows, none = np.full(count, 9), pa.array(np.zeros(count, np.int64))
        bounds.append(Bounds.of(pa.array(low), pa.array(low + width), none, rows))
    return bounds


@pytest.mark.parametrize("columns", [2, 3, 4])
@pytest.mark.parametrize("scale", [1, 10**12])
def test_long_lists_are_searched_exactly(columns, scale, monkeypatch):
    """With `scale`, the ranks stay small although the values do not; MAX_CELLS splits the work into parts."""
    monkeypatch.setattr(listed_tuples, "MAX_CELLS", 1_000)
    rng = np.random.default_rng(columns)
    points = np.unique(rng.integers(0, 200, (1_500, columns)), axis=0)
    bounds = random_boxes(rng, 800, 200, columns)
    inside = np.ones((800, len(points)), np.bool_)
    for i, of in enumerate(bounds):
        low, high = of.lower.to_numpy()[:, None], of.upper.to_numpy()[:, None]
        inside &= (points[:, i] >= low) & (points[:, i] <= high)
    paths = tuple((f"c{i}",) for i in range(columns))
    leaf = InTuples(paths, tuple(pa.array(points[:, i] * scale) for i in range(columns)))
    ends = [[pa.array(end.to_numpy() * scale) for end in (of.lower, of.upper)] for of in bounds]
    scaled = [Bounds.of(*pair, of.null_count, of.row_count) for pair, of in zip(ends, bounds, strict=True)]
    answers = outcomes_from_bounds_of_columns(leaf, dict(zip(paths, scaled, strict=True)))
    may = (answers & Outcomes.TRUE) != 0
    assert 0 < may.sum() < len(may)
    assert may.tolist() == inside.any(axis=1).tolist()
    # Beyond the limit, containers whose candidates were not all tested are kept.
    monkeypatch.setattr(listed_tuples, "MAX_TESTS", 500)
    bounded = (outcomes_from_bounds_of_columns(leaf, dict(zip(paths, scaled, strict=True))) & Outcomes.TRUE) != 0
    assert not (inside.any(axis=1) & ~bounded).any()


def test_keys_of_many_columns_that_exceed_64_bits_are_searched_by_fewer_columns():
    rng = np.random.default_rng(5)
    columns = [rng.permutation(70_000) for _ in range(4)]
    paths = tuple((f"c{i}",) for i in range(4))
    leaf = InTuples(paths, tuple(map(pa.array, columns)))
    rows = [np.concatenate([of[:50], of[:50] if i else np.roll(of[:50], 1)]) for i, of in enumerate(columns)]
    values = {path: pa.array(of) for path, of in zip(paths, rows, strict=True)}
    assert selected_rows(leaf, values, 100).tolist() == [True] * 50 + [False] * 50


def test_the_leaf_compares_by_value():
    types = [pa.int64(), pa.string()]
    leaf, other = leaf_of([(1, "a"), (2, "b")], types), leaf_of([(1, "a"), (2, "c")], types)
    assert leaf == leaf_of([(1, "a"), (2, "b")], types)
    assert leaf != other
    both = And((leaf, Compare(("a",), Op.GT, pa.scalar(1))))
    values = {("a",): pa.array([1, 2, 2]), ("s", "b"): pa.array([b"a", b"b", None])}
    assert selected_rows(both, values, 3).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("columns", "values"),
    [
        ((("a",),), ([1],)),
        ((("a",), ("a",)), ([1], [1])),
        ((("a",), ("b",)), ([1], [1, 2])),
        ((("a",), ("b",)), ([], [])),
    ],
)
def test_values_that_are_no_tuples_are_refused(columns, values):
    with pytest.raises(ValueError, match=r"columns|tuples"):
        InTuples(columns, tuple(pa.array(of, pa.int64()) for of in values))


def test_nan_between_bounds_of_numbers_is_no_number():
    leaf = leaf_of([(math.nan, 1), (5.0, 2)], [pa.float64(), pa.int64()])
    floats = Bounds.of(pa.array([0.0, 0.0]), pa.array([1.0, 1.0]), pa.array([0, 0]), np.array([9, 9]), pa.array([0, 2]))
    ints = Bounds.of(pa.array([1, 2]), pa.array([1, 2]), pa.array([0, 0]), np.array([9, 9]))
    assert outcomes_from_bounds_of_columns(leaf, {("a",): floats, ("s", "b"): ints}).tolist() == [2, 2]
    swapped = Bounds.of(ints.lower, ints.upper, ints.null_count, ints.row_count).take(np.array([1, 0]))
    assert outcomes_from_bounds_of_columns(leaf, {("a",): floats, ("s", "b"): swapped}).tolist() == [2, 3]
