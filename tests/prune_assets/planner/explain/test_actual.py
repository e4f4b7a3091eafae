from __future__ import annotations

import pytest
from needs_spark import VERSION
from spark_reader_names import ALONE, HANDED_OVER

import prune_assets as pr
from parquet_core.errors import WrongUse
from prune_assets.planner.explain.actual import READ
from prune_assets.spark.scan_metrics import counting_bytes
from prune_assets.spark.spark_versions import to_arrow

pytestmark = pytest.mark.spark

DELTA_ALONE = "Spark and delta-spark alone"
ROWS = (
    "id",
    "id % 10 AS k",
    "CAST(id AS STRING) AS s",
    "date_add(DATE '2024-01-01', CAST(id / 100 AS INT)) AS day",
    "CAST(id % 3 AS INT) AS p",
)
LAYOUT = pr.LayoutSpec(
    sort_by=["day", "id"],
    partition_by=["p"],
    files=6,
    row_group_rows=100 if VERSION >= (4, 1) else None,
    page_rows=20,
    bloom={"k": 0.01},
)
WHERES = [
    "id < 50",
    "p = 1 AND id < 50",
    "k = 3 AND id > 2900",
    "year(day) = 2024 AND month(day) = 1 AND day > DATE '2024-01-20'",
    "s LIKE '29%'",
    "id IN (5, 1000)",
    "k = 77",
    "p > 0",
    "p = 1 OR id < 10",
    "day <> DATE '2024-01-01'",
]


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    place = tmp_path_factory.mktemp("tables")
    rows = spark.range(3_000).selectExpr(*ROWS)
    for kind in ("delta", "parquet"):
        pr.write(rows, place / kind, layout=LAYOUT, format=kind)
    return place


def engines(report):
    return {engine.name: engine for engine in report.engines}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", ["delta", "parquet"])
@pytest.mark.parametrize("where", WHERES)
def test_what_spark_reads_is_what_was_foretold(spark, tables, kind, where):
    made = pr.plan(tables / kind, where=where, session=spark)
    with counting_bytes(spark):
        frame = pr.read(tables / kind, where=where, session=spark, plan=made)
        frame.collect()
        found = engines(made.report_after(frame))
    kept, foretold = found[READ].kept, found[HANDED_OVER].kept
    assert (kept.files, found[READ].why, found[READ].estimated) == (foretold.files, "", False)
    if kind == "delta" and where.startswith("p = 1 OR"):
        # Read partition by partition, with the value of p put in.
        # An estimate, which varies with the files that Spark makes of the rows before 4.1.
        assert (kept.rows, found[HANDED_OVER].estimated) == (1_040, True)
        assert foretold.rows in ({2_000} if VERSION >= (4, 1) else {2_000, 2_500})
    else:
        assert kept.rows == foretold.rows
    assert [*found] == [DELTA_ALONE if kind == "delta" else ALONE, HANDED_OVER, "best possible", READ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("column", ["id", "s", "ts"])
def test_bytes_are_never_those_of_footers_alone(spark, tmp_path, column):
    """Spark does not count vectored reads, which are the default: of a table of any type it tells footers alone."""
    times = spark.range(60_000).selectExpr("id", "CAST(hash(id) AS STRING) AS s", "timestamp_micros(id * 7919) AS ts")
    pr.write(times, tmp_path / "t", layout=pr.LayoutSpec(sort_by=["id"], files=2))
    where = f"{column} IS NOT NULL"
    made = pr.plan(tmp_path / "t", where=where, session=spark, columns=[column])

    def read():
        frame = pr.read(tmp_path / "t", where=where, session=spark, plan=made, columns=[column])
        to_arrow(frame)
        return engines(made.report_after(frame))[READ]

    with counting_bytes(spark):
        counted = read()
    told, predicted = read(), engines(made.report)[HANDED_OVER].kept.bytes
    assert not counted.estimated
    assert predicted < counted.kept.bytes < 2 * predicted, "footers and page indexes come on top"
    assert (told.kept.rows, told.kept.bytes, told.estimated) == (60_000, predicted, True)
    assert told.why.startswith("the bytes are predicted: Spark does not count bytes of vectored reads")


def test_a_difference_is_said_with_figures(spark, tables):
    made = pr.plan(tables / "delta", where="id < 50", session=spark)
    other = pr.read(tables / "delta", where="id < 500", session=spark)
    other.groupBy().count().collect()
    with pytest.raises(WrongUse, match="call its collect"):
        made.report_after(other)
    other.collect()
    report = made.report_after(other)
    assert engines(report)[READ].why.startswith(
        "540 rows where 60 were predicted (+800%); the bytes are the sizes of whole"
    )
    assert READ in str(report)
    assert "540 rows where 60 were predicted" in report.to_html()
    assert made.report_after(other).engines == report.engines


def test_of_delta_alone_partitions_and_statistics_of_the_log_leave_files_out(tables):
    by_partition = engines(pr.plan(tables / "delta", where="p = 1").report)[DELTA_ALONE].kept
    by_statistics = engines(pr.plan(tables / "delta", where="id < 50").report)[DELTA_ALONE].kept
    neither = engines(pr.plan(tables / "delta", where="id % 7 = 3").report)[DELTA_ALONE].kept
    assert (by_partition.files, by_statistics.files, neither.files) == (2, 3, 6)
    assert (by_partition.rows, neither.rows) == (1_000, 3_000)


def test_jobs_are_named_for_the_table_behind_what_the_user_calls_them(spark, tmp_path):
    spark.sparkContext.setJobDescription("nightly")
    try:
        pr.write(spark.range(100), tmp_path / "t", layout=pr.LayoutSpec(sort_by=["id"], files=2))
        assert spark.sparkContext.getLocalProperty("spark.job.description") == "nightly"
    finally:
        spark.sparkContext.setLocalProperty("spark.job.description", None)
    store = spark._jsparkSession.sharedState().statusStore()
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    found = [store.executionsList().apply(i).description() for i in range(store.executionsList().size())]
    assert {f"nightly: write {tmp_path / 't'}", f"nightly: write {tmp_path / 't'}: measure"} <= {*found}
