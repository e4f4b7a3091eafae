"""Measure the whole way from executed queries to the advised layout, in one Spark session.

Spark runs the queries of a workload and writes its event log. The log is read as a workload, advice is computed from it
and applied. Then each query runs on the original and on the rewritten table, alternating. The original tables are
written by Spark in arrival order, with the same compression codec as layouts. Bytes and CPU seconds are read from Linux
for the Spark process, because Spark's own metrics omit Parquet's vectored reads.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.table import Table

from benchmarks.advisor import CACHE, WORKLOAD
from benchmarks.advisor_workloads import DIRECTORY, KINDS, workload
from benchmarks.reads import generated
from parquet_core.quantities import bytes_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

NAME = "advisor end to end"
TURNS = 3
# On tables that Spark reads in under 0.1 s, the fixed cost of a job hides the effect of the layout.
_ROWS = 2_000_000
# File size before advice, as a Spark job with several tasks leaves it.
_FILE_BYTES = 32 << 20


class Case(NamedTuple):
    """A table, the conditions of its queries, and the expression that each query sums."""

    name: str
    wheres: Sequence[str]
    sums: str


class Ran(NamedTuple):
    """Wall-clock seconds, CPU seconds and bytes read by a query."""

    seconds: float
    processor: float
    bytes: int


CASES = [
    Case("lineitem", WORKLOAD, "l_extendedprice * (1 - l_discount)"),
    Case("store_sales", workload(KINDS["store_sales"], 0), "hash(*)"),
    Case("flights", workload(KINDS["flights"], 0), "hash(*)"),
]


def end_to_end() -> Table:
    """Measure each table before and after applying advice."""
    from prune_assets.spark.spark_session import spark_session

    os.environ["PRUNE_CACHE_DIR"] = str(CACHE.absolute())
    logs = (DIRECTORY / "event-logs").absolute()
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": logs.as_uri()}
    spark = spark_session(master="local[2]", conf={"spark.driver.memory": "4g", **logged})
    titles = (
        "table",
        "advised",
        "advice, rewrite",
        "seconds",
        "processor",
        "bytes fetched",
        "bytes planned",
        "event logs",
    )
    table = Table(*titles, title=f"the queries of a workload once each, before -> after, medians of {TURNS} turns")
    for case in CASES:
        table.add_row(*_row(spark, case, str(logs)))
        print(*(list(column.cells)[-1] for column in table.columns), sep=" | ", flush=True)
    spark.stop()
    return table


def _row(spark: SparkSession, case: Case, logs: str) -> list[str]:
    import prune_assets as pr

    before, table = _made(spark, case)
    opened = spark.read.parquet(table)
    for where in case.wheres:
        _run(opened, where, case.sums)
    times = [time.perf_counter()]
    observed = pr.Workload.read(logs, table=table)
    advice = pr.advise(table, workload=observed, session=spark, in_place=True)
    times.append(time.perf_counter())
    applied = advice.apply(workload=observed, session=spark)
    times.append(time.perf_counter())
    since, sides = dt.datetime.now(dt.UTC), [spark.read.parquet(place) for place in (before, table)]
    turns = [[_run(side, where, case.sums) for where in case.wheres for side in sides] for _ in range(TURNS)]
    outcome = advice.outcome(pr.Workload.read(logs, table=table, since=since))
    return [
        f"{case.name}\n{len(case.wheres)} queries, {sum(shape.runs for shape in observed.shapes):g} in the log",
        "" if advice.advised is None else advice.advised.title,
        f"{times[1] - times[0]:.0f} s, {times[2] - times[1]:.0f} s",
        *_measured(turns),
        f"{bytes_text(applied.before)} -> {bytes_text(applied.now)}, promised {bytes_text(applied.promised)}",
        str(outcome).partition(": ")[2],
    ]


def _measured(turns: Sequence[Sequence[Ran]]) -> list[str]:
    """Return the totals of all queries before and after; each query counts with its median over the turns."""
    runs = np.median(np.array(turns), axis=0)
    texts = [[f"{one.seconds:.1f} s", f"{one.processor:.1f} s", bytes_text(round(one.bytes))] for one in _sides(runs)]
    return [f"{then} -> {now}" for then, now in zip(*texts, strict=True)]


def _sides(runs: np.ndarray) -> list[Ran]:
    return [Ran(*runs[side::2].sum(axis=0).tolist()) for side in (0, 1)]


def _run(table: DataFrame, where: str, sums: str) -> Ran:
    spark = table.sparkSession.sparkContext._gateway.proc.pid
    before = _taken(spark)
    table.where(where).selectExpr("count(*)", f"sum({sums})").collect()
    return Ran(*(now - then for now, then in zip(_taken(spark), before, strict=True)))


def _taken(process: int) -> Ran:
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    fetched = Path(f"/proc/{process}/io").read_text().partition("rchar: ")[2].split()[0]
    return Ran(time.perf_counter(), sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), int(fetched))


def _made(spark: SparkSession, case: Case) -> tuple[str, str]:
    """Return a table as Spark writes it, and a copy to rewrite."""
    import pyarrow.parquet as pq

    before, table = (DIRECTORY.absolute() / "end-to-end" / f"{case.name}{part}" for part in ("-before", ""))
    if not (before / "_SUCCESS").is_file():
        rows = generated()
        if case.name != "lineitem":
            rows = DIRECTORY / f"{case.name}-{_ROWS}.parquet"
            pq.write_table(KINDS[case.name].rows(_ROWS), rows, row_group_size=250_000)
        spark.conf.set("spark.sql.files.maxPartitionBytes", _FILE_BYTES)
        spark.read.parquet(str(rows)).write.mode("overwrite").option("compression", "zstd").parquet(str(before))
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    shutil.rmtree(table, ignore_errors=True)
    shutil.copytree(before, table)
    return str(before), str(table)
