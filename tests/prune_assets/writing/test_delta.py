"""Delta tables written through Spark: rows as other readers see them, replaced files, and refusals before any job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import functions as fn

import deltalog
import prune_assets as pr
from deltalog.errors import CommitConflict, RefusedCommit
from parquet_core.errors import LayoutError, PruneError, WrongUse
from prune_assets.spark.spark_versions import to_arrow
from prune_assets.tables.delta import writing
from tests.peers.plain_rows import plain_rows

pytestmark = pytest.mark.spark

LAYOUT = pr.LayoutSpec(sort_by=["k"], bloom={"id": 0.01}, files=2)
PARTED = pr.LayoutSpec(sort_by=["k"], partition_by=["label"], files=2)


@pytest.fixture
def numbers(spark):
    return spark.range(600).select(
        "id",
        (fn.col("id") * 7919 % 211).alias("k"),
        fn.when(fn.col("id") % 4 != 0, fn.concat(fn.lit("a/b= %"), fn.col("id") % 4)).alias("label"),
        (fn.col("id") / 4).cast("decimal(12,2)").alias("price"),
        fn.timestamp_seconds(fn.col("id") * 3600).alias("at"),
        fn.struct(fn.col("id").alias("x"), fn.array("id").alias("list")).alias("st"),
    )


def rows_of(frame):
    return plain_rows(to_arrow(frame).to_pylist())


def rows_by_delta_rs(table):
    query = QueryBuilder().register("t", DeltaTable(str(table))).execute("SELECT * FROM t")
    import pyarrow as pa

    return plain_rows(pa.table(query.read_all()).to_pylist())


def never(spark, columns="id, k, label, price, at, st"):
    """Return a frame that raises an error if a job reads its rows."""
    return (
        spark.range(3)
        .selectExpr("CAST(raise_error('a job ran') AS BIGINT) AS id", "id AS k", "'x' AS label")
        .select(*[name for name in ("id", "k", "label") if name in columns])
    )


def directories(table):
    return sorted(path.name for path in Path(table).iterdir() if path.name.startswith("write-"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", [PARTED, LAYOUT])
def test_a_new_table_has_the_rows_for_every_reader(spark, numbers, tmp_path, layout):
    result = pr.write(numbers, tmp_path, layout=layout, format="delta")
    assert (result.version, result.rows, result.removed) == (0, 600, ())
    assert result.bytes == sum(Path(file).stat().st_size for file in result.files)
    assert rows_by_delta_rs(tmp_path) == rows_of(numbers)
    found = pr.read(tmp_path, where="true", session=spark)
    assert found.dtypes == numbers.dtypes
    assert rows_of(found) == rows_of(numbers)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", [PARTED, LAYOUT])
def test_its_layout_is_proven_from_its_bytes(numbers, tmp_path, layout):
    pr.write(numbers, tmp_path, layout=layout, format="delta")
    found = {finding.code: finding.severity for finding in pr.check(tmp_path, layout=layout)}
    assert "error" not in found.values(), found
    assert found["order.rows"] == "info"


def test_files_have_statistics_by_which_others_are_skipped(numbers, tmp_path):
    pr.write(numbers, tmp_path, layout=LAYOUT, format="delta")
    planned = pr.plan(tmp_path, where="k < 5")
    assert planned.report.table_snapshot.opened_files == 1
    assert planned.report.table_snapshot.files == 2


def test_rows_are_added_to_what_is_there_whoever_made_it(spark, numbers, tmp_path):
    numbers_of_theirs = numbers.where("id < 100").drop("at", "st")
    from deltalake import write_deltalake

    write_deltalake(str(tmp_path), to_arrow(numbers_of_theirs), partition_by=["label"])
    result = pr.write(numbers.drop("at", "st").where("id >= 100"), tmp_path, layout=LAYOUT)
    assert result.version == 1
    assert rows_by_delta_rs(tmp_path) == rows_of(numbers.drop("at", "st"))


def test_columns_may_come_in_another_order_and_case(spark, numbers, tmp_path):
    pr.write(numbers, tmp_path, layout=LAYOUT, format="delta")
    turned = numbers.select("st", fn.col("K").alias("K"), "label", "price", "at", "id")
    pr.write(turned, tmp_path, layout=LAYOUT)
    assert pr.read(tmp_path, where="k = 7", session=spark).count() == 2 * numbers.where("k = 7").count()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda df: df.drop("price"), r"the table has column price decimal\(12,2\), the data lack it"),
        (
            lambda df: df.withColumn("k", fn.col("k").cast("int")),
            "the table has column k bigint, the data has type int",
        ),
        (lambda df: df.withColumn("more", fn.lit(1)), "the table has no column more"),
    ],
)
def test_other_columns_are_refused_before_a_job(numbers, tmp_path, change, message):
    pr.write(numbers, tmp_path, layout=LAYOUT, format="delta")
    with pytest.raises(WrongUse, match=message):
        pr.write(change(numbers), tmp_path, layout=LAYOUT)
    assert len(directories(tmp_path)) == 1


def test_partitions_are_replaced_alone(spark, numbers, tmp_path):
    pr.write(numbers, tmp_path, layout=PARTED, format="delta")
    none = numbers.where("label IS NULL")
    result = pr.write(none.where("id < 8"), tmp_path, layout=LAYOUT, mode="replace_partitions")
    assert result.version == 1
    assert {Path(file).parent.name for file in result.removed} == {"label=__HIVE_DEFAULT_PARTITION__"}
    assert rows_by_delta_rs(tmp_path) == rows_of(numbers.where("label IS NOT NULL OR id < 8"))


def test_what_where_selects_is_replaced(spark, numbers, tmp_path):
    pr.write(numbers, tmp_path, layout=PARTED, format="delta")
    some = numbers.where("label = 'a/b= %1' AND id < 100")
    pr.write(some, tmp_path, layout=LAYOUT, mode="overwrite", where="label IN ('a/b= %1', 'a/b= %2')")
    left = numbers.where("label = 'a/b= %3' OR label IS NULL")
    assert rows_by_delta_rs(tmp_path) == rows_of(left.unionAll(some))


def test_rows_outside_of_where_are_refused_and_nothing_is_left(numbers, tmp_path):
    pr.write(numbers, tmp_path, layout=PARTED, format="delta")
    before = directories(tmp_path)
    with pytest.raises(RefusedCommit, match=r"partition label=(null|a/b= %[23]) is written, but is not among"):
        pr.write(numbers, tmp_path, layout=LAYOUT, mode="overwrite", where="label = 'a/b= %1'")
    assert directories(tmp_path) == before
    assert deltalog.open_snapshot(tmp_path).version == 0


def test_everything_is_replaced_and_older_versions_stay(spark, numbers, tmp_path):
    pr.write(numbers, tmp_path, layout=LAYOUT, format="delta")
    result = pr.write(numbers.limit(10), tmp_path, layout=LAYOUT, mode="overwrite")
    assert len(result.removed) == 2
    assert pr.read(tmp_path, where="true", session=spark).count() == 10
    assert pr.read(tmp_path, where="true", session=spark, version=0).count() == 600


def test_no_rows_are_a_table_without_files(spark, numbers, tmp_path):
    pr.write(numbers.where("id < 0"), tmp_path, layout=LAYOUT, format="delta")
    assert deltalog.open_snapshot(tmp_path).file_count == 0
    assert directories(tmp_path) == []
    assert pr.read(tmp_path, where="true", session=spark).dtypes == numbers.dtypes


def test_partition_times_are_the_same_instants_in_every_session(spark, tmp_path):
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "America/New_York")
        rows = spark.sql("SELECT id, timestamp_micros(id * 5400000001) AS at FROM range(4)")
        pr.write(rows, tmp_path, layout=pr.LayoutSpec(partition_by=["at"], files=1), format="delta")
        expected = rows_of(rows)
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        assert rows_of(pr.read(tmp_path, where="true", session=spark)) == expected
        assert rows_by_delta_rs(tmp_path) == expected
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


MAPPED = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"}


def mapped_table(place):
    """An empty table with column mapping, whose files call the columns otherwise."""

    def field(name, number, kind, **more):
        metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return {"name": name, "type": kind, "nullable": True, "metadata": metadata, **more}

    inner = {"type": "struct", "fields": [field("x", 4, "long")]}
    fields = [field("id", 1, "long"), field("label", 2, "string"), field("st", 3, inner)]
    text = json.dumps({"type": "struct", "fields": fields})
    deltalog.create_table(place, text, partition_by=["label"], properties=MAPPED)


def test_mapped_columns_are_written_by_their_names_in_files(spark, tmp_path):
    mapped_table(tmp_path)
    rows = spark.sql("SELECT id, concat('p', id % 2) AS label, named_struct('x', id) AS st FROM range(10)")
    layout = pr.LayoutSpec(sort_by=["id"], bloom={"id": 0.01, "st.x": 0.01}, files=1)
    result = pr.write(rows, tmp_path, layout=layout)
    assert "error" not in [finding.severity for finding in pr.check(tmp_path, layout=layout)]
    stored = spark.read.option("recursiveFileLookup", "true").parquet(str(Path(result.files[0]).parent))
    assert stored.schema.simpleString() == "struct<col-1:bigint,col-3:struct<col-4:bigint>>"
    found = pr.read(tmp_path, where="label = 'p1'", session=spark)
    assert found.dtypes == [("id", "bigint"), ("label", "string"), ("st", "struct<x:bigint>")]
    assert rows_of(found) == rows_of(rows.where("label = 'p1'"))
    assert rows_by_delta_rs(tmp_path) == rows_of(rows)


@pytest.mark.parametrize(
    ("properties", "metadata", "message"),
    [
        ({"delta.constraints.positive": "absent > 0"}, {}, "checkConstraints: positive cannot be checked"),
        ({}, {"delta.generationExpression": "absent + 1"}, "generatedColumns: label cannot be checked"),
        (
            {},
            {"delta.identity.start": 1, "delta.identity.step": 1},
            "identityColumns: whether rows satisfy the rule of column label",
        ),
        ({}, {"delta.invariants": "{}"}, "invariants: whether rows satisfy the rule of column label"),
        ({}, {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}, r"char\(3\), and this package does not check lengths"),
    ],
)
def test_what_rows_must_obey_is_refused_by_name_before_a_job(spark, tmp_path, properties, metadata, message):
    fields = [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "k", "type": "long", "nullable": True, "metadata": {}},
        {"name": "label", "type": "string", "nullable": True, "metadata": metadata},
    ]
    text = json.dumps({"type": "struct", "fields": fields})
    deltalog.create_table(tmp_path, text, properties=properties)
    with pytest.raises(PruneError, match=message):
        pr.write(never(spark), tmp_path, layout=LAYOUT)
    assert directories(tmp_path) == []


def test_rows_are_held_to_constraints_in_the_pass_that_writes_them(spark, tmp_path):
    generated = {"delta.generationExpression": "concat('n', k)"}
    fields = [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "k", "type": "long", "nullable": True, "metadata": {}},
        {"name": "label", "type": "string", "nullable": True, "metadata": generated},
    ]
    properties = {"delta.constraints.positive": "id > 0", "delta.constraints.short": "length(label) < 9 -- signs"}
    schema = json.dumps({"type": "struct", "fields": fields})
    deltalog.create_table(tmp_path, schema, partition_by=["label"], properties=properties)
    good = spark.range(1, 50).selectExpr("id", "id % 3 AS k", "concat('n', id % 3) AS label")
    pr.write(good, tmp_path, layout=LAYOUT, mode="overwrite")
    assert rows_by_delta_rs(tmp_path) == rows_of(good)
    broken = {
        "positive is not true in at least one row: id > 0": "SELECT NULL AS id, 1L AS k, 'n1' AS label",
        r"generatedColumns: label differs from its .* in at least one row: concat\('n', k\)": (
            "SELECT 1L AS id, 1L AS k, '' AS label"
        ),
    }
    before = directories(tmp_path)
    for message, rows in broken.items():
        one = spark.sql(rows).selectExpr("CAST(id AS BIGINT) AS id", "k", "label")
        with pytest.raises(RefusedCommit, match=message):
            pr.write(good.unionAll(one), tmp_path, layout=LAYOUT)
    assert directories(tmp_path) == before
    assert deltalog.open_snapshot(tmp_path).version == 1


def test_other_partitions_modes_and_conditions_are_refused_before_a_job(spark, numbers, tmp_path):
    pr.write(numbers.select("id", "k", "label"), tmp_path, layout=PARTED, format="delta")
    with pytest.raises(LayoutError, match="is partitioned by label, and a write cannot change it"):
        pr.write(never(spark), tmp_path, layout=pr.LayoutSpec(partition_by=["k"]))
    with pytest.raises(WrongUse, match="this Delta table exists already"):
        pr.write(never(spark), tmp_path, layout=LAYOUT, mode="error")
    with pytest.raises(WrongUse, match="only for mode 'overwrite'"):
        pr.write(never(spark), tmp_path, layout=LAYOUT, where="label = 'x'")
    for where in ("label = 'x' AND k = 3", "hash(k) = 3"):
        with pytest.raises(WrongUse) as refused:
            pr.write(never(spark), tmp_path, layout=LAYOUT, mode="overwrite", where=where)
        problem = "must be a condition on only the partition columns (label), but it uses k"
        assert str(refused.value) == f"where: {where} {problem}"
    assert len(directories(tmp_path)) == 1


def test_a_new_table_is_held_to_the_condition_too(spark, numbers, tmp_path):
    rows = numbers.select("id", "k", "label").where("label = 'a/b= %1'")
    options = {"layout": PARTED, "format": "delta", "mode": "overwrite"}
    with pytest.raises(PruneError, match="not among the partitions to overwrite"):
        pr.write(rows, tmp_path, where="label = 'y'", **options)
    assert pr.read(tmp_path, where="true", session=spark).count() == 0
    assert pr.write(rows, tmp_path, where="label LIKE 'a%'", **options).rows == 150


def test_a_job_that_fails_leaves_the_table_as_it_was(spark, numbers, tmp_path):
    pr.write(numbers.select("id", "k", "label"), tmp_path, layout=LAYOUT, format="delta")
    before = directories(tmp_path)
    with pytest.raises(Exception, match="a job ran"):
        pr.write(never(spark), tmp_path, layout=LAYOUT)
    assert directories(tmp_path) == before
    assert deltalog.open_snapshot(tmp_path).version == 0


def test_an_append_that_comes_between_survives_and_an_overwrite_gives_way(spark, numbers, tmp_path, monkeypatch):
    pr.write(numbers, tmp_path, layout=LAYOUT, format="delta")
    real = writing._adds

    def late(snapshot, files):
        with monkeypatch.context() as patch:
            patch.setattr(writing, "_adds", real)
            pr.write(numbers.limit(5), tmp_path, layout=LAYOUT)
        return real(snapshot, files)

    monkeypatch.setattr(writing, "_adds", late)
    assert pr.write(numbers, tmp_path, layout=LAYOUT).version == 2
    assert pr.read(tmp_path, where="true", session=spark).count() == 1_205
    before = len(directories(tmp_path))
    with pytest.raises(CommitConflict):
        pr.write(numbers, tmp_path, layout=LAYOUT, mode="overwrite")
    assert len(directories(tmp_path)) == before + 1
    assert pr.read(tmp_path, where="true", session=spark).count() == 1_210


@pytest.mark.parametrize("mode", ["append", "replace_partitions", "overwrite"])
def test_a_write_that_adds_and_removes_nothing_makes_no_version(spark, tmp_path, mode):
    layout = pr.LayoutSpec(partition_by=["day"])
    days = spark.sql("SELECT id, DATE '2024-01-01' AS day FROM range(5)")
    first = days.where("false") if mode == "overwrite" else days
    pr.write(first, tmp_path, layout=layout, format="delta")
    written = pr.write(days.where("false"), tmp_path, layout=layout, mode=mode)
    assert (written.version, written.rows, written.removed) == (0, 0, ())
    assert [path.name for path in (tmp_path / "_delta_log").glob("*.json")] == [f"{0:020d}.json"]
