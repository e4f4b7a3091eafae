"""Read a table with a plan and without it, and tell whether the rows are the same."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prune_assets.spark.columns import column_of
from prune_assets.spark.reading.metrics import scan_metrics
from prune_assets.tables.delta import DeltaTable, has_log

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from pyspark.sql import DataFrame, SparkSession

    from prune_assets.planner.plan import Plan

ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """What identifies a set of rows whatever their order: their count, and the sum of their hashes."""

    rows: int
    checksum: Decimal | None


@dataclass(frozen=True, slots=True)
class Reading:
    """One way of reading: the answer, the best time of a few, and what came out of Spark's scans."""

    answer: Answer
    seconds: float
    scanned_rows: int
    scanned_files: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same rows, read without the plan and with it; `baseline`: from a table that has them without the layout."""

    without: Reading
    with_plan: Reading
    baseline: Reading | None = None

    @property
    def equal(self) -> bool:
        """Tell whether all ways gave the same rows."""
        others = [self.with_plan, *([] if self.baseline is None else [self.baseline])]
        return all(reading.answer == self.without.answer for reading in others)


def compare(spark: SparkSession, plan: Plan, *, table: str, where: str, baseline: str | None = None) -> Comparison:
    """Read `table` where `where` both ways, in turns, after a warm-up of each.

    `baseline`: a table with the same rows, read beside them. Each reading hashes every column of every row. `seconds`
    is the best of three, from opening the table to the answer; planning is not in it.
    """
    from prune_assets.spark.reading.reader import read

    planned = plan.table.snapshot.version if isinstance(plan.table, DeltaTable) else None
    ways: list[Callable[[], DataFrame]] = [
        lambda: _whole(spark, table, planned).where(where),
        lambda: read(spark, table, where=where, plan=plan),
    ]
    if baseline is not None:
        ways.append(lambda: _whole(spark, baseline).where(where))
    for way in ways:
        _read_once(way)
    rounds = [[_read_once(way) for way in ways] for _ in range(ROUNDS)]
    return Comparison(*(min(readings, key=lambda reading: reading.seconds) for readings in zip(*rounds, strict=True)))


def _whole(spark: SparkSession, table: str, version: int | None = None) -> DataFrame:
    """Open a table as Spark does, without a plan; of a Delta table all files of a version."""
    from prune_assets.spark.reading.reader import read

    return read(spark, table, where="true", version=version) if has_log(table) else spark.read.parquet(table)


def _read_once(way: Callable[[], DataFrame]) -> Reading:
    started = time.perf_counter()
    answer = fingerprint(way())
    row = answer.collect()[0]
    seconds = time.perf_counter() - started
    scans = scan_metrics(answer)
    return Reading(
        answer=Answer(*row),
        seconds=seconds,
        scanned_rows=sum(scan.rows for scan in scans),
        scanned_files=sum(scan.files for scan in scans if scan.files is not None),
    )


def fingerprint(df: DataFrame) -> DataFrame:
    """Reduce rows to one row: their count and the sum of the hashes of all columns."""
    from pyspark.sql import functions as fn

    hashed = fn.xxhash64(*(column_of(name, nested=False) for name in df.columns)).cast("decimal(38,0)")
    return df.agg(fn.count(fn.lit(1)), fn.sum(hashed))
