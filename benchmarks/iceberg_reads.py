"""Compare `pr.read` of an Iceberg table by its catalog name and Iceberg's own reader, alternating in one session.

Iceberg's runtime is fetched from Maven and must match the PySpark of this environment: 1.11.0 is built for Spark 3.5,
4.0 and 4.1. Run `PATH_OF_A_VENV_WITH_PYSPARK_4_1/bin/python -m benchmarks "read, Iceberg"`.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
from rich.table import Table

from benchmarks.writes import PAIRS, figures

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

PLACE = Path(".bench") / "iceberg_reads"
TABLE = "bench.db.events"
FILES, ROWS = 200, 50_000
# 2024-01-01 00:00:00 UTC.
FIRST_SECOND = 1_704_067_200
SCALA = "2.12" if pyspark.__version__.startswith("3.") else "2.13"
PACKAGE = f"org.apache.iceberg:iceberg-spark-runtime-{pyspark.__version__[:3]}_{SCALA}:1.11.0"
# Bounds of users and sessions span the whole range in every file; only bloom filters find the one file of a session.
CASES = {
    "all kept": ("user >= 0", 1.05),
    "a session, by bloom filters": ("session = '73313-77-s'", 0.5),
    "a kind that few files have, by dictionaries": ("kind = 'k42'", 0.5),
    "a day by date_format, which Spark does not push down": ("date_format(seen, 'yyyy-MM-dd') = '2024-02-10'", 0.5),
    "the end of a kind, which Spark does not push down": ("kind LIKE '%k42'", 0.5),
}


def iceberg_reads() -> Table:
    """Measure each predicate; every run plans again."""
    from prune_assets.spark.spark_session import spark_session

    catalog = "spark.sql.catalog.bench"
    spark = spark_session(
        master="local[2]",
        conf={
            "spark.jars.packages": PACKAGE,
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            catalog: "org.apache.iceberg.spark.SparkCatalog",
            f"{catalog}.type": "hadoop",
            f"{catalog}.warehouse": str(PLACE.absolute()),
            "spark.driver.memory": "4g",
        },
    )
    _make(spark)
    table = Table("read | beside", "ours", "beside", "ratio", "95 % interval", "bar", title=f"{PAIRS} pairs each")
    for name, (where, bar) in CASES.items():
        turns = [_turn(spark, where) for _ in range(PAIRS + 1)][1:]
        table.add_row(f"{name} | Iceberg", *figures(turns, "ours", "Iceberg"), f"{bar:g}")
    spark.stop()
    return table


def _turn(spark: SparkSession, where: str) -> dict[str, float]:
    import prune_assets as pr

    return {
        "ours": _seconds(lambda: pr.read(TABLE, where=where, session=spark)),
        "Iceberg": _seconds(lambda: spark.table(TABLE).where(where)),
    }


def _seconds(side: Callable[[], DataFrame]) -> float:
    started = time.perf_counter()
    side().selectExpr("count(*)", "sum(amount)").collect()
    return time.perf_counter() - started


def _make(spark: SparkSession) -> None:
    """Create the table once, with bounds that do not distinguish its files."""
    if (PLACE / "made").is_file():
        return
    shutil.rmtree(PLACE, ignore_errors=True)
    spark.sql(
        f"CREATE TABLE {TABLE} (user BIGINT, seen TIMESTAMP, session STRING, kind STRING, amount DOUBLE, text STRING) "
        "USING iceberg TBLPROPERTIES ('write.parquet.bloom-filter-enabled.column.session'='true', "
        "'write.parquet.bloom-filter-max-bytes'='131072', 'write.distribution-mode'='none')"
    )
    rows = spark.range(0, FILES * ROWS, 1, FILES).selectExpr(
        f"id DIV {ROWS} AS file", f"id % {ROWS} AS row", f"hash(id) % {ROWS} AS user"
    )
    rows.selectExpr(
        "CAST(user AS BIGINT) AS user",
        f"timestamp_seconds({FIRST_SECOND} + file * 43200 + row DIV 2) AS seen",
        "reverse(concat('s-', file, '-', row)) AS session",
        # Each file has the smallest and the largest kind, and one kind of its own.
        "CASE row % 7 WHEN 0 THEN 'a' WHEN 1 THEN 'z' ELSE concat('k', file) END AS kind",
        "CAST(row AS DOUBLE) AS amount",
        "sha2(CAST(user AS STRING), 256) AS text",
    ).writeTo(TABLE).append()
    (PLACE / "made").touch()
