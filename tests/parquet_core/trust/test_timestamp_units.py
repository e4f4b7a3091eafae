"""Files of one table may store timestamps in milliseconds or microseconds; bounds are in microseconds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.opening import read_dataset
from parquet_core.pruning.evidence.bloom import outcomes_from_filters
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Compare, Op

NOON = 1_704_110_400_000


def write(path, unit, values, zone="UTC"):
    table = pa.table({"ts": pa.array(values, pa.timestamp(unit, zone))})
    pq.write_table(table, path, bloom_filter_options={"ts": {"ndv": 8}}, use_dictionary=False)


@pytest.mark.parametrize("first", ["ms", "us"])
def test_bounds_of_both_units_are_microseconds(tmp_path, first):
    other = {"ms": "us", "us": "ms"}[first]
    step = {"ms": 1, "us": 1000}
    write(tmp_path / "a.parquet", first, [NOON * step[first]])
    write(tmp_path / "b.parquet", other, [NOON * step[other], (NOON + 1) * step[other]])
    index = read_dataset(tmp_path)
    (column,) = index.groups.columns
    bounds = index.footers.bounds(column)
    assert bounds.lower.type == pa.timestamp("us", "UTC")
    assert bounds.lower.cast(pa.int64()).to_pylist() == [NOON * 1000] * 2
    assert bounds.upper.cast(pa.int64()).to_pylist() == [NOON * 1000, (NOON + 1) * 1000]


def test_timestamps_with_and_without_a_zone_are_not_one_column(tmp_path):
    write(tmp_path / "a.parquet", "us", [1])
    write(tmp_path / "b.parquet", "us", [2], zone=None)
    write(tmp_path / "c.parquet", "ns", [3000])
    index = read_dataset(tmp_path)
    assert index.footers.bounds(index.groups.columns[0]).lower.cast(pa.int64()).to_pylist() == [1, None, None]


def test_milliseconds_that_microseconds_cannot_count_are_unknown(tmp_path):
    write(tmp_path / "a.parquet", "ms", [5, 1 << 62])
    bounds = (index := read_dataset(tmp_path)).footers.bounds(index.groups.columns[0])
    assert (bounds.lower.null_count, bounds.upper.null_count) == (1, 1)


def test_a_filter_is_asked_in_the_unit_of_its_file(tmp_path):
    write(tmp_path / "a.parquet", "ms", [NOON])
    index = read_dataset(tmp_path)
    (column,) = index.groups.columns
    filters = index.bloom_filters.read(column, np.array([0]))

    def answer(micros):
        leaf = Compare(("ts",), Op.EQ, pa.scalar(micros, pa.timestamp("us", "UTC")))
        return outcomes_from_filters(leaf, column, filters)[0]

    assert answer(NOON * 1000) == Outcomes.UNKNOWN
    assert not answer(NOON * 1000 + 1) & Outcomes.TRUE, "no millisecond is that microsecond"
    assert not answer((NOON + 7) * 1000) & Outcomes.TRUE
    assert answer(-(1 << 53)) == Outcomes.UNKNOWN, "the session decides in which calendar it is read"
