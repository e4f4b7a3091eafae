"""Compare plans, counts, reads and audits of a file with its rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import duckdb
from planner.truth import settings

import prune_assets as pr
from parquet_core.errors import PruneError
from parquet_core.pruning.access_plan import Verdict

from .recipes import ROW

UTC = pr.SparkSemantics(time_zone="UTC")
AS_STORED = {"spark.sql.session.timeZone": "UTC", "spark.sql.parquet.filterPushdown": "false"}


class Finding(NamedTuple):
    """A wrong answer. `about`: the type of the column, or the code of the audit."""

    writer: str
    created_by: str
    about: str
    call: str
    where: str
    detail: str


@dataclass
class Tally:
    """Counts of a run; `files` and `created_by` by name of the release.

    `skippable`: row groups that true bounds and counts exclude, by (release, type), in files with statistics.
    `skipped`: skippable row groups that the plan skips. `refused`: reasons of refusals. `differing`: conditions for
    which Spark and DuckDB select other rows.
    """

    cases: int = 0
    files: Counter = field(default_factory=Counter)
    created_by: dict = field(default_factory=dict)
    refused: Counter = field(default_factory=Counter)
    differing: Counter = field(default_factory=Counter)
    skippable: Counter = field(default_factory=Counter)
    skipped: Counter = field(default_factory=Counter)


class File(NamedTuple):
    """A file that a release wrote; `measured`: it has statistics, so that skips are counted."""

    path: str
    writer: str
    truth: object
    measured: bool


def judge(file, conditions, tally, spark=None):
    """Return findings of a file. `spark`: a session whose answers are compared with DuckDB's too."""
    tally.files[file.writer] += 1
    tally.created_by[file.writer] = file.truth.created_by
    findings = _audited(file, tally)
    asked = [(condition, _asked(file.truth, condition, tally)) for condition in conditions]
    asked = [(condition, right) for condition, right in asked if right is not None]
    for condition, right in _as_spark(file, asked, tally, spark):
        tally.cases += 1
        findings += _judged(file, condition, right, tally)
    return findings


def _asked(truth, condition, tally):
    """Return the rows that DuckDB selects, None where it raises."""
    try:
        return truth.selected(condition)
    except duckdb.Error as error:
        tally.refused[f"DuckDB: {_line(error)}"] += 1
        return None


def _as_spark(file, asked, tally, spark):
    """Return the conditions with Spark's rows where it has an answer, and count where DuckDB's are others."""
    if spark is None or not asked:
        return asked
    texts = [f"coalesce({condition.spark}, false) AS p{i}" for i, (condition, _) in enumerate(asked)]
    try:
        with settings(spark, AS_STORED):
            rows = spark.read.parquet(str(file.path)).selectExpr(ROW, *texts).collect()
    except Exception as error:  # noqa: BLE001 - what Spark cannot read is DuckDB's alone
        tally.refused[f"Spark: {_line(error, file.path)}"] += 1
        return asked
    numbers = {value: row for row, value in enumerate(file.truth.table[ROW].to_pylist())}
    answers = []
    for i, (condition, right) in enumerate(asked):
        selected = {numbers[row[0]] for row in rows if row[f"p{i}"]}
        tally.differing[f"{condition.type} {condition.form}"] += selected != right
        answers.append((condition, selected))
    return answers


def _audited(file, tally):
    """Return errors of metadata that plans rely on."""
    try:
        report = pr.audit(file.path)
    except PruneError as error:
        tally.refused[f"audit: {_line(error, file.path)}"] += 1
        return []
    except Exception as error:  # noqa: BLE001 - any other error is a finding
        return [Finding(file.writer, file.truth.created_by, "a file", "audit", "", f"{type(error).__name__}: {error}")]
    findings = []
    for finding in report.findings:
        if finding.code == "unreadable":
            tally.refused[f"audit: {_line(finding.message, file.path)}"] += 1
        elif finding.severity in {"error", "warn"} and not finding.code.startswith("not_relied_on"):
            about, detail = finding.location.rpartition("/")[2], finding.message
            findings.append(Finding(file.writer, file.truth.created_by, finding.code, "audit", about, detail))
    return findings


def _judged(file, condition, right, tally):
    findings, where = [], condition.spark
    for call, answer in (("plan", _planned), ("count", _counted), ("read_arrow", _read)):
        try:
            wrong = answer(file, condition, right, tally)
        except PruneError as error:
            tally.refused[f"{call}: {_line(error, file.path, where)}"] += 1
            continue
        except Exception as error:  # noqa: BLE001 - any other error is a finding
            wrong = f"{type(error).__name__}: {_line(error, file.path)}"
        if wrong:
            about = str(condition.type)
            findings.append(Finding(file.writer, file.truth.created_by, about, call, where, wrong))
    return findings


def _line(error, path="", where="CONDITION"):
    """Return a reason without the path and the condition, so that equal ones are counted together."""
    text = str(error).replace(str(path), "FILE") if path else str(error)
    return " ".join(text.replace(where, "CONDITION").split())[:160]


def _planned(file, condition, right, tally):
    """Return the error of the plan, None if it is right; count skipped row groups."""
    access = pr.plan(file.path, where=condition.spark, semantics=UTC).evaluation.access
    groups = file.truth.groups
    starts = [sum(groups[:i]) for i in range(len(groups))]
    whole = {i for i, verdict in enumerate(access.verdict) if verdict == Verdict.SCAN}
    kept = _rows(access.ranges, starts) | {starts[i] + row for i in whole for row in range(groups[i])}
    lost, misjudged = sorted(right - kept), sorted(_rows(access.matches, starts) - right)
    if file.measured:
        reached = whole | {int(group) for group in access.ranges.row_group}
        skippable = file.truth.skippable(condition)
        tally.skippable[file.writer, str(condition.type)] += len(skippable)
        tally.skipped[file.writer, str(condition.type)] += len(skippable - reached)
    if lost:
        return f"{len(lost)} of {len(right)} rows lost, such as row {lost[0]}"
    return f"{len(misjudged)} rows claimed to match, such as row {misjudged[0]}" if misjudged else None


def _rows(ranges, starts):
    return {
        starts[group] + row
        for group, start, stop in zip(ranges.row_group, ranges.start, ranges.stop, strict=True)
        for row in range(start, stop)
    }


def _counted(file, condition, right, _):
    counted = pr.count(file.path, where=condition.spark, semantics=UTC)
    return None if counted == len(right) else f"{counted}, right is {len(right)}"


def _read(file, condition, right, _):
    rows = pr.read_arrow(file.path, where=condition.spark, columns=[ROW], semantics=UTC)[ROW].to_pylist()
    numbers = file.truth.table[ROW].to_pylist()
    wanted = sorted(numbers[row] for row in right)
    return None if sorted(rows) == wanted else f"{len(rows)} rows, right are {len(wanted)}"
