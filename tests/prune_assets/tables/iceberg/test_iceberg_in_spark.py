"""`pr.read` of an Iceberg table, by a session without Iceberg: the rows that pyiceberg reads, or a refusal by name."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature
from tests.prune_assets.tables.iceberg import iceberg_tables as made
from tests.prune_assets.tables.iceberg.iceberg_tables import (
    BucketTransform,
    IdentityTransform,
    LongType,
    NestedField,
    Schema,
    TruncateTransform,
    UUIDType,
)

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Partitioned by a text with signs that directories escape, and evolved by a column that old files lack."""
    rng = random.Random(3)
    created = made.catalog_in(tmp_path_factory.mktemp("iceberg")).create_table("db.t", made.SCHEMA)
    created.append(made.rows(rng, 0, 20, since=1971))
    with created.update_spec() as update:
        update.add_field("s", IdentityTransform(), "s")
        update.add_field("k", BucketTransform(2), "k_bucket")
        update.add_field("d", TruncateTransform(100), "d_truncated")
    with created.update_schema() as update:
        update.add_column("added", LongType())
    created.append(made.rows(rng, 100, 20, since=1971))
    return created


@pytest.mark.parametrize(
    "where", ["true", "k < 10", "s = 'ab' OR d > 1", "added IS NULL", "added = 1", "st.a > 0 AND ts > '1990-01-01'"]
)
def test_the_same_rows_as_plain_files_have(spark, table, tmp_path, where):
    plain = made.copied(table, tmp_path / "plain.parquet")
    names = "k", "n", "ts", "tz", "day", "s", "b", "d", "x", "f", "flag", "st", "added"
    mine, theirs = (pr.read(each, where=where, session=spark).select(*names) for each in (made.folder(table), plain))
    assert sorted(map(str, mine.collect())) == sorted(map(str, theirs.collect()))
    assert mine.schema["d"].dataType == theirs.schema["d"].dataType


def changed(directory, change):
    table = made.catalog_in(directory).create_table("db.t", pa.schema([("k", pa.int64()), ("a", pa.int32())]))
    rows = pa.table({"k": [1, 2], "a": pa.array([3, 4], pa.int32())})
    table.append(rows)
    with table.update_schema() as update:
        change(update)
    return made.folder(table)


def dropped_and_added(update):
    update.delete_column("a")
    update.add_column("b", LongType())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda update: update.rename_column("a", "z"), "calls column z a"),
        (lambda update: update.update_column("a", LongType()), "has column a with another type"),
    ],
    ids=["renamed", "widened"],
)
def test_what_spark_would_read_otherwise_is_refused_with_the_remedy(spark, tmp_path, change, why):
    directory = changed(tmp_path, change)
    with pytest.raises(UnsupportedFeature, match=f"parquet: {why}; read it with Spark and Iceberg, or compact it"):
        pr.read(directory, where="k = 1", session=spark)
    assert pr.read(directory, where="k = 7", session=spark).count() == 0  # no file is left to read
    assert pr.count(directory, where="k = 1") == 1


def test_a_dropped_column_is_left_out(spark, tmp_path):
    directory = changed(tmp_path, dropped_and_added)
    assert [row.asDict() for row in pr.read(directory, where="k = 1", session=spark).collect()] == [{"k": 1, "b": None}]


def test_a_type_that_spark_has_not_is_named(spark, tmp_path):
    schema = Schema(NestedField(1, "k", LongType()), NestedField(2, "u", UUIDType()))
    table = made.catalog_in(tmp_path).create_table("db.t", schema)
    with pytest.raises(
        UnsupportedFeature, match="has a column of type uuid, which Spark's Parquet reader does not have"
    ):
        pr.read(made.folder(table), where="k = 1", session=spark)
