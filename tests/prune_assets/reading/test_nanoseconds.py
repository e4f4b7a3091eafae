"""Nanosecond timestamps that can be copied through Spark are recognized from footers alone."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import UnsupportedFeature
from prune_assets.reading.nanoseconds import nanosecond_columns

NS, INSTANT = pa.timestamp("ns"), pa.timestamp("ns", "UTC")
SPARK = {"org.apache.spark.sql.parquet.row.metadata": "{}"}


def columns_of(place, *tables):
    for i, table in enumerate(tables):
        pq.write_table(table, place / f"{i}.parquet")
    return nanosecond_columns("t", read_dataset(place))


def one(kind, value=0, name="at", **metadata):
    return pa.table({name: pa.array([value], kind)}).replace_schema_metadata(metadata or None)


def test_top_level_columns_are_found_with_whether_they_are_instants(tmp_path):
    table = pa.table(
        {"at": pa.array([1], INSTANT), "local": pa.array([1], NS), "us": pa.array([1], pa.timestamp("us"))}
    )
    assert columns_of(tmp_path, table, one(INSTANT)) == {"at": True, "local": False}


def test_int96_is_no_count_of_nanoseconds(tmp_path):
    pq.write_table(one(NS), tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    assert nanosecond_columns("t", read_dataset(tmp_path)) == {}


@pytest.mark.parametrize(
    ("tables", "what"),
    [
        pytest.param([one(pa.struct({"x": NS}), {"x": 1})], r"column at\.x .* inside of a nested column", id="struct"),
        pytest.param([one(pa.list_(INSTANT), [1])], "inside of a nested column", id="list"),
        pytest.param([one(pa.map_(pa.int64(), NS), [(1, 1)])], "inside of a nested column", id="map"),
        pytest.param([one(NS), one(pa.timestamp("us"))], "another type in others", id="another unit"),
        pytest.param(
            [one(pa.int64()), one(NS)], "another type in others", id="numbers, which Spark would not tell apart"
        ),
        pytest.param([one(NS), one(INSTANT)], "another type in others", id="with and without a zone"),
        pytest.param([one(NS), one(pa.int64(), name="AT")], "another type in others", id="another case"),
        pytest.param([one(NS, **SPARK)], "a schema of Spark", id="a table of Spark, written again by pyarrow"),
    ],
)
def test_what_spark_could_not_read_as_numbers_is_refused_with_a_remedy_that_works(tmp_path, tables, what):
    with pytest.raises(UnsupportedFeature, match=what) as refused:
        columns_of(tmp_path, *tables)
    assert "pq.write_table(table, path, coerce_timestamps='us', allow_truncated_timestamps=True)" in str(refused.value)
    for i, table in enumerate(tables):
        pq.write_table(table, tmp_path / f"{i}.parquet", coerce_timestamps="us", allow_truncated_timestamps=True)
    assert nanosecond_columns("t", read_dataset(tmp_path)) == {}
