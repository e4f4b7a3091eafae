"""Compare `pr.read` of a Delta table with 10,000 files and delta-spark's reader, alternating in one session.

delta-spark is fetched from Maven and must match the PySpark of this environment: 4.4.0 is built for Spark 4.2 and reads
nothing under 4.3. Run `PATH_OF_A_VENV_WITH_PYSPARK_4_2/bin/python -m benchmarks "read, Delta"`. If Spark cannot
download the jars itself, put them (delta-spark, delta-storage, delta-kernel) into the directory PRUNE_DELTA_SPARK_JARS.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
from rich.table import Table

from benchmarks.many_files import many_files
from benchmarks.writes import PAIRS, figures

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

NAME = "read, Delta of 10,000 files"
PACKAGE = "io.delta:delta-spark_2.13:4.4.0"
COPIES = 10
PLACE = Path(".bench") / "delta_10000"
CACHE = Path(".bench") / "cache"
ONE_DAY = "l_shipdate = DATE '1994-01-03'"
JARS = ",".join(map(str, Path(os.environ.get("PRUNE_DELTA_SPARK_JARS", "nowhere")).glob("*.jar")))
SETTINGS = {
    **({"spark.jars": JARS} if JARS else {"spark.jars.packages": PACKAGE}),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.driver.memory": "4g",
}


def delta_reads() -> Table:
    """Measure reads of one day; delta-spark both with a cleared and with a cached log."""
    from prune_assets.spark.spark_session import spark_session

    os.environ["PRUNE_CACHE_DIR"] = str(CACHE.absolute())
    place = str(_table().absolute())
    spark = spark_session(master="local[2]", conf=SETTINGS)
    table = Table("read | beside", "ours", "beside", "ratio", "95 % interval", "bar", title=f"{PAIRS} pairs each")
    turns = [_turn(spark, place) for _ in range(PAIRS + 1)][1:]
    spark.stop()
    table.add_row("one day | delta-spark", *figures(turns, "ours", "delta-spark"), "0.25")
    table.add_row("the same | delta-spark, log held", *figures(turns, "ours", "held"), "")
    return table


def _turn(spark: SparkSession, place: str) -> dict[str, float]:
    import prune_assets as pr

    def by_delta_spark() -> DataFrame:
        return spark.read.format("delta").load(place).where(ONE_DAY)

    ours = _seconds(lambda: pr.read(place, where=ONE_DAY, session=spark))
    held = _seconds(by_delta_spark)
    # A job that runs once a day starts without a cached log.
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    return {"ours": ours, "held": held, "delta-spark": _seconds(by_delta_spark)}


def _seconds(side: Callable[[], DataFrame]) -> float:
    started = time.perf_counter()
    side().selectExpr("count(*)", "sum(l_extendedprice)").collect()
    return time.perf_counter() - started


def _table() -> Path:
    """Return a Delta table with a checkpoint: 1,000 lineitem files under ten names each; created once."""
    import deltalog

    if (PLACE / "_delta_log" / "_last_checkpoint").is_file():
        return PLACE
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    files = sorted(many_files().glob("*.parquet"))
    names = [f"copy-{copy}-{file.name}" for file in files for copy in range(COPIES)]
    for name in names:
        os.link(many_files() / name.split("-", 2)[2], PLACE / name)
    place = str(PLACE.absolute())
    deltalog.create_table(place, pq.read_schema(files[0]))
    made = deltalog.open_snapshot(place)
    deltalog.append(made, deltalog.adds_of(place, made.schema, [deltalog.NewFile(name) for name in names]))
    deltalog.write_checkpoint(place)
    return PLACE
