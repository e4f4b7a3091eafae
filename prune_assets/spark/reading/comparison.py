"""Read a table with a plan and without it, and tell whether the rows are the same."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prune_assets.spark.columns import column_of
from prune_assets.spark.reading.metrics import scan_metrics

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from pyspark.sql import DataFrame, SparkSession

    from prune_assets.planner.plan import Plan

ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """What identifies a set of rows whatever their order: their count, a sum, and the sum of their hashes."""

    rows: int
    total: Decimal | int | float | None
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


def compare(
    spark: SparkSession, plan: Plan, *, table: str, where: str, sum_column: str, baseline: str | None = None
) -> Comparison:
    """Read `table` where `where` both ways, in turns, after a warm-up of each.

    `baseline`: a table with the same rows, read beside them. Each reading hashes every column of every row. `seconds`
    is the best of three, from opening the table to the answer; planning is not in it.
    """
    from prune_assets.spark.reading.reader import read

    ways: list[Callable[[], DataFrame]] = [
        lambda: spark.read.parquet(table).where(where),
        lambda: read(spark, table, where=where, plan=plan),
    ]
    if baseline is not None:
        ways.append(lambda: spark.read.parquet(baseline).where(where))
    for way in ways:
        _read_once(way, sum_column)
    rounds = [[_read_once(way, sum_column) for way in ways] for _ in range(ROUNDS)]
    return Comparison(*(min(readings, key=lambda reading: reading.seconds) for readings in zip(*rounds, strict=True)))


def _read_once(way: Callable[[], DataFrame], sum_column: str) -> Reading:
    started = time.perf_counter()
    answer = fingerprint(way(), sum_column)
    row = answer.collect()[0]
    seconds = time.perf_counter() - started
    scans = scan_metrics(answer)
    return Reading(
        answer=Answer(*row),
        seconds=seconds,
        scanned_rows=sum(scan.rows for scan in scans),
        scanned_files=sum(scan.files for scan in scans if scan.files is not None),
    )


def fingerprint(df: DataFrame, sum_column: str) -> DataFrame:
    """Reduce rows to one row: their count, the sum of a column, the sum of the hashes of all columns."""
    from pyspark.sql import functions as fn

    hashed = fn.xxhash64(*(column_of(name, nested=False) for name in df.columns)).cast("decimal(38,0)")
    return df.agg(fn.count(fn.lit(1)), fn.sum(column_of(sum_column, nested=False)), fn.sum(hashed))
