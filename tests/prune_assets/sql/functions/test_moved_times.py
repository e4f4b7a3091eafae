"""Timestamps where later is not more: the last days of months meet, clocks change, midnights are skipped."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from prune_assets.sql.semantics import SparkSemantics

UTC = SparkSemantics(time_zone="UTC")


@pytest.fixture
def ends_of_january(tmp_path):
    days = [(1, 28, 10), (1, 28, 15), (1, 30, 15), (1, 31, 10), (3, 1, 0)]
    times = [dt.datetime(2023, month, day, hour, tzinfo=dt.UTC) for month, day, hour in days]
    pq.write_table(
        pa.table({"at": pa.array(times, pa.timestamp("us", "UTC"))}), tmp_path / "a.parquet", row_group_size=1
    )
    return str(tmp_path)


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("at + INTERVAL 1 MONTH <= TIMESTAMP '2023-02-28 12:00:00'", {(28, 10), (31, 10)}),
        ("at + INTERVAL 1 MONTH > TIMESTAMP '2023-02-28 12:00:00'", {(28, 15), (30, 15), (1, 0)}),
        ("at + INTERVAL 1 MONTH IS NOT NULL", {(28, 10), (28, 15), (30, 15), (31, 10), (1, 0)}),
    ],
)
def test_a_later_time_may_be_earlier_a_month_later(ends_of_january, where, wanted):
    rows = pr.read_arrow(ends_of_january, where=where, semantics=UTC)["at"].to_pylist()
    assert {(row.day, row.hour) for row in rows} == wanted
    plan = pr.plan(ends_of_january, where=where, semantics=UTC)
    kept = {group.index for file in plan.files for group in file.row_groups if group.verdict != "skip"}
    assert len(kept) >= len(wanted)


def test_the_hour_of_a_date_is_that_of_its_first_instant(tmp_path):
    """In Santiago clocks leapt over the midnight of 2024-09-08; Spark's hour(day) is 1 there (verified)."""
    pq.write_table(pa.table({"day": [dt.date(2024, 9, 7), dt.date(2024, 9, 8)]}), tmp_path / "a.parquet")
    for where, wanted in (("hour(day) = 1", 1), ("hour(day) = 0", 1)):
        assert pr.count(str(tmp_path), where=where, semantics=SparkSemantics(time_zone="America/Santiago")) == wanted
