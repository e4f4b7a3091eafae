"""A log that Spark writes now: each predicate selects the rows that Spark's scan selected."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from hadoop_aws import spark_process
from printed_plans import make_table

import prune_assets as pr
from prune_assets.reading.comparison import compare

pytestmark = pytest.mark.spark
PREDICATES = [
    "user = 'New York'",
    "user = 'O\\'Brien' OR k > 40",
    "user IN ('abc', 'New York') AND day >= DATE '2024-01-20'",
    "k IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)",
    "ts >= TIMESTAMP '2024-01-05 10:00:00' AND price < 150.5",
    "s.a = 3 AND NOT flag AND startswith(user, 'a')",
    "d BETWEEN 10.5 AND 20.25 AND f > 11",
    "n IS NULL AND `odd name` = 2",
    "user LIKE 'N%' AND local < TIMESTAMP_NTZ '2024-01-20 00:00:00'",
]


def run_queries(spark, path):
    make_table(spark, path)
    table = spark.read.parquet(str(path))
    for adaptive in ("true", "false"):
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        for predicate in PREDICATES:
            table.where(predicate).groupBy("user").count().collect()
    spark.stop()


@pytest.mark.deep
@pytest.mark.parametrize("codec", ["none", "snappy", "zstd"])
def test_predicates_select_what_the_scans_selected(tmp_path, codec):
    (tmp_path / "log").mkdir()
    log = {"enabled": "true", "dir": (tmp_path / "log").as_uri(), "compress": str(codec != "none").lower()}
    log |= {"compression.codec": codec} if codec != "none" else {}
    settings = {f"spark.eventLog.{name}": value for name, value in log.items()}
    with spark_process([], **settings, **{"spark.sql.session.timeZone": "America/New_York"}) as run:
        run(run_queries, tmp_path / "table")
    found = pr.Workload.read(tmp_path / "log")
    shapes = [shape for shape in found.shapes if shape.shape]
    # The plan that writes the table, whose texts look like operators, has no scan.
    assert (found.problems, found.not_understood) == ((), {})
    assert sum(shape.runs for shape in shapes) == 2 * len(PREDICATES)
    for shape in shapes:
        ((where, runs, _),) = shape.predicates
        selected = pr.count(tmp_path / "table", where=where, semantics=pr.SparkSemantics(time_zone="UTC"))
        assert (selected * runs, 800 * runs) == (shape.totals.rows_selected, shape.totals.rows_read), where
        assert selected > 0


def maintain(spark, table):
    """Run maintenance by prune-assets, and one user query before and after."""
    where = "id < 100"
    spark.read.parquet(str(table)).where(where).collect()
    pr.optimize(str(table), layout=pr.LayoutSpec(sort_by=["k"]), session=spark, full=True)
    compare(spark, pr.plan(str(table), where=where, session=spark), table=str(table), where=where)
    advice = pr.advise(str(table), workload=["k = 7"])
    advice.verify(workload=["k = 7"], session=spark)
    pr.read(str(table), where=where, session=spark).collect()
    # The rows that a user writes are read by a query of the user, once; measuring them is not one.
    rows = spark.read.parquet(str(table)).where("id > 900")
    pr.write(rows, str(table.parent / "copy"), layout=pr.LayoutSpec(sort_by=["k"], files=2))
    tags = {str(tag) for tag in spark.sparkContext.getJobTags()}
    spark.stop()
    return tags


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_jobs_of_prune_assets_itself_are_left_out_and_counted(tmp_path):
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"k": [i % 10 for i in range(1000)], "id": range(1000)}), tmp_path / "t" / "0.parquet")
    (tmp_path / "log").mkdir()
    settings = {"enabled": "true", "dir": (tmp_path / "log").as_uri(), "compress": "false"}
    with spark_process([], **{f"spark.eventLog.{name}": value for name, value in settings.items()}) as run:
        assert run(maintain, tmp_path / "t") == set()
    found = pr.Workload.read(tmp_path / "log")
    assert {(shape.table, shape.shape): shape.runs for shape in found.shapes} == {
        (str(tmp_path / "t"), "id < ?"): 2.0,
        (str(tmp_path / "t"), "id > ?"): 1.0,
    }
    # A rewrite, its measure, two readings of a comparison, and what verifying reads and writes.
    assert found.own_queries >= 5


WIDE = [
    "c33 = 40",
    "c33 > 60 AND c34 = '80'",
    "c39 IN (41, 42, 43) AND c1 < 100",
    "upper(c34) = '50' OR c35 = 60",
    "c36 LIKE '5%' AND c1 > 2",
    "c33 + 1 > 40",
    "c34 = 'c36#99' OR c36 = '(20)'",
    "s.`a-b` = 3 AND c35 = 38",
]


def run_wide_queries(spark, path):
    columns = [f"cast(id + {i} AS {'int' if i % 2 else 'string'}) AS c{i}" for i in range(40)]
    columns[36] = "if(id = 20, '(20)', cast(id + 36 AS string)) AS c36"
    struct = "named_struct('a-b', cast(id AS int)) AS s"
    spark.range(50).selectExpr(struct, *columns).coalesce(1).write.parquet(str(path))
    for mode in ("formatted", "simple", "extended"):
        spark.conf.set("spark.sql.ui.explainMode", mode)
        for predicate in WIDE:
            spark.read.parquet(str(path)).where(predicate).collect()
    spark.stop()


@pytest.mark.deep
def test_plans_that_print_few_columns_have_the_conditions_on_the_others(tmp_path):
    (tmp_path / "log").mkdir()
    settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": (tmp_path / "log").as_uri()}
    settings |= {"spark.eventLog.compress": "false", "spark.sql.debug.maxToStringFields": "7"}
    with spark_process([], **settings) as run:
        run(run_wide_queries, tmp_path / "table")
    found = pr.Workload.read(tmp_path / "log")
    assert (found.problems, found.not_understood) == ((), {})
    assert sum(shape.runs for shape in found.shapes) == 3 * len(WIDE)
    for shape in found.shapes:
        # Plans that print fewer columns are variants of their own.
        (where,), runs = {it.where for it in shape.predicates}, sum(it.runs for it in shape.predicates)
        selected = pr.count(tmp_path / "table", where=where, semantics=pr.SparkSemantics(time_zone="UTC"))
        assert (selected * runs, shape.totals.files_read) == (shape.totals.rows_selected, runs), where
        assert selected > 0


def read_both(spark, days, ships):
    pr.read(str(days), where="id < 900", session=spark).collect()
    pr.read(str(days), where="id < 800", session=spark).collect()
    spark.read.parquet(str(ships)).where("id = 7").collect()
    spark.stop()


@pytest.mark.deep
def test_a_table_of_partitions_is_one_run_and_a_file_is_a_table(tmp_path):
    rows = pa.table({"day": [i % 10 for i in range(1000)], "id": range(1000)})
    write_deltalake(str(tmp_path / "days"), rows, partition_by=["day"])
    pq.write_table(rows, tmp_path / "ships.parquet")
    (tmp_path / "log").mkdir()
    settings = {"enabled": "true", "dir": (tmp_path / "log").as_uri(), "compress": "false"}
    with spark_process([], **{f"spark.eventLog.{name}": value for name, value in settings.items()}) as run:
        run(read_both, tmp_path / "days", tmp_path / "ships.parquet")
    found = pr.Workload.read(tmp_path / "log")
    ran = {shape.table: (shape.shape, shape.runs, shape.totals.files_read) for shape in found.shapes if shape.shape}
    assert ran == {
        str(tmp_path / "days"): ("id < ?", 2.0, 20),
        str(tmp_path / "ships.parquet"): ("id = ?", 1.0, 1),
    }
