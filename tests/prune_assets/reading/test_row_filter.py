"""What is unknown for some values alone is evaluated, and refused where a row has such a value."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import UnknownColumn, UnsupportedFeature
from prune_assets.sql.semantics import SparkSemantics

_ZONES = ("Europe/Berlin", "Europe/London", "Europe/Paris", "America/New_York", "Asia/Kolkata")
_PREDICATES = (
    "date(at) = DATE '2025-03-15'",
    "to_date(at) <> DATE '2025-03-15'",
    "year(at) = 2025 AND id > 40",
    "date_trunc('day', at) = TIMESTAMP '2025-03-15 00:00:00'",
    "NOT date(at) BETWEEN DATE '2025-03-14' AND DATE '2025-03-16'",
)
_START = dt.datetime(2025, 3, 13, tzinfo=dt.UTC)


def _table(directory, *more):
    times = [*(_START + dt.timedelta(hours=i) for i in range(96)), None, *more]
    ids = pa.array(range(len(times)), pa.int64())
    columns = {"id": ids, "at": pa.array(times, pa.timestamp("us", "UTC"))}
    pq.write_table(pa.table(columns), directory / "part.parquet", row_group_size=10)
    return str(directory)


@pytest.mark.spark
@pytest.mark.parametrize("zone", _ZONES)
def test_days_of_a_zone_are_those_of_spark(spark, tmp_path, zone):
    table = _table(tmp_path)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        for where in _PREDICATES:
            wanted = [row.id for row in spark.read.parquet(table).where(where).orderBy("id").select("id").collect()]
            found = pr.read_arrow(table, where=where, columns=["id"], session=SparkSemantics(time_zone=zone))
            assert found.column(0).to_pylist() == wanted, where
            assert 0 < len(wanted) < 97
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_only_a_row_with_an_unknown_outcome_is_refused(tmp_path):
    old = dt.datetime(1900, 1, 1, tzinfo=dt.UTC)
    table = _table(tmp_path, old)
    berlin = SparkSemantics(time_zone="Europe/Berlin")
    assert pr.count(table, where="id < 50 AND date(at) < DATE '2025-03-15'", session=berlin) == 47
    with pytest.raises(
        UnsupportedFeature, match=r"date\(at\) < .*not certain where at <= .*at = 1900.*let Spark evaluate"
    ):
        pr.count(table, where="date(at) < DATE '2025-03-15'", session=berlin)


def test_without_a_zone_the_remedy_is_to_name_it(tmp_path):
    table = _table(tmp_path)
    with pytest.raises(UnsupportedFeature, match=r"depends on the time zone.*pass session= or --time-zone"):
        pr.count(table, where="date(at) = DATE '2025-03-15'")
    assert pr.count(table, where="date(at) < DATE '2020-01-01'") == 0


def test_min_max_of_a_part_and_of_a_list(tmp_path):
    rows = pa.table({"device": [{"id": 1}], "flags": [["a"]]})
    pq.write_table(rows, tmp_path / "part.parquet")
    with pytest.raises(UnknownColumn, match=r"device\.id: it is a part of a column"):
        pr.min_max(str(tmp_path), "device.id")
    for name in rows.column_names:
        with pytest.raises(UnsupportedFeature, match="min_max of a list, a map or a struct is not defined"):
            pr.min_max(str(tmp_path), name)
