"""Tables written by name: the catalog reads the written rows, and plain folders stay plain folders."""

from __future__ import annotations

import pytest

import deltalog
import prune_assets as pr
from parquet_core.errors import LayoutError, TableNotFound, UnsupportedFeature, WrongUse
from prune_assets.tables.catalogs import resolve

pytestmark = pytest.mark.spark

LAYOUT = pr.LayoutSpec(sort_by=["id"], files=1)
BY_DAY = pr.LayoutSpec(sort_by=["id"], partition_by=["day"], files=1)


@pytest.fixture(scope="module")
def schema(spark, tmp_path_factory):
    place = tmp_path_factory.mktemp("written")
    spark.sql(f"CREATE DATABASE sales LOCATION '{place}'")
    yield place
    spark.sql("DROP DATABASE sales CASCADE")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def days(spark, *numbers):
    return spark.sql(
        f"SELECT id, CAST(day AS DATE) AS day FROM range(10) CROSS JOIN "
        f"(SELECT explode(array({', '.join(repr(f'2024-01-0{number}') for number in numbers)})) AS day)"
    )


def test_a_plain_table_is_written_where_its_catalog_reads_it(spark, schema, here):
    spark.sql("CREATE TABLE sales.plain (id BIGINT) USING parquet")
    assert spark.table("sales.plain").count() == 0
    assert pr.write(spark.range(10), "sales.plain", layout=LAYOUT).rows == 10
    assert spark.table("sales.plain").count() == 10
    pr.write(spark.range(5), "sales.plain", layout=LAYOUT, mode="overwrite")
    assert spark.table("sales.plain").count() == pr.read("sales.plain", where="true", session=spark).count() == 5
    pr.write(spark.range(5, 10), "sales.plain", layout=LAYOUT)
    assert pr.optimize("sales.plain", layout=LAYOUT, session=spark).new_files == 1
    assert spark.table("sales.plain").count() == 10
    assert list(here.iterdir()) == []


def test_partitions_are_registered(spark, schema, here):
    spark.sql("CREATE TABLE sales.days (id BIGINT, day DATE) USING parquet PARTITIONED BY (day)")
    pr.write(days(spark, 1, 2), "sales.days", layout=BY_DAY)
    assert spark.table("sales.days").count() == 20
    pr.write(days(spark, 2, 3), "sales.days", layout=BY_DAY, mode="replace_partitions")
    assert spark.sql("SHOW PARTITIONS sales.days").count() == 3
    pr.write(days(spark, 3), "sales.days", layout=BY_DAY, mode="overwrite")
    assert spark.table("sales.days").count() == pr.read("sales.days", where="true", session=spark).count() == 10
    assert list(here.iterdir()) == []


def test_a_delta_table_is_written_where_its_catalog_has_it(spark, schema, here, monkeypatch):
    place = schema / "delta_of_catalog"
    pr.write(spark.range(10), place, layout=LAYOUT, format="delta")
    # Simulates the description of a session with delta-spark, which is not installed here.
    said = {"Type": "EXTERNAL", "Provider": "delta", "Location": f"file:{place}"}
    monkeypatch.setattr(resolve, "described", lambda name, _: said if name == "sales.delta" else None)
    assert pr.write(spark.range(5), "sales.delta", layout=LAYOUT).version == 1
    assert pr.optimize("sales.delta", layout=LAYOUT, session=spark).new_files == 1
    assert deltalog.open_snapshot(place).version == 2
    assert pr.read("sales.delta", where="true", session=spark).count() == 15
    with pytest.raises(WrongUse, match="is a table of delta in its catalog; leave format out"):
        pr.write(spark.range(5), "sales.delta", layout=LAYOUT, format="parquet")
    assert list(here.iterdir()) == []


REFUSED = {
    "buckets": (
        "CREATE TABLE sales.{name} (id BIGINT) USING parquet CLUSTERED BY (id) INTO 2 BUCKETS",
        UnsupportedFeature,
        r"buckets \(CLUSTERED BY\), so it is not written here",
    ),
    "csv": ("CREATE TABLE sales.{name} (id BIGINT) USING csv", UnsupportedFeature, "as csv"),
    "view": ("CREATE VIEW sales.{name} AS SELECT 1 AS id", UnsupportedFeature, "as view"),
    "type": ("CREATE TABLE sales.{name} (id INT) USING parquet", WrongUse, "column id int, the data has type bigint"),
    "more": ("CREATE TABLE sales.{name} (id BIGINT, x INT) USING parquet", WrongUse, "x int, the data lack it"),
    "less": ("CREATE TABLE sales.{name} (x BIGINT) USING parquet", WrongUse, "the data lack it"),
    "parts": (
        "CREATE TABLE sales.{name} (x INT, id BIGINT) USING parquet PARTITIONED BY (id)",
        WrongUse,
        "the data lack it",
    ),
    "padded": ("CREATE TABLE sales.{name} (id CHAR(3)) USING parquet", UnsupportedFeature, "a CHAR column"),
    "elsewhere": (
        "CREATE TABLE sales.{name} (x INT, id BIGINT) USING parquet PARTITIONED BY (id);"  # noqa: ISC004 - statements
        "ALTER TABLE sales.{name} ADD PARTITION (id=2) LOCATION '{place}/other';"
        "INSERT INTO sales.{name} PARTITION (id=2) SELECT 2",
        UnsupportedFeature,
        "the catalog's partitions differ from the directories",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_catalog_would_read_otherwise_is_refused_by_name(spark, schema, here, case):
    statements, error, said = REFUSED[case]
    for statement in statements.format(name=f"no_{case}", place=schema).split(";"):
        spark.sql(statement)
    with pytest.raises(error, match=said) as raised:
        pr.write(spark.range(3), f"sales.no_{case}", layout=LAYOUT)
    assert f"sales.no_{case}" in str(raised.value)
    assert list(here.iterdir()) == []


def test_another_partitioning_than_the_catalogs_is_refused(spark, schema):
    spark.sql("CREATE TABLE sales.by_day (id BIGINT, day DATE) USING parquet PARTITIONED BY (day)")
    with pytest.raises(LayoutError, match=r"sales.by_day is partitioned by day, as its catalog says"):
        pr.write(days(spark, 1), "sales.by_day", layout=LAYOUT)


def test_a_new_name_in_a_database_that_is_there_is_refused_with_the_remedy(spark, schema, here):
    with pytest.raises(TableNotFound, match=r"no such table; create it first \(CREATE TABLE sales.new .* ./sales.new"):
        pr.write(spark.range(3), "sales.new", layout=LAYOUT)
    assert list(here.iterdir()) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name", ["orders", "orders.parquet", "data.v2.delta", "lake/orders", "./sales.new", "sales.there"]
)
def test_an_ordinary_folder_is_one(spark, schema, here, name):
    if name == "sales.there":
        (here / name).mkdir()
    pr.write(spark.range(3), name, layout=LAYOUT)
    pr.write(spark.range(3, 5), name, layout=LAYOUT)
    assert (here / name).is_dir()
    assert pr.read(name, where="true", session=spark).count() == 5
    alone, known = (pr.plan(name, where="id < 3", session=session).report for session in (None, spark))
    assert alone.kept.rows == known.kept.rows
    assert pr.check(name, layout=LAYOUT)
    assert pr.optimize(name, layout=LAYOUT, session=spark).considered == 2


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("sale.new", r"no database sale; did you mean sales.new, or write ./sale.new for a directory"),
        ("data.v2", r"no database data; create it first \(CREATE DATABASE data\), or write ./data.v2 for a directory"),
        ("none_such.sales.new", r"no database none_such.sales; .*, or write ./none_such.sales.new for a directory"),
    ],
)
def test_a_new_name_in_a_database_that_is_not_there_is_refused_with_the_remedy(spark, schema, here, name, remedy):
    with pytest.raises(TableNotFound, match=remedy):
        pr.write(spark.range(3), name, layout=LAYOUT)
    assert list(here.iterdir()) == []
