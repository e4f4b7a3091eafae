"""Compare MERGE as written with the same MERGE with the condition of `pr.plan_merge`, on copies of one Delta table.

delta-spark is fetched from Maven for the PySpark of this environment, 4.1 or 4.2; see `delta_reads.py` for jars.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.table import Table

from benchmarks.delta_reads import JARS
from benchmarks.delta_reads import SETTINGS as SETTINGS_OF_DELTA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "MERGE, Delta of 400 and of 695 files"
PAIRS = 5
PLACE = Path(".bench") / "merges"
WHEN = ("MATCHED UPDATE", "NOT MATCHED INSERT")
BAR_TIME, BAR_BYTES, BAR_PLANNING = 0.35, 1.1, 1.0
ROWS = 20_000  # of a file, about 330 KB
PLANNING = """
import time; started = time.perf_counter()
import sys, pyarrow.parquet as pq, prune_assets as pr
source = pq.read_table(sys.argv[2])
planned = pr.plan_merge(sys.argv[1], source, on="t.k = s.k", when=["MATCHED UPDATE", "NOT MATCHED INSERT"])
print(time.perf_counter() - started, planned.report.holding.files, planned.report.with_condition.files)
"""


def merges() -> Table:
    """Measure MERGEs of a hundred keys, and the planning of 100,000 keys in a new process."""
    from pyspark import __version__ as version

    from prune_assets.spark.spark_session import spark_session

    of_version = "_".join(["io.delta:delta-spark", ".".join(version.split(".")[:2]), "2.13:4.4.0"])
    package = {} if JARS else {"spark.jars.packages": of_version}
    spark = spark_session(master="local[2]", conf={**SETTINGS_OF_DELTA, **package, "spark.sql.shuffle.partitions": "4"})
    table = Table("MERGE", "with condition", "as written", "ratio", "bar", title=f"medians of {PAIRS} pairs")
    for what, case in {"400 files, sorted": _sorted(), "695 files, by day": _by_day()}.items():
        _measure(spark, table, what, case)
    spark.stop()
    seconds = _planning_seconds()
    table.add_row("plan 100,000 keys, 10,000 files, new process", f"{seconds:.2f} s", "", "", f"{BAR_PLANNING:.0f} s")
    return table


def _measure(spark: SparkSession, table: Table, what: str, case: tuple[Path, pa.Table, str]) -> None:
    from prune_assets.merging.run_merge import merge
    from prune_assets.spark.spark_versions import from_arrow
    from prune_assets.spark.statement_scans import observed_scans
    from prune_assets.sql.merge_statement import merge_statement

    place, source, on = case
    from_arrow(spark, source).createOrReplaceTempView("source")
    ours, written = [], []
    for turn in range(PAIRS + 1):
        copies = [_copy(place, side) for side in ("ours", "written")]
        started = time.perf_counter()
        result = merge(copies[0], source, on=on, when=WHEN, session=spark)
        ours.append(time.perf_counter() - started)
        started = time.perf_counter()
        with observed_scans(spark, f"as written {what} {turn}") as scans:
            spark.sql(merge_statement(copies[1], "source", on, WHEN).sql).collect()
        written.append(time.perf_counter() - started)
    ratio = statistics.median(mine / its for mine, its in zip(ours[1:], written[1:], strict=True))
    table.add_row(
        f"{what}: time",
        *(f"{statistics.median(it[1:]):.2f} s" for it in (ours, written)),
        f"{ratio:.2f}",
        f"{BAR_TIME}",
    )
    assert result.opened is not None
    opened, held = result.opened.bytes, result.report.holding.bytes
    table.add_row(
        f"{what}: opened",
        f"{opened / 2**20:.2f} MiB",
        f"{max(scan.bytes or 0 for scan in scans) / 2**20:.2f} MiB",
        f"{opened / held:.2f} of the files with a key",
        f"{BAR_BYTES}",
    )


def _copy(place: Path, side: str) -> str:
    copy = place.with_name(f"{place.name}-{side}")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(place, copy, copy_function=os.link)
    return str(copy.absolute())


def _sorted() -> tuple[Path, pa.Table, str]:
    """400 files that are sorted by key; the source has 106 keys of one of them."""
    place = PLACE / "sorted"
    if not (place / "_delta_log").is_dir():
        _write(place, [_rows(first, ROWS) for first in range(0, 400 * ROWS, ROWS)])
    return place, _rows(237 * ROWS + 500, 106), "t.k = s.k"


def _by_day() -> tuple[Path, pa.Table, str]:
    """139 days of 5 files each; the source has rows of one day."""
    place = PLACE / "by_day"
    if not (place / "_delta_log").is_dir():
        days = [(day, _rows(5 * ROWS * day + part * ROWS, ROWS)) for day in range(139) for part in range(5)]
        _write(place, [rows.append_column("day", pa.repeat(pa.scalar(day, pa.int32()), ROWS)) for day, rows in days])
    rows = _rows(5 * ROWS * 100 + 2 * ROWS, 300)
    return place, rows.append_column("day", pa.repeat(pa.scalar(100, pa.int32()), 300)), "t.day = s.day AND t.k = s.k"


def _rows(first: int, count: int) -> pa.Table:
    draw = np.random.default_rng(first)
    return pa.table({"k": np.arange(first, first + count), "v": draw.random(count), "w": draw.integers(0, 999, count)})


def _write(place: Path, files: list[pa.Table]) -> None:
    import deltalog

    place.mkdir(parents=True, exist_ok=True)
    names = [f"part-{number:05}.parquet" for number in range(len(files))]
    for name, rows in zip(names, files, strict=True):
        pq.write_table(rows, place / name)
    path = str(place.absolute())
    deltalog.create_table(path, files[0].schema)
    made = deltalog.open_snapshot(path)
    deltalog.append(made, deltalog.adds_of(path, made.schema, [deltalog.NewFile(name) for name in names]))
    deltalog.write_checkpoint(path)


def _planning_seconds() -> float:
    """Return the time of a new process for 100,000 keys and 10,000 files, imports included."""
    place, keys = PLACE / "many", PLACE / "keys.parquet"
    if not (place / "_delta_log").is_dir():
        _write(place, [pa.table({"k": np.arange(50 * i, 50 * i + 50), "v": np.arange(50)}) for i in range(10_000)])
    draw = np.random.default_rng(1)
    pq.write_table(pa.table({"k": draw.integers(0, 500_000, 100_000), "v": np.zeros(100_000, np.int64)}), keys)
    runs = [_planning_run(place, keys) for _ in range(PAIRS)]
    return statistics.median(runs)


def _planning_run(place: Path, keys: Path) -> float:
    command = [sys.executable, "-c", PLANNING, str(place.absolute()), str(keys.absolute())]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[0])
