"""Conditions that are undecided for some values are evaluated, and refused if a row has such a value."""

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


def _table(directory, *more, **options):
    times = [*(_START + dt.timedelta(hours=i) for i in range(96)), None, *more]
    ids = pa.array(range(len(times)), pa.int64())
    columns = {"id": ids, "at": pa.array(times, pa.timestamp("us", "UTC"))}
    pq.write_table(pa.table(columns), directory / "part.parquet", row_group_size=10, **options)
    return str(directory)


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("zone", _ZONES)
def test_days_of_a_zone_are_those_of_spark(spark, tmp_path, zone):
    table = _table(tmp_path)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        for where in _PREDICATES:
            wanted = [row.id for row in spark.read.parquet(table).where(where).orderBy("id").select("id").collect()]
            found = pr.read_arrow(table, where=where, columns=["id"], semantics=SparkSemantics(time_zone=zone))
            assert found.column(0).to_pylist() == wanted, where
            assert 0 < len(wanted) < 97
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_only_a_row_with_an_unknown_outcome_is_refused(tmp_path):
    old = dt.datetime(1900, 1, 1, tzinfo=dt.UTC)
    table = _table(tmp_path, old)
    berlin = SparkSemantics(time_zone="Europe/Berlin")
    assert pr.count(table, where="id < 50 AND date(at) < DATE '2025-03-15'", semantics=berlin) == 47
    with pytest.raises(
        UnsupportedFeature,
        match=r"^rows are not counted: date\(at\) < .*uncertain for at <= .*at = 1900.*let Spark evaluate",
    ):
        pr.count(table, where="date(at) < DATE '2025-03-15'", semantics=berlin)


def test_without_a_zone_the_remedy_is_to_name_it(tmp_path):
    table = _table(tmp_path)
    with pytest.raises(UnsupportedFeature, match=r"depends on the time zone.*pass session=, semantics= or --time-zone"):
        pr.count(table, where="date(at) = DATE '2025-03-15'")
    assert pr.count(table, where="date(at) < DATE '2020-01-01'") == 0


def test_min_max_of_a_part_and_of_a_list(tmp_path):
    rows = pa.table({"device": [{"id": 1}], "flags": [["a"]]})
    pq.write_table(rows, tmp_path / "part.parquet")
    with pytest.raises(UnknownColumn, match=r"device\.id: parts of a column cannot be selected"):
        pr.min_max(str(tmp_path), "device.id")
    for name in rows.column_names:
        with pytest.raises(UnsupportedFeature, match="min_max of a list, a map or a struct is not defined"):
            pr.min_max(str(tmp_path), name)


_REMAINDERS = ("x % 5 = x", "x % 7 = 3", "x % -7 = -3", "x % 10 IN (1, 2)", "NOT x % 9L > 4", "x % 3 = 1 OR x % 4 = 1")


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64()])
def test_remainders_of_more_values_than_are_tested_are_those_of_spark(spark, tmp_path, monkeypatch, kind):
    monkeypatch.setattr("prune_assets.reading.arrow_scan._MOST_TESTED", 30)
    values = pa.array([*range(-128, 128), None], kind)
    pq.write_table(pa.table({"x": values}), tmp_path / "part.parquet", row_group_size=100)
    for where in _REMAINDERS:
        wanted = spark.read.parquet(str(tmp_path)).where(where).count()
        assert 0 < pr.count(str(tmp_path), where=where) == wanted, where
    with pytest.raises(
        UnsupportedFeature,
        match=r"^rows are not counted: bround\(x\) = 5: x has more than 30 values to test; read it with pr\.read$",
    ):
        pr.count(str(tmp_path), where="bround(x) = 5")


@pytest.mark.spark
@pytest.mark.parametrize("other", ["x", "substring(x FROM 1)", "aggregate(array(x), 0L, (a, e) -> a + e)"])
def test_a_part_that_depends_on_more_than_the_remainder_is_asked_about_each_value(spark, tmp_path, other):
    pq.write_table(pa.table({"x": range(-20, 20)}), tmp_path / "part.parquet")
    assert pr.count(str(tmp_path), where=f"x % 7 = {other}", session=spark) == 13


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("zone", ["UTC", "+05:30", *_ZONES, "America/St_Johns", "Australia/Lord_Howe"])
def test_hours_of_more_times_than_are_tested_are_those_of_spark(spark, tmp_path, monkeypatch, zone):
    monkeypatch.setattr("prune_assets.reading.arrow_scan._MOST_TESTED", 200)
    # Every 37 minutes and a half, over years in which clocks change; before 1970 in zones where they never do.
    start = _START if "/" in zone else dt.datetime(1969, 1, 1, tzinfo=dt.UTC)
    times = pa.array(
        [*(start + i * dt.timedelta(seconds=2250) for i in range(40_000)), None], pa.timestamp("us", "UTC")
    )
    pq.write_table(pa.table({"at": times}), tmp_path / "part.parquet", row_group_size=10_000)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        for where in ("hour(at) = 2", "minute(at) BETWEEN 20 AND 40", "NOT hour(at) > 1"):
            wanted = spark.read.parquet(str(tmp_path)).where(where).count()
            assert 0 < pr.count(str(tmp_path), where=where, semantics=SparkSemantics(time_zone=zone)) == wanted, where
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_too_many_values_are_refused_before_any_is_asked_about(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("prune_assets.planner.value_tests.evaluate_on_values", lambda *given: asked.append(given))
    monkeypatch.setattr("prune_assets.reading.arrow_scan._MOST_TESTED", 50)
    with pytest.raises(
        UnsupportedFeature, match=r"second\(at\) = 2: at has more than 50 values to test; .*read it with pr\.read$"
    ):
        pr.count(
            _table(tmp_path, use_dictionary=False), where="second(at) = 2", semantics=SparkSemantics(time_zone="UTC")
        )
    assert not asked


def test_a_null_beside_a_sum_that_may_overflow_is_not_selected(tmp_path):
    pq.write_table(pa.table({"x": pa.array([None, 1, 2, 7], pa.int64())}), tmp_path / "a.parquet")
    assert pr.count(str(tmp_path), where="x + 1 > 2") == 2
    assert pr.count(str(tmp_path), where="x - 3 < 0") == 2


def test_functions_of_two_columns_name_the_missing_time_zone(tmp_path):
    table = _table(tmp_path)
    with pytest.raises(
        UnsupportedFeature,
        match=r"^rows are not read: to_date\(at\) .*on the time zone.*; pass session=, semantics= or --time-zone",
    ):
        pr.read_arrow(table, where="to_date(at) <> date_add(to_date(at), 1)")
