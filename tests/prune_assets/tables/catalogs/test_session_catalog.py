"""Tables by the names of a session's catalogs: the rows of Spark's own `spark.table(name)`, or a refusal by name."""

from __future__ import annotations

import pytest

import prune_assets as pr
from parquet_core.errors import TableNotFound, UnsupportedFeature, WrongUse
from prune_assets.tables.catalogs.session_catalog import described

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def schema(spark, tmp_path_factory):
    # The location of this schema only; managed tables are stored below it.
    directory = tmp_path_factory.mktemp("warehouse")
    spark.sql(f"CREATE DATABASE named LOCATION '{directory}/a b'")
    yield directory
    spark.sql("DROP DATABASE named CASCADE")


TABLES = {
    "managed": "CREATE TABLE named.{name} USING parquet AS SELECT id, id % 3 AS k FROM range(100)",
    "external": "CREATE TABLE named.{name} USING parquet LOCATION '{place}/ext' AS SELECT id, 1 AS k FROM range(9)",
    "partitioned": "CREATE TABLE named.{name} USING parquet PARTITIONED BY (k) AS "
    "SELECT id, CAST(id % 3 AS INT) AS k FROM range(100)",
}


@pytest.mark.parametrize("kind", TABLES)
def test_reads_what_spark_reads(spark, schema, kind):
    name = f"named.{kind}"
    spark.sql(TABLES[kind].format(name=kind, place=schema))
    where = "id < 40 AND k = 1"
    theirs = spark.table(name).where(where)
    ours = pr.read(name, where=where, session=spark)
    assert ours.schema == theirs.schema
    assert sorted(ours.collect()) == sorted(theirs.collect())
    made = pr.plan(name, where=where, session=spark)
    assert made.report.kept.rows < 100 or kind != "partitioned"
    assert sorted(pr.read(name, where=where, session=spark, plan=made).collect()) == sorted(theirs.collect())
    assert pr.check(name, layout=pr.LayoutSpec(sort_by=["id"]), session=spark)


REFUSED = {
    "a view": ("CREATE VIEW named.{name} AS SELECT 1 AS id", "as view"),
    "another provider": ("CREATE TABLE named.{name} USING csv AS SELECT 1 AS id", "as csv"),
    "commits of its catalog": (
        (
            "CREATE TABLE named.{name} USING parquet TBLPROPERTIES ('delta.feature.catalogManaged'='supported') "
            "AS SELECT 1 AS id"
        ),
        "managed by the catalog",
    ),
    "a partition elsewhere": (
        (
            "CREATE TABLE named.{name} USING parquet PARTITIONED BY (k) AS SELECT 1 AS id, 1 AS k;"
            "ALTER TABLE named.{name} ADD PARTITION (k=2) LOCATION '{place}/elsewhere';"
            "INSERT INTO named.{name} PARTITION (k=2) SELECT 2"
        ),
        "partitions",
    ),
    "a partition that was dropped": (
        (
            "CREATE TABLE named.{name} USING parquet PARTITIONED BY (k) LOCATION '{place}/{name}' AS "
            "SELECT 1 AS id, 1 AS k UNION ALL SELECT 2, 2; ALTER TABLE named.{name} DROP PARTITION (k=2)"
        ),
        "partitions",
    ),
    "a column that the files lack": (
        "CREATE TABLE named.{name} USING parquet AS SELECT 1 AS id; ALTER TABLE named.{name} ADD COLUMNS (more INT)",
        "columns",
    ),
    "partition texts like numbers": (
        "CREATE TABLE named.{name} USING parquet PARTITIONED BY (k) AS SELECT 1 AS id, '01' AS k",
        "partitionColumnTypeInference",
    ),
    "padded texts": (
        "CREATE TABLE named.{name} (id INT, c CHAR(3)) USING parquet; INSERT INTO named.{name} SELECT 1, 'a'",
        "CHAR",
    ),
    "a default of old files": (
        (
            "CREATE TABLE named.{name} (id INT) USING parquet; INSERT INTO named.{name} SELECT 1;"
            "ALTER TABLE named.{name} ADD COLUMNS (c INT DEFAULT 5); INSERT INTO named.{name} SELECT 1, 2"
        ),
        "default",
    ),
    "an option of its own": (
        "CREATE TABLE named.{name} USING parquet OPTIONS (recursiveFileLookup 'true') AS SELECT 1 AS id",
        "option recursiveFileLookup",
    ),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", REFUSED)
def test_refuses_by_name(spark, schema, case):
    name = case.replace(" ", "_")
    statements, message = REFUSED[case]
    for statement in statements.format(name=name, place=schema).split(";"):
        spark.sql(statement)
    for ask in (pr.plan, lambda table, *, where, session: pr.read(table, where=where, session=session)):
        with pytest.raises(UnsupportedFeature, match=message):
            ask(f"named.{name}", where="id = 1", session=spark)


def test_a_name_that_is_a_path_too_is_refused_with_both_spelled_out(spark, schema, tmp_path, monkeypatch):
    spark.sql("CREATE TABLE named.twice USING parquet AS SELECT 1 AS id")
    spark.range(7).write.parquet(str(tmp_path / "named.twice"))
    monkeypatch.chdir(tmp_path)
    layout = pr.LayoutSpec(sort_by=["id"])
    for ask in ways("named.twice", spark, layout):
        with pytest.raises(WrongUse, match=r"both a path and a table; write \./named.twice for .* or spark_cat"):
            ask()
    assert pr.read("./named.twice", where="true", session=spark).count() == 7
    assert pr.read("spark_catalog.named.twice", where="true", session=spark).count() == 1


def ways(table, spark, layout):
    """Every way to a table by its name."""
    return [
        lambda: pr.write(spark.range(3), table, layout=layout),
        lambda: pr.read(table, where="true", session=spark),
        lambda: pr.plan(table, where="true", session=spark),
        lambda: pr.check(table, layout=layout, session=spark),
        lambda: pr.optimize(table, layout=layout, session=spark),
        lambda: pr.audit(table, session=spark),
    ]


def test_a_view_does_not_stand_for_a_directory_of_its_name(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spark.range(7).write.parquet(str(tmp_path / "seven"))
    spark.range(1).createOrReplaceTempView("seven")
    assert pr.read("seven", where="true", session=spark).count() == 7
    spark.catalog.dropTempView("seven")


def test_a_name_that_no_catalog_knows(spark):
    with pytest.raises(
        TableNotFound,
        match=r"named\.nowhere_at_all: neither a path nor a table of the session's "
        r"catalogs",
    ):
        pr.plan("named.nowhere_at_all", where="id = 1", session=spark)


@pytest.mark.parametrize("name", ["delta.`/lake/t`", "parquet.`lake/t`", "delta.`t`"])
def test_a_path_as_sql_has_it_is_refused_with_the_path(spark, tmp_path, name):
    path = name.split("`")[1]
    for ask in ways(name, spark, pr.LayoutSpec(sort_by=["id"])):
        with pytest.raises(WrongUse, match=f"is Spark SQL's form of a path; give only the path: {path}$"):
            ask()


def test_a_name_without_a_session_is_told_to_need_one():
    with pytest.raises(TableNotFound, match=r"without a Spark session its catalogs are not known"):
        pr.plan("named.nowhere_at_all", where="id = 1")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("events.parquett", r"events\.parquett: no such file or directory; did you mean events\.parquet\?"),
        ("other.parquet", "no such file or directory; check the path"),
        ("other.parquett", "no such file or directory; check the path"),
    ],
)
def test_a_name_that_looks_like_a_file_is_told_to_be_none(tmp_path, monkeypatch, name, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.parquet").touch()
    with pytest.raises(TableNotFound, match=told):
        pr.plan(name, where="id = 1")


def test_a_name_that_is_in_no_catalog_is_not_logged(spark, tmp_path, capfd):
    # Spark 4.0 and 4.1 log each query that fails in a session that ever observed a DataFrame, as a write does.
    pr.write(spark.range(3), tmp_path, layout=pr.LayoutSpec(sort_by=["id"]))
    assert described("nowhere", spark) is None
    assert described("nowhere.at_all", spark) is None
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""
