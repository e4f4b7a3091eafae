"""Read a table with and without a plan, and compare the rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from parquet_core.printable import redacted
from prune_assets.spark.columns import column_of
from prune_assets.spark.scan_metrics import bytes_read, counting_bytes, scan_metrics
from prune_assets.spark.spark_session import own_jobs
from prune_assets.tables.opening import recognize

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from decimal import Decimal

    from pyspark.sql import DataFrame, SparkSession

    from prune_assets.planner.explain.plan import Plan

ROUNDS = 3
# Time differences are noise if the volumes differ by less than this share of the larger volume.
WORTH_A_TIME = 0.1


@dataclass(frozen=True, slots=True)
class Answer:
    """Fingerprint of rows that does not depend on their order: count and sum of hashes."""

    rows: int
    checksum: Decimal | None


@dataclass(frozen=True, slots=True)
class MeasuredRead:
    """Answer and measurements of one reading.

    `read_bytes`: bytes fetched, with footers and page indexes; None if unknown.
    `seconds`: best time of a few rounds. None if all readings fetch about the same bytes, because time differences
    would be noise.
    """

    answer: Answer
    scanned_rows: int
    scanned_files: int
    read_bytes: int | None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ReadComparison:
    """The same rows read without and with the plan.

    `baseline`: a read of the same rows from a copy of the table without the layout.
    """

    without: MeasuredRead
    with_plan: MeasuredRead
    baseline: MeasuredRead | None = None

    @property
    def equal(self) -> bool:
        """True if all readings returned the same rows."""
        others = [self.with_plan, *([] if self.baseline is None else [self.baseline])]
        return all(reading.answer == self.without.answer for reading in others)


def compare(spark: SparkSession, plan: Plan, *, table: str, where: str, baseline: str | None = None) -> ReadComparison:
    """Read the selected rows with and without the plan, and compare them.

    `baseline`: another table with the same rows, which is read too. Each reading hashes every column of every row. A
    reading is timed if it differs by more than a tenth in bytes from the reading with the plan, which is then timed
    too. The time is the best of three rounds after a warm-up, in alternating order, from opening the table to the
    answer, without planning.
    """
    from prune_assets.reading.reader import read

    planned = plan.table.version_number
    ways: list[Callable[[], DataFrame]] = [
        lambda: _whole(spark, table, planned).where(where),
        lambda: read(table, where=where, session=spark, plan=plan),
    ]
    if baseline is not None:
        ways.append(lambda: _whole(spark, baseline).where(where))
    with own_jobs(spark, f"compare readings of {redacted(table)}"):
        with counting_bytes(spark):
            counted = [_read_once(way)[0] for way in ways]
        seconds = _timed({i: ways[i] for i in worth_timing([_volume(reading) for reading in counted])})
    return ReadComparison(*(replace(reading, seconds=seconds.get(i)) for i, reading in enumerate(counted)))


def worth_timing(volumes: Sequence[int]) -> list[int]:
    """Return the indices of the readings to time.

    `volumes`: bytes or rows of each reading; index 1 is the reading with the plan. It is timed together with the
    readings whose volume differs from its volume.

    >>> worth_timing([1000, 950]), worth_timing([1000, 300]), worth_timing([300, 299, 9000])
    ([], [0, 1], [1, 2])
    """
    apart = [i for i, each in enumerate(volumes) if abs(each - volumes[1]) > WORTH_A_TIME * max(each, volumes[1])]
    return sorted([*apart, 1]) if apart else []


def _volume(reading: MeasuredRead) -> int:
    return reading.scanned_rows if reading.read_bytes is None else reading.read_bytes


def _timed(ways: Mapping[int, Callable[[], DataFrame]]) -> dict[int, float]:
    """Return the best time of each reading.

    After a warm-up round, the readings take turns.
    """
    best = dict.fromkeys(ways, float("inf"))
    for turn in range(ROUNDS + 1):
        for way in sorted(ways, reverse=turn % 2 == 1):
            seconds = _read_once(ways[way])[1]
            if turn:
                best[way] = min(best[way], seconds)
    return best


def _whole(spark: SparkSession, table: str, version: int | None = None) -> DataFrame:
    """Open a table without a plan.

    Spark lists the files if it can, else all files of a version are opened.
    """
    from prune_assets.reading.reader import read

    if recognize(table, spark)[0].spark_lists_files:
        return spark.read.parquet(table)
    return read(table, where="true", session=spark, version=version)


def _read_once(way: Callable[[], DataFrame]) -> tuple[MeasuredRead, float]:
    started = time.perf_counter()
    answer = fingerprint(way())
    row = answer.collect()[0]
    seconds = time.perf_counter() - started
    scans = scan_metrics(answer)
    reading = MeasuredRead(
        answer=Answer(*row),
        scanned_rows=sum(scan.rows for scan in scans),
        scanned_files=sum(scan.files for scan in scans if scan.files is not None),
        read_bytes=bytes_read(answer),
    )
    return reading, seconds


def fingerprint(df: DataFrame) -> DataFrame:
    """Reduce rows to their count and the sum of their hashes.

    Each hash includes all columns.
    """
    from pyspark.sql import functions as fn

    hashed = fn.xxhash64(*(column_of(name, nested=False) for name in df.columns)).cast("decimal(38,0)")
    return df.agg(fn.count(fn.lit(1)), fn.sum(hashed))
