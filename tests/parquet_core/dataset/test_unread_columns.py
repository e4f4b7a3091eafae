"""File types that Spark cannot read as the table's type are detected from footers; compared with Spark itself."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.opening import read_dataset
from parquet_core.dataset.unread_columns import refuse_unread_columns, unread_columns
from parquet_core.errors import UnsupportedFeature

MOMENT = dt.datetime(2024, 1, 1)  # noqa: DTZ001 - of no zone in some of the types
VALUES = {
    "boolean": pa.array([True]),
    "int8": pa.array([1], pa.int8()),
    "int16": pa.array([1], pa.int16()),
    "int32": pa.array([1], pa.int32()),
    "int64": pa.array([1], pa.int64()),
    "uint16": pa.array([1], pa.uint16()),
    "uint32": pa.array([1], pa.uint32()),
    "uint64": pa.array([1], pa.uint64()),
    "float": pa.array([1], pa.float32()),
    "double": pa.array([1], pa.float64()),
    "text": pa.array(["1"]),
    "bytes": pa.array([b"1"]),
    "fixed": pa.array([b"1"], pa.binary(1)),
    "date": pa.array([MOMENT.date()]),
    "time": pa.array([MOMENT], pa.timestamp("us")),
    "instant": pa.array([MOMENT], pa.timestamp("us", "UTC")),
    "short decimal": pa.array([Decimal("1.00")], pa.decimal128(9, 2)),
    "long decimal": pa.array([Decimal("1.00")], pa.decimal128(38, 2)),
    "list": pa.array([[1]], pa.list_(pa.int32())),
    "struct": pa.array([{"a": 1}], pa.struct([("a", pa.int32())])),
}
# Spark refuses these reads, but no reason is reported here, because refusal depends on more than the type.
SILENT = {
    **{wanted: {"uint32"} for wanted in ("int8", "int16", "int32", "uint16", "date")},
    **{wanted: {"uint64"} for wanted in ("int64", "uint32")},
    "uint64": {"uint16", "uint32", "short decimal", "long decimal"},
    "text": {"fixed", "short decimal", "long decimal"},
    "instant": {"date"},
    "short decimal": {"int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "long decimal"},
    "long decimal": {"uint16", "uint32", "uint64"},
    "list": {"struct"},
    "struct": {"list"},
}


def put(place, wanted, stored, **options):
    """Write a table of two files; the first file has the table's type."""
    place.mkdir()
    for name, kind in (("0", wanted), ("1", stored)):
        pq.write_table(pa.table({"c": VALUES[kind], "d": [1]}), place / f"{name}.parquet", **options)
    return place


def test_a_column_is_told_with_its_types_and_files(tmp_path):
    place = put(tmp_path / "t", "int16", "text")
    pq.write_table(pa.table({"c": ["x"], "d": [1]}), place / "2.parquet")
    pq.write_table(pa.table({"c": pa.array([], pa.string()), "d": pa.array([], pa.int64())}), place / "3.parquet")
    (found,) = unread_columns(read_dataset(str(place)))
    assert (found.name, found.wanted, found.stored, found.files.tolist()) == ("c", "int16", "string", [1, 2])
    assert found.remedy == "write these 2 files again with the column as int16"


def test_a_table_is_refused_by_its_first_such_file(tmp_path):
    place = put(tmp_path / "t", "int16", "text")
    with pytest.raises(
        UnsupportedFeature,
        match=rf"^{place}/1\.parquet: column c is string there and int16 in the table, so Spark cannot read it; "
        "write that file again with the column as int16$",
    ):
        refuse_unread_columns(read_dataset(str(place)))


@pytest.mark.parametrize(("wanted", "stored"), [("int32", "int16"), ("double", "float"), ("int16", "int16")])
def test_what_spark_widens_is_no_mismatch(tmp_path, wanted, stored):
    assert unread_columns(read_dataset(str(put(tmp_path / "t", wanted, stored)))) == []


def test_a_column_that_a_directory_gives_or_that_a_file_lacks_is_none(tmp_path):
    for day, rows in ((1, {"x": [1], "day": ["a"]}), (2, {"x": [1], "day": [2]}), (3, {"day": [2]})):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table(rows), tmp_path / f"day={day}" / "0.parquet")
    assert unread_columns(read_dataset(str(tmp_path))) == []


@pytest.mark.parametrize(("wanted", "stored"), [("struct", "int64"), ("int64", "struct"), ("list", "int64")])
def test_a_plain_column_is_no_nested_one(tmp_path, wanted, stored):
    (found,) = unread_columns(read_dataset(str(put(tmp_path / "t", wanted, stored))))
    assert found.name == "c"
    assert "a nested column" in (found.wanted, found.stored)


@pytest.mark.spark
@pytest.mark.sampled(20)
@pytest.mark.parametrize("wanted", VALUES)
def test_spark_fails_on_what_is_told_and_reads_the_rest(spark, tmp_path, wanted):
    from pyspark.errors import PySparkException

    from prune_assets.spark.spark_versions import java_error

    told, failed = set(), set()
    for stored in VALUES:
        place = put(tmp_path / stored, wanted, stored)
        told |= {stored} if unread_columns(read_dataset(str(place))) else set()
        schema = spark.read.parquet(str(place / "0.parquet")).schema
        try:
            spark.read.schema(schema).parquet(str(place / "1.parquet")).collect()
        except (PySparkException, java_error()):
            failed.add(stored)
    assert (told - failed, failed - told) == (set(), SILENT.get(wanted, set()))
