"""Rows that an equality keeps by bounds, compared with a count over all values of a row group."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_core.layout.clustering import _VALUES, _average_cover, as_ordered, values_between
from prune_assets.checks.health.health import check_files

INT64, WIDTH = st.integers(-(2**63), 2**63 - 1), 2 * _VALUES
# Each interval has as many values as are sampled, or a multiple, so that all values are sampled equally.
INTERVALS = st.tuples(st.integers(-40, 40), st.sampled_from([1, 2, 5])).map(
    lambda drawn: (drawn[0] * WIDTH, (drawn[0] + drawn[1]) * WIDTH)
)


def covers(intervals, value):
    return sum(low <= value <= high for low, high in intervals)


@given(st.lists(INTERVALS, min_size=1, max_size=30), st.sampled_from(["whole", "doubles", "texts"]))
def test_the_average_is_that_of_a_count_for_values_that_lie_evenly(intervals, kind):
    low, high = zip(*intervals, strict=True)
    as_kind = {"whole": pa.array, "doubles": lambda values: pa.array(values, pa.float64()), "texts": as_texts}[kind]
    values = [a + (b - a) * (2 * i + 1) // WIDTH for a, b in intervals for i in range(_VALUES)]
    expected = np.mean([covers(intervals, value) for value in values])
    assert _average_cover(as_kind(low), as_kind(high)) == pytest.approx(expected)


def as_texts(values):
    """Texts in the order of the numbers, and as evenly spread."""
    return pa.array([b"key-" + (value + 2**40).to_bytes(7, "big") for value in values], pa.binary())


@given(
    st.one_of(
        st.tuples(INT64, INT64),
        st.tuples(st.binary(max_size=12), st.binary(max_size=12)),
        st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)),
    )
)
def test_values_between_two_bounds_are_not_outside_of_them(drawn):
    low, high = sorted(drawn)
    lower, upper = (as_ordered(pa.array([side])) for side in (low, high))
    values = values_between(lower, upper, 8).to_pylist()
    assert values == sorted(values)
    assert low <= values[0]
    assert values[-1] <= high


@pytest.mark.parametrize("as_text", [False, True])
def test_an_equality_on_a_table_in_no_order_reads_every_row_group(tmp_path, as_text):
    order = np.random.default_rng(7).permutation(60 * 500)
    ids = [f"sample-{number:08}" for number in order] if as_text else order
    pq.write_table(pa.table({"id": ids}), tmp_path / "0.parquet", row_group_size=500)
    (finding,) = (each for each in check_files(tmp_path) if each.code == "files.clustering")
    groups = np.asarray(order).reshape(60, 500)
    real = np.mean([covers(list(zip(groups.min(1), groups.max(1), strict=True)), value) for value in order[:2_000]])
    said = float(finding.message.split(" reads ")[1].split()[0])
    assert said == pytest.approx(real, abs=0.5)
    assert said > 59
