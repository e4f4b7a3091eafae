"""INT96 timestamps that pyarrow writes, which Arrow itself does not read back in microseconds."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr

BEFORE_1970 = [
    dt.datetime(1963, 11, 9, 20, 25, 38, 570263, tzinfo=dt.UTC),
    None,
    dt.datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC),
    dt.datetime(1900, 1, 1, tzinfo=dt.UTC),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC),
    dt.datetime(1700, 3, 4, 5, 6, 7, tzinfo=dt.UTC),
]
AFTER_2262 = [
    dt.datetime(2500, 1, 1, 1, 2, 3, 4, tzinfo=dt.UTC),
    dt.datetime(9999, 12, 31, tzinfo=dt.UTC),
    dt.datetime(2262, 4, 12, tzinfo=dt.UTC),
]


@pytest.mark.parametrize(("values", "unit"), [(BEFORE_1970, "ns"), (BEFORE_1970, "us"), (AFTER_2262, "us")])
@pytest.mark.parametrize("use_dictionary", [True, False])
def test_instants_of_any_century_are_read_as_they_were_written(tmp_path, values, unit, use_dictionary):
    path = tmp_path / "t.parquet"
    table = pa.table({"i": range(len(values)), "at": pa.array(values, pa.timestamp(unit, "UTC"))})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, use_dictionary=use_dictionary)
    assert pr.read_arrow(path, where="i >= 0")["at"].to_pylist() == values


@pytest.mark.spark
def test_instants_before_1970_are_those_that_spark_reads(spark, tmp_path):
    path = str(tmp_path / "t.parquet")
    table = pa.table({"i": range(len(BEFORE_1970)), "at": pa.array(BEFORE_1970, pa.timestamp("ns", "UTC"))})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    by_spark = spark.read.parquet(path).selectExpr("i", "unix_micros(at) AS at").orderBy("i").collect()
    read = pr.read_arrow(path, where="i >= 0")["at"].cast(pa.int64()).to_pylist()
    assert read == [row["at"] for row in by_spark]
