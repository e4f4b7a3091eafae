"""Run random MERGEs as written and with the condition of `plan_merge`, from the same state of the target."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field

import prune_assets as pr
from parquet_core.errors import PruneError
from prune_assets.sql.merge_statement import merge_statement

from .cases import random_merge, random_target
from .grounds import DeltaGround, IcebergGround, frame_of

MERGES = 8  # of a target
MOST_FINDINGS = 25
# Errors of the evaluation of a row. A statement that opens fewer files evaluates its conditions on fewer rows.
OF_ROWS = {"CAST_INVALID_INPUT", "ARITHMETIC_OVERFLOW", "CAST_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE"}


@dataclass
class Result:
    """`cases`: pairs of runs. `counts`: results of the MERGEs. `forms`: forms of the pairs of runs."""

    cases: int = 0
    counts: Counter = field(default_factory=Counter)
    forms: Counter = field(default_factory=Counter)
    files: Counter = field(default_factory=Counter)
    refused: Counter = field(default_factory=Counter)
    findings: list = field(default_factory=list)
    seconds: float = 0.0


def draw(seed, number):
    """Return the target and the MERGE of a case."""
    target = random_target(random.Random(f"{seed} {number // MERGES}"))
    return target, random_merge(random.Random(f"{seed} {number}"), target)


def run_damaged(spark, table_format, place, *asked):
    """As `run`, but the plan's condition is replaced by one that no row fulfils."""
    return run(spark, table_format, place, *asked, change=_without_matches)


def _without_matches(statement):
    return statement.replace("\nWHEN", " AND t.v < 0\nWHEN", 1)


def run_joins(spark, table_format, place, *asked):
    """As `run`, with the joins of the MERGEs in place of them: ten times as fast, and nothing is written.

    A MERGE has the same result with a condition that no joined row fails.
    """
    return run(spark, table_format, place, *asked, judge=judge_join)


def run(spark, table_format, place, *asked, judge=None, change=str):
    """Run pairs, from case `first` on; `asked`: seed, count, seconds, first.

    `judge`: as `judge_merge`, which is the default. `change`: changes the statements with the condition, for tests.
    """
    judge = judge_merge if judge is None else judge
    seed, count, seconds, first = asked
    spark.sparkContext.setLogLevel("OFF")
    result, started, number, ground = Result(), time.monotonic(), first, None
    while result.cases < count and time.monotonic() - started < seconds and len(result.findings) < MOST_FINDINGS:
        target, merge = draw(seed, number)
        if ground is None or number % MERGES == 0:
            if ground is not None:
                ground.close()
            name = f"{seed}_{number // MERGES}"
            ground = (
                DeltaGround(spark, f"{place}/{name}", target)
                if table_format == "delta"
                else IcebergGround(spark, name, target, draw_mode(seed, number))
            )
        before = result.cases
        for what in judge(ground, target, merge, result, number, change=change):
            result.findings.append((number, what))
        if result.cases > before:
            result.forms.update({*merge.forms, f"key {target.types['k']}", *target.changes})
            result.forms["partitioned"] += target.partition is not None
        number += 1
    if ground is not None:
        ground.close()
    result.counts["MERGEs drawn"] = number - first
    result.seconds = time.monotonic() - started
    return result


def draw_mode(seed, number):
    return random.Random(f"{seed} {number // MERGES} mode").choice(("copy-on-write", "merge-on-read"))


def judge_merge(ground, target, merge, result, number, *, change=str):
    """Run a MERGE both ways; yield what differs."""
    places = [ground.target(side) for side in ("written", "narrowed")]
    planned = _planned(ground, places[1], merge, result, number)
    if planned is None:
        return
    written = merge_statement(places[0], "source", merge.on, merge.when).sql
    narrowed = change(planned.statement)
    first = ground.attempt(written, f"written {number}", places[0])
    second = ground.attempt(narrowed, f"narrowed {number}", places[1])
    details = f"{narrowed}{_inputs(target, merge)}"
    if not _same_error(first, second, result):
        yield f"error {first.error} ({first.message}) became {second.error} ({second.message}): {details}"
    elif first.error != second.error:
        return
    elif first.rows != second.rows:
        yield f"{_difference(first.rows, second.rows)}: {details}"
    if first.error is None and second.error is None:
        result.files["as written"] += first.files
        result.files["with the condition"] += second.files
        result.files["planned with the condition"] += planned.report.with_condition.files
        if second.files > first.files:
            yield f"{second.files} files opened, {first.files} as written: {details}"
        if first.replaced is not None and first.replaced != second.replaced:
            yield f"replaced {second.replaced}, as written {first.replaced}: {details}"
        if second.files != planned.report.with_condition.files and not _is_insert_only(merge):
            result.counts["opened other than planned"] += 1
            result.forms[f"opened other than planned, key {target.types['k']}, {target.types['j']}"] += 1


def judge_join(ground, target, merge, result, number, *, change=str):
    """Join target and source both ways; yield what differs."""
    planned = _planned(ground, ground.table, merge, result, number)
    if planned is None:
        return
    join = f"SELECT * FROM {ground.relation} AS t JOIN source AS s ON ({merge.on})"
    narrowed = f"{join} AND ({change(planned.condition)})"
    first, second = ground.query(join), ground.query(narrowed)
    details = f"{narrowed}{_inputs(target, merge)}"
    if not _same_error(first, second, result):
        yield f"error {first.error} ({first.message}) became {second.error} ({second.message}): {details}"
    elif first.error == second.error:
        result.counts["joined rows"] += len(first.rows or ())
        if first.rows != second.rows:
            yield f"{_difference(first.rows, second.rows)}: {details}"


def _planned(ground, table, merge, result, number):
    """Return the plan of a MERGE; None if it has no condition, or is refused."""
    source = frame_of(ground.spark, merge.source)
    source.createOrReplaceTempView("source")
    # The keys of an Arrow table are read without Spark if ON compares its columns.
    given = merge.source if number % 3 == 0 else source
    try:
        planned = pr.plan_merge(table, given, on=merge.on, when=merge.when, session=ground.spark)
    except PruneError as error:
        result.counts["refused by the plan"] += 1
        result.refused[f"{type(error).__name__}: {str(error)[:120]}"] += 1
        return None
    if planned.condition is None:
        result.counts["no condition"] += 1
        return None
    result.cases += 1
    return planned


def _same_error(first, second, result):
    result.counts["failed as written"] += first.error is not None
    if first.error in OF_ROWS and second.error is None:
        result.counts["rows that fail are not read"] += 1
        return True
    return first.error == second.error


def _inputs(target, merge):
    return f"\n  of {target.types}, partitioned by {target.partition}; source {merge.source.to_pydict()}"


def _difference(first, second):
    lost, more = Counter(first) - Counter(second), Counter(second) - Counter(first)
    return f"rows differ: only as written {[*lost][:3]}, only with the condition {[*more][:3]}"


def _is_insert_only(merge):
    return not any(clause.startswith("WHEN MATCHED") for clause in merge.when)
