"""Draw tables and joins, and compare reads with `keys=` with Spark's own joins of the whole table.

A seed and a table number always give the same table and joins.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
from planner.tables import ROW
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

import prune_assets as pr
from parquet_core.errors import PruneError, UnsupportedFeature
from prune_assets.spark.spark_session import temporary_option
from prune_assets.spark.spark_versions import from_arrow, to_arrow

from .cases import HOWS, KEY, columns_of, random_case
from .interpreted import rows_with_partner
from .tables import write_random_table

__all__ = ["HOWS", "run"]

CASES = 20  # of a table
MOST_FINDINGS = 10
# A query that fails while rows are broadcast raises an error of py4j.
FAILURES = (PySparkException, Py4JError)
UNREADABLE = (PySparkException, Py4JError, PruneError, pa.ArrowException, duckdb.Error, pl.exceptions.PolarsError)


@dataclass
class Result:
    """`cases`: joins that were compared; `counts`: joins by form, and joins that Spark refuses."""

    cases: int = 0
    tables: int = 0
    counts: Counter = field(default_factory=Counter)
    reasons: list[str] = field(default_factory=list)
    findings: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0


def run(spark, *, seed, count, seconds=float("inf"), first=0, progress=None):
    """Compare at least `count` joins, of the tables from number `first` on.

    If `spark` is None, joins are evaluated in Python, and compared with `read_arrow` alone.
    """
    result, start = Result(), time.monotonic()
    number, told = first, start
    while result.cases < count and time.monotonic() - start < seconds and len(result.findings) < MOST_FINDINGS:
        with tempfile.TemporaryDirectory() as scratch:
            _compare_on_table(spark, random.Random(f"{seed} {number}"), Path(scratch) / "t", number, result)
        number += 1
        result.seconds = time.monotonic() - start
        if progress and time.monotonic() - told > 10:
            told = time.monotonic()
            progress(result, number)
    result.seconds = time.monotonic() - start
    return result


def _settings(draw, zone):
    return {
        # Compiled code and adaptive plans are slow to make, and the tables are small.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": zone,
        "spark.sql.ansi.enabled": draw.choice(["false", "false", "true"]),
        "spark.sql.caseSensitive": draw.choice(["false", "true"]),
        "spark.sql.parquet.binaryAsString": draw.choice(["false"] * 9 + ["true"]),
        "spark.sql.parquet.inferTimestampNTZ.enabled": draw.choice(["true"] * 9 + ["false"]),
    }


def _compare_on_table(spark, draw, directory, number, result):
    try:
        layout, zone = write_random_table(draw, directory, spark)
    except UNREADABLE as error:
        result.reasons.append(f"table {number} is not written: {_first_line(error)}")
        return
    if spark is None:
        _compare_with_python(draw, str(directory), number, result)
        return
    settings = _settings(draw, zone)
    with reduce(_also, settings.items(), _Settings(spark)):
        try:
            plain = layout == "plain"
            whole = spark.read.parquet(str(directory)) if plain else pr.read(str(directory), session=spark)
            whole = whole.cache()
            columns = columns_of(to_arrow(whole))
        except UNREADABLE as error:
            result.reasons.append(f"table {number} is not read: {_first_line(error)}")
            return
        result.tables += 1
        result.counts[f"tables, {layout}"] += 1
        cases = [random_case(draw, columns) for _ in range(CASES)]
        for case, truth, ours, arrow in _answers(spark, whole, str(directory), cases, result):
            result.cases += 1
            result.counts[f"{case.how} joins"] += 1
            result.counts["joins with a partner"] += any(row is not None for row, _ in truth)
            for what, expected, found in (("read", truth, ours), ("read_arrow", _rows_of(truth), arrow)):
                if found is not None and found != expected:
                    text = f"{what}: {_difference(expected, found)}: {layout}, {settings}: {case.text}"
                    result.findings.append((number, text[:3000]))
        whole.unpersist()


def _compare_with_python(draw, directory, number, result):
    try:
        whole = pr.read_arrow(directory)
    except UNREADABLE as error:
        result.reasons.append(f"table {number} is not read: {_first_line(error)}")
        return
    result.tables += 1
    columns = columns_of(whole)
    for case in (random_case(draw, columns) for _ in range(CASES)):
        expected = rows_with_partner(whole, columns, case)
        arrow = _by_arrow(directory, case.keys, case, None, result)
        if expected is None or arrow is None:
            continue
        result.cases += 1
        result.counts["joins with a partner"] += bool(expected)
        if arrow != expected:
            result.findings.append((number, f"read_arrow: {_difference(expected, arrow)}: {case.text}"[:3000]))


class _Settings:
    """Settings of a session, restored at the end of the block."""

    def __init__(self, spark):
        self.spark, self.held = spark, []

    def __enter__(self):
        for held in self.held:
            held.__enter__()

    def __exit__(self, *raised):
        for held in reversed(self.held):
            held.__exit__(*raised)


def _also(settings, item):
    settings.held.append(temporary_option(settings.spark, *item))
    return settings


def _answers(spark, whole, directory, cases, result):
    """Yield cases, with Spark's rows, the rows of a read with keys, and of `read_arrow` (None if it refuses)."""
    possible = []
    for case in cases:
        frame = from_arrow(spark, case.plain, _schema(case))
        try:
            possible.append((case, frame, _joined(whole, frame, case)))
        except FAILURES as error:
            result.counts[f"Spark refuses: {_condition(error)}"] += 1
    compared = []
    for (case, frame, _), truth in _collected(possible):
        if isinstance(truth, str):
            result.counts[f"Spark fails: {truth}"] += 1
            continue
        keys = frame if case.as_frame else case.keys
        read = pr.read(directory, keys=keys, on=case.on, how=case.how, session=spark)
        arrow = _by_arrow(directory, keys, case, spark, result)
        compared.append(((case, truth, arrow), frame, _joined(read, frame, case)))
    for ((case, truth, arrow), *_), ours in _collected(compared):
        yield case, truth, ours, arrow


def _schema(case):
    from pyspark.sql.types import StructType

    return StructType.fromDDL(case.ddl)


def _joined(left, keys, case):
    from pyspark.sql import functions as f

    joined = left.alias("t").join(keys.alias("s"), f.expr(case.condition), case.how)
    key = f.lit(None).cast("bigint") if case.how == "semi" else f.col(f"s.{KEY}")
    return joined.select(f.col(f"t.{ROW}").alias("r"), key.alias("k"))


def _collected(joins):
    """Yield each tuple with the rows of its DataFrame, the last item, or the condition of Spark's error.

    All are collected in one query, or if it fails, one by one.
    """
    from pyspark.sql import functions as f

    if not joins:
        return
    numbered = [joined.withColumn("case", f.lit(i)) for i, (*_, joined) in enumerate(joins)]
    try:
        rows = to_arrow(reduce(lambda one, other: one.unionByName(other), numbered))
    except FAILURES:
        for each in joins:
            try:
                yield each, _pairs(to_arrow(each[-1]))
            except FAILURES as error:
                yield each, _condition(error)
        return
    answers = [Counter() for _ in joins]
    for row, key, i in zip(*(rows[name].to_pylist() for name in ("r", "k", "case")), strict=True):
        answers[i][row, key] += 1
    yield from zip(joins, answers, strict=True)


def _pairs(rows):
    return Counter(zip(rows["r"].to_pylist(), rows["k"].to_pylist(), strict=True))


def _difference(expected, found):
    if isinstance(found, str):
        return f"fails: {found}"
    return f"lost {dict(expected - found)}, more {dict(found - expected)}"


def _rows_of(pairs):
    return Counter({row: 1 for row, _ in pairs if row is not None})


def _by_arrow(directory, keys, case, spark, result):
    try:
        rows = pr.read_arrow(directory, keys=keys, on=case.on, columns=[ROW], session=spark)
    except UnsupportedFeature:
        result.counts["read_arrow refuses"] += 1
        return None
    result.counts["read_arrow compared"] += 1
    return Counter(rows[ROW].to_pylist())


def _condition(error):
    if not isinstance(error, PySparkException):
        return type(error).__name__
    return error.getCondition() if hasattr(error, "getCondition") else error.getErrorClass()


def _first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
