# ruff: noqa: T201, S311 - it is there to be watched, and its draws keep no secret
"""The whole cycle on a table of visits: run queries, read their event log, compute advice, apply it, measure.

python circle.py [FOLDER]
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import prune_assets as pr

ROWS, FILES = 2_000_000, 16
SHOPS, DAYS = 2_000, 60


def session_with_event_log(log: Path) -> SparkSession:
    """Start a session that writes its event log to a folder, as a cluster does with `spark.eventLog.dir`."""
    log.mkdir(parents=True, exist_ok=True)
    builder = SparkSession.builder.master("local[2]").appName("dashboard")
    for key, value in {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log.as_uri(),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def write_visits(spark: SparkSession, table: str) -> None:
    """Write visits in arrival order, which helps no column that queries filter on."""
    visits = spark.range(0, ROWS, 1, FILES).selectExpr(
        "id",
        f"CAST(hash(id, 1) & 2147483647 AS BIGINT) % {SHOPS} AS shop",
        f"date_add(DATE '2024-01-01', CAST(id * {DAYS} / {ROWS} AS INT)) AS day",
        "uuid() AS visitor",
        "CAST(rand(7) * 100 AS DECIMAL(8, 2)) AS amount",
    )
    pr.write(visits, table, layout=pr.LayoutSpec(files=FILES), format="delta")


def run_dashboard(spark: SparkSession, table: str) -> None:
    """Run dashboard queries: most select one shop, some select a range of shops on one day."""
    draw = random.Random(1)
    for _ in range(20):
        where = f"shop = {draw.randrange(SHOPS)}"
        pr.read(table, where=where, session=spark).selectExpr("sum(amount)").collect()
    for _ in range(5):
        day, shop = draw.randrange(DAYS), draw.randrange(SHOPS)
        where = f"day = date_add(DATE '2024-01-01', {day}) AND shop BETWEEN {shop} AND {shop + 20}"
        pr.read(table, where=where, session=spark).selectExpr("sum(amount)").collect()


def rows_read(log: Path, table: str) -> int:
    """Return the rows that filtered queries in a log read from the table, by Spark's metrics.

    The rewrite has no filter, so its rows are not counted.
    """
    return sum(shape.totals.rows_read or 0 for shape in pr.Workload.read(log, table=table).shapes if shape.shape)


def main(folder: str = "lake") -> None:
    """Run the cycle once and print the result of each step."""
    lake = Path(folder).absolute()
    table, before, after = str(lake / "visits"), lake / "logs" / "before", lake / "logs" / "after"

    spark = session_with_event_log(before)
    write_visits(spark, table)
    run_dashboard(spark, table)
    spark.stop()

    workload = pr.Workload.read(before, table=table)
    advice = pr.advise(table, workload=workload)
    print(advice)
    if advice.advised is None:
        return

    spark = session_with_event_log(after)
    print(advice.apply(workload=workload, session=spark))
    run_dashboard(spark, table)
    spark.stop()
    print(f"rows that Spark read: {rows_read(before, table):,} before, {rows_read(after, table):,} after")


if __name__ == "__main__":
    main(*sys.argv[1:])
