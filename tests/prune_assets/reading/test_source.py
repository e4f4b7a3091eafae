"""The Python data source: the rows and columns that Spark's own reader gives, and what it does not read by name."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from workload.cases import sample
from workload.tables import QUICK, TABLES, Ground

import prune_assets as pr
from parquet_core.access_plan import Verdict
from parquet_core.errors import PruneError, StaleTable, UnknownColumn, UnsupportedFeature, WrongUse
from prune_assets.reading.scan_tasks import WINDOW_BYTES
from tests.fuzz.planner.truth import settings
from tests.peers.delta_matrix import GOLDEN
from tests.peers.plain_rows import plain_rows

spark_source = pytest.importorskip("pyspark.sql.datasource", reason="Spark 3.5 has no Python data source")
PruneDataSource = pytest.importorskip("prune_assets.reading.source").PruneDataSource

# Every type that is read, with what readers differ on: old dates, INT96, NaN, null, texts of no plain letters.
ODD = """
    SELECT id, timestamp'1900-01-01 00:00:00.123456' - make_dt_interval(id) AS at,
      date'1500-01-01' + CAST(id AS INT) AS day,
      timestamp_ntz'2020-01-01 00:00:00' AS local, IF(id % 3 = 0, NULL, concat('t\\u00e9', id)) AS text,
      CAST(IF(id = 4, double('nan'), -id) AS FLOAT) AS small, IF(id = 5, double('nan'), -0.0D * id) AS wide,
      CAST(id AS TINYINT) AS tiny, CAST(id AS SMALLINT) AS short, binary(CAST(id AS STRING)) AS bytes,
      CAST(id * 1.23 AS DECIMAL(9, 2)) AS price, CAST(id * 1.23 AS DECIMAL(20, 2)) AS total, id % 2 = 0 AS even,
      id % 4 AS part
    FROM range(20)
"""
WHERE = [
    "id BETWEEN 3 AND 9 AND part <> 1",
    "text LIKE 't_1%' OR NOT even AND id < 3",
    "wide = double('nan') OR small < -17 OR price > 22.0",
    "text IS NULL AND day >= DATE'1500-01-05'",
    "part = 2 AND id <= total",
    "id > 1000",
]


def options(**given):
    return spark_source.CaseInsensitiveDict(given)


def read_here(**given):
    """Read in this process what the tasks of Spark would read."""
    source = PruneDataSource(options(**given))
    reader = source.reader(source.schema())
    return [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]


def rows_of(frame):
    return plain_rows(frame.toArrow().to_pylist())


@pytest.fixture(scope="module")
def odd(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("odd") / "table")
    spark.sql(ODD).repartition(2, "part").write.partitionBy("part").parquet(place)
    return place


@pytest.mark.spark
def test_a_source_gives_rows_and_schema_of_sparks_reader(spark, odd):
    pr.register_source(spark)
    found = spark.read.format("prune").option("where", WHERE[0]).load(odd)
    wanted = spark.read.parquet(odd).where(WHERE[0])
    assert found.schema == wanted.schema
    assert rows_of(found) == rows_of(wanted)
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW odd USING prune OPTIONS (path '{odd}', where 'id < 9', columns 'part,at')"
    )
    seen = spark.sql("SELECT * FROM odd WHERE part = 1")
    assert rows_of(seen) == rows_of(spark.read.parquet(odd).where("id < 9 AND part = 1").select("part", "at"))
    with pytest.raises(PySparkException, match="unknown column tex: did you mean text"):
        spark.read.format("prune").option("columns", "tex").load(odd)


@pytest.mark.spark
@pytest.mark.parametrize("where", WHERE)
def test_rows_are_those_that_spark_selects(where, spark, odd):
    assert plain_rows(read_here(path=odd, where=where)) == rows_of(spark.read.parquet(odd).where(where))


def of_ids(place, count=1000, **columns):
    pq.write_table(pa.table({"id": range(count), **columns}), place / "part-0.parquet", row_group_size=100)
    return str(place)


def groups_of(task):
    read = task.part.access.verdict != Verdict.SKIP
    return np.flatnonzero(read).tolist()


def test_tasks_hold_about_as_many_bytes_as_one_should(tmp_path, monkeypatch):
    monkeypatch.setattr("prune_assets.reading.scan_tasks.WINDOW_BYTES", 2_000)
    source = PruneDataSource(options(path=of_ids(tmp_path)))
    tasks = source.reader(source.schema()).partitions()
    assert [group for task in tasks for group in groups_of(task)] == [*range(10)]
    assert 1 < len(tasks) < 10
    assert WINDOW_BYTES == 64 << 20


def test_a_task_that_was_sent_gives_the_rows_of_its_row_groups(tmp_path):
    table = of_ids(tmp_path, spot=[{"lat": i, "tags": [str(i), None]} for i in range(1000)])
    pq.write_table(pa.table({"id": [451, 7], "spot": [{"lat": 1, "tags": ["x"]}, None]}), tmp_path / "part-1.parquet")
    where = "id BETWEEN 390 AND 610 AND id % 7 = 3"
    source = PruneDataSource(options(path=table, where=where))
    reader = source.reader(source.schema())
    (task,) = reader.partitions()
    assert groups_of(task) == [3, 4, 5, 6, 10]
    sent, reader = pickle.loads(pickle.dumps((task, reader)))
    found = [row for batch in reader.read(sent) for row in batch.to_pylist()]
    assert found == pr.read_arrow(table, where=where).to_pylist()
    assert len(found) == 32


REFUSED = {
    "time": ({"part": pa.array([1] * 1000, pa.time32("s"))}, {}, UnsupportedFeature, "column 'part'"),
    "nanoseconds": ({"part": pa.array([1] * 1000, pa.timestamp("ns"))}, {}, UnsupportedFeature, "column 'part'"),
    "left to Spark": ({}, {"where": "hash(id) = 3"}, UnsupportedFeature, "let Spark evaluate it"),
    "column": ({}, {"columns": "idd"}, UnknownColumn, "idd"),
    "option": ({}, {"wher": "id = 3"}, WrongUse, "option 'wher'"),
    "flag": ({}, {"ansi": "yes"}, WrongUse, "option ansi='yes'"),
    "zone": (
        {"at": pa.array([86_400_000_000] * 1000, pa.timestamp("us", "UTC"))},
        {"where": "at < TIMESTAMP '1970-01-02 00:00:00'"},
        UnsupportedFeature,
        "zone",
    ),
}


@pytest.mark.parametrize(("columns", "given", "error", "said"), REFUSED.values(), ids=REFUSED)
def test_what_it_does_not_read_is_refused_by_name(columns, given, error, said, tmp_path):
    with pytest.raises(error, match=said):
        read_here(path=of_ids(tmp_path, **columns), **given)


def test_other_columns_of_such_a_table_are_read(tmp_path):
    table = of_ids(tmp_path, part=pa.array([1] * 1000, pa.time32("s")))
    assert read_here(path=table, columns="id", where="id >= 998") == [{"id": 998}, {"id": 999}]


def test_a_column_that_is_filtered_need_not_be_returned(tmp_path):
    table = of_ids(tmp_path, at=pa.array(range(1000), pa.timestamp("us", "UTC")))
    where = "at >= TIMESTAMP '1970-01-01 01:00:00.000998'"
    assert read_here(path=table, columns="id", where=where, timeZone="+01:00") == [{"id": 998}, {"id": 999}]


def test_a_file_that_stores_another_type_is_refused(tmp_path):
    table = of_ids(tmp_path)
    pq.write_table(pa.table({"id": ["x"]}), tmp_path / "part-1.parquet")
    with pytest.raises(UnsupportedFeature, match=r"part-1\.parquet stores it as another type"):
        read_here(path=table)


def test_files_that_lack_a_column_have_null_there(tmp_path):
    table = of_ids(tmp_path, count=2, more=[1, 2])
    pq.write_table(pa.table({"id": [7]}), tmp_path / "part-1.parquet")
    assert read_here(path=table, columns="more", where="id > 0") == [{"more": 2}, {"more": None}]


def test_a_file_that_changed_since_the_plan_is_told(tmp_path):
    source = PruneDataSource(options(path=of_ids(tmp_path)))
    reader = source.reader(source.schema())
    (task,) = reader.partitions()
    of_ids(tmp_path, count=5)
    with pytest.raises(StaleTable, match=r"part-0\.parquet: changed since it was planned; load it again"):
        list(reader.read(task))


@pytest.mark.spark
@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "table", sorted(place.parent for place in GOLDEN.glob("*/_delta_log")), ids=lambda path: path.name
)
def test_golden_delta_tables_have_the_rows_of_read_or_are_refused(table, spark):
    try:
        wanted = pr.read(spark, table, where="true")
    except PruneError:
        with pytest.raises(PruneError):
            read_here(path=str(table))
        return
    try:
        found = read_here(path=str(table))
    except UnsupportedFeature as refused:
        assert "column '" in str(refused)  # noqa: PT017 - or the rows are compared
        return
    assert plain_rows(found) == rows_of(wanted)
    assert PruneDataSource(options(path=str(table))).schema() == wanted.schema


@pytest.fixture(scope="module")
def ground(spark, tmp_path_factory):
    # Spark's own reader of Parquet loses rows of NaN beyond the bounds, where it is asked for them.
    with settings(spark, QUICK | {"spark.sql.parquet.filterPushdown": "false"}):
        yield Ground(tmp_path_factory.mktemp("workload"), spark)


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("table", sorted(TABLES))
def test_ordinary_predicates_select_the_rows_that_spark_selects(table, ground):
    path, decided, refused = str(ground.path(table)), 0, []
    for case in sample(20, table=table):
        try:
            found = read_here(path=path, where=case.predicate, timeZone="UTC")
        except PruneError as error:
            refused.append(str(error))
            continue
        try:
            wanted = rows_of(ground.frame(table).where(case.predicate))
        except PySparkException:
            continue
        assert plain_rows(found) == wanted, case.id
        decided += 1
    # All is refused where the table has a column that is not read here, a nested one say.
    assert decided > 0 or all("column '" in said for said in refused), refused
