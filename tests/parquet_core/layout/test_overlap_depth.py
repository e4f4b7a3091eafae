"""Overlap depth, compared with a count at every point."""

import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_core.layout.overlap import intervals_of, overlap_depth
from parquet_core.trust.bounds import Bounds

ROWS, POINTS = 10, range(9)


def bounds_of(containers):
    """Bounds of containers of ten rows, each a pair of values, None for unknown or "nulls"."""
    known = [None if one in {None, "nulls"} else one for one in containers]
    lower, upper = (pa.array([None if one is None else one[i] for one in known], pa.int64()) for i in range(2))
    nulls = pa.array([ROWS if one == "nulls" else None if one is None else 0 for one in containers], pa.int64())
    return Bounds.of(lower, upper, nulls, np.full(len(containers), ROWS))


def depth(containers, partition=None):
    return overlap_depth(intervals_of(bounds_of(containers), partition))


def covers(container, point):
    """Return whether a reader that looks for a value opens a container; always without bounds."""
    return container is None or container[0] <= point <= container[1]


def brute_force(containers, partition):
    valued = [(one, of) for one, of in zip(containers, partition, strict=True) if one != "nulls"]
    if all(one is None for one, _ in valued):
        return None
    return sum(
        max(sum(of == its and covers(other, point) for other, its in valued) for point in POINTS if covers(one, point))
        for one, of in valued
    ) / len(valued)


PAIRS = st.tuples(st.sampled_from(POINTS), st.sampled_from(POINTS)).map(lambda pair: tuple(sorted(pair)))
POINT = st.sampled_from(POINTS).map(lambda point: (point, point))
CONTAINERS = st.one_of(PAIRS, POINT, st.none(), st.just("nulls"))


@given(st.lists(st.tuples(CONTAINERS, st.integers(0, 2)), min_size=1, max_size=40))
def test_depth_is_that_of_a_count_at_every_point(drawn):
    containers, partition = zip(*drawn, strict=True)
    expected = brute_force(containers, partition)
    found = depth(containers, np.array(partition))
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        pytest.param([(0, 8)] * 10, 10, id="ten that all overlap"),
        pytest.param([(i, i + 10) for i in range(10)], 10, id="ten that all hold one value"),
        pytest.param([(0, 4), (3, 8)], 2, id="two a day"),
        pytest.param([(0, 1), (2, 3), (4, 4)], 1, id="none"),
        pytest.param([(0, 3), (3, 6), (7, 9)], 5 / 3, id="a shared end value"),
        pytest.param([(0, 9), (0, 3), (4, 9), (4, 4)], (3 + 2 + 3 + 3) / 4, id="most covered inside"),
        pytest.param([(0, 1), (2, 3), None], (2 + 2 + 2) / 3, id="unknown bounds cover all"),
        pytest.param([(0, 1), "nulls", "nulls"], 1, id="nulls are not looked for"),
        pytest.param([None, None], None, id="nothing known"),
        pytest.param([], None, id="nothing"),
    ],
)
def test_depth_of(containers, expected):
    assert depth(containers) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("values", [["a", "b", "c"], [False, True, True], [0.5, 1.5, float("inf")]])
def test_any_ordered_type_has_a_depth(values):
    lower, upper = pa.array(values), pa.array([values[-1]] * 3)
    assert overlap_depth(intervals_of(Bounds.of(lower, upper, pa.array([0] * 3), np.full(3, ROWS)))) == 3


@pytest.mark.deep
def test_a_million_containers_take_a_moment():
    """A pairwise comparison would take hours; CPU time is measured, independent of other load."""
    low = np.random.default_rng(7).integers(0, 1 << 40, 1_000_000)
    bounds = Bounds.of(
        pa.array(low), pa.array(low + (1 << 30)), pa.nulls(len(low), pa.int64()), np.full(len(low), ROWS)
    )
    started = time.process_time()
    found = overlap_depth(intervals_of(bounds))
    spent = time.process_time() - started
    assert 900 < found < 1_200
    assert spent < 5
