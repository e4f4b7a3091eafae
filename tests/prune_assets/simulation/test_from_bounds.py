"""Rows drawn from bounds, and their bounds after sorting and cutting."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from parquet_core.format.schema import LeafColumn, Physical, SortOrder
from parquet_core.trust.bounds import Bounds
from prune_assets.simulation.from_bounds import draw, sorted_bounds

COLUMN = LeafColumn(("c",), 0, Physical.INT64, pa.int64(), SortOrder.SIGNED)


def bounds(lower, upper, kind=None, *, nulls=None, rows=100):
    lower, upper = pa.array(lower, kind or pa.int64()), pa.array(upper, kind or pa.int64())
    nulls = pa.array([0] * len(lower) if nulls is None else nulls, pa.int64())
    return Bounds.of(lower, upper, nulls, np.full(len(lower), rows))


def cut(given, count):
    made = sorted_bounds(draw(COLUMN, given).column, int(given.row_count.sum()), count)
    return list(zip(made.lower.to_pylist(), made.upper.to_pylist(), strict=True))


def test_row_groups_that_span_all_become_ones_that_follow_each_other():
    made = cut(bounds([0] * 4, [999] * 4), 4)
    assert [low for low, _ in made] == pytest.approx([0, 250, 500, 750], abs=5)
    assert [high for _, high in made] == pytest.approx([250, 500, 750, 999], abs=5)


def test_where_values_are_dense_row_groups_are_narrow():
    """Three quarters of the rows have a hundredth of the range."""
    made = cut(bounds([0, 0, 0, 0], [9, 9, 9, 999]), 4)
    assert [high for _, high in made][:2] == pytest.approx([4, 7], abs=1)
    assert made[-1][1] == 999


@pytest.mark.parametrize(
    ("lower", "upper", "kind", "middle"),
    [
        (0.0, 1.0, pa.float64(), 0.5),
        (dt.date(2024, 1, 1), dt.date(2024, 12, 30), pa.date32(), dt.date(2024, 7, 1)),
        (Decimal(0), Decimal(100), pa.decimal128(10, 2), Decimal(50)),
        (-(2**63), 2**63 - 1, pa.int64(), 0),
    ],
)
def test_each_kind_of_number_is_cut_in_the_middle(lower, upper, kind, middle):
    (_, below), (above, _) = cut(bounds([lower] * 2, [upper] * 2, kind), 2)
    reach = (upper - lower) / 50 if not isinstance(lower, Decimal) else Decimal(2)
    assert abs(below - middle) <= reach
    assert abs(above - middle) <= reach


def test_two_values_are_as_frequent():
    assert cut(bounds([1970] * 2, [1971] * 2), 4) == [(1970, 1970)] * 2 + [(1971, 1971)] * 2


def test_texts_are_spread_by_rank():
    made = cut(bounds([b"a", b"c"], [b"c", b"e"], pa.binary()), 2)
    assert made == [(b"a", b"c"), (b"c", b"e")]


def test_nulls_come_first_and_rare_ones_are_not_lost():
    given = bounds([0, 0], [99, 99], nulls=[50, 50])
    made = sorted_bounds(draw(COLUMN, given).column, 200, 4)
    assert [count > 0 for count in made.null_count.to_pylist()] == [True, True, False, False]
    assert made.lower.to_pylist()[:2] == [None, None]
    rare = draw(COLUMN, bounds([0], [99], nulls=[1], rows=1_000_000)).column
    assert (rare.codes == -1).any()
    nearly_all = draw(COLUMN, bounds([0], [99], nulls=[999_999], rows=1_000_000)).column
    assert (nearly_all.codes >= 0).any()


def test_rows_of_some_containers_are_found_and_unknown_ones_are_told():
    given = bounds([0, None, 200, None], [9, None, 299, None], nulls=[0, None, 0, 100])
    drawn = draw(COLUMN, given)
    assert set(drawn.column.values.take(pa.array(drawn.of(np.array([0])).codes)).to_pylist()) == set(range(10))
    assert drawn.of(np.array([0, 1])) is None, "nothing is known of the second"
    assert set(drawn.of(np.array([3])).codes.tolist()) == {-1}
    assert drawn.of(np.array([0, 2])) is not None


def test_many_containers_cost_no_more_rows_than_two_each_and_are_cut_into_few():
    many = bounds([0] * 300_000, [9] * 300_000)
    drawn = draw(COLUMN, many)
    assert len(drawn.containers) == 600_000
    assert len(sorted_bounds(drawn.column, 300_000 * 1_000_000, 15_000_000)) == 10_000
