"""Run one case through `read`, `plan` and `prune explain`, and return its findings."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from click.testing import CliRunner
from pyspark.errors import AnalysisException
from spark_reader_names import ALONE, HANDED_OVER

import prune_assets as pr
from prune_assets.cli import main
from prune_assets.spark.semantics_of_session import semantics_of
from tests.fuzz.planner.truth import settings

from .cases import SETTINGS

# Relative error allowed for predicted rows, and the error in rows that is always allowed.
TOLERANCE, FEW = 0.05, 1


class Answer(NamedTuple):
    rows: int
    checksum: object


class Reading(NamedTuple):
    answer: Answer
    scanned: int


class Finding(NamedTuple):
    """A broken promise; `check` is its name."""

    check: str
    detail: str


@dataclass
class Judgement:
    """Outcome of a case.

    `refused`: Spark's error if Spark rejects the predicate, so that there is no answer to compare with.
    """

    case: object
    findings: list[Finding] = field(default_factory=list)
    refused: str = ""
    report: object = None
    answer: Answer | None = None

    def add(self, check, detail):
        self.findings.append(Finding(check, str(detail)[:400]))


def judged(ground, case):
    """Run a case; every exception is a finding, unless Spark raises as well."""
    with settings(ground.spark, SETTINGS[case.setting]):
        found = _judged(ground, case)
        if found.findings and _asks_clock(case.predicate):
            # The clock may have reached the next day or second between the two reads.
            found = _judged(ground, case)
    return found


def _asks_clock(predicate):
    return re.search(r"now\(\)|current_|curdate|localtime|unix_timestamp\(\)", predicate) is not None


def _judged(ground, case):
    spark, path, fingerprint = ground.spark, ground.path(case.table), ground.fingerprint(case.table)
    found = Judgement(case)
    plain = _or_error(lambda: reading(ground.frame(case.table).where(case.where()), fingerprint))
    made = _or_error(lambda: pr.plan(path, where=case.where(), session=spark))
    ours = _or_error(
        lambda: reading(pr.read(path, where=case.where(), session=spark, plan=given_to(made)), fingerprint)
    )
    if isinstance(plain, Exception):
        found.refused = _first_line(plain)
        if isinstance(plain, AnalysisException) and not isinstance(ours, Exception):
            found.add("what Spark refuses is refused", found.refused)
        return found
    found.answer = plain.answer
    if isinstance(ours, Exception):
        found.add("read answers where Spark does", _first_line(ours))
    elif ours.answer != (_unfiltered(ground, case, fingerprint) if _is_warned(made) else plain).answer:
        found.add("same rows as Spark", f"{plain.answer.rows} rows of Spark, {ours.answer.rows} of read")
    if isinstance(made, Exception):
        found.add("plan answers where Spark does", _first_line(made))
        return found
    report = _or_error(lambda: made.report)
    if isinstance(report, Exception):
        found.add("a plan has a report", _first_line(report))
        return found
    found.report = report
    _check_reasons(found, report)
    _check_predictions(found, report, {ALONE: plain, HANDED_OVER: ours})
    if case.explained:
        _check_command(found, spark, path, case, report)
    return found


def _is_warned(made):
    """True if the plan warns that Spark's own reader loses rows here; `read` does not lose them."""
    return not isinstance(made, Exception) and bool(made.warnings)


def _unfiltered(ground, case, fingerprint):
    with settings(ground.spark, {"spark.sql.parquet.filterPushdown": "false"}):
        return reading(ground.frame(case.table).where(case.where()), fingerprint)


def given_to(made):
    """Return the plan to pass to `read`; None if planning failed, so that `read` plans itself and fails too."""
    return None if isinstance(made, Exception) else made


def _or_error(call):
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is judged
        return error


def _first_line(error):
    text = str(error).strip() or repr(error)
    return f"{type(error).__name__}: {text.splitlines()[0]}"


def reading(df, fingerprint):
    """Return the row count, the sum of hashes of all columns, and the rows that the scans returned."""
    answer = df.selectExpr(*fingerprint)
    (row,) = answer.collect()
    # Avoids scan_metrics, whose many calls are too slow for a thousand reads.
    leaves = answer._jdf.queryExecution().executedPlan().collectLeaves()
    scans = [leaves.apply(i) for i in range(leaves.size())]
    counts = [scan.metrics().apply("numOutputRows").value() for scan in scans if "Scan" in scan.nodeName()]
    return Reading(Answer(*row), sum(counts))


def _check_reasons(found, report):
    for part in report.unsupported:
        if not part.reason:
            found.add("what is refused has a reason", part)


def _check_predictions(found, report, readings):
    for engine in report.engines:
        found_reading = readings.get(engine.name)
        if isinstance(found_reading, Reading) and not holds(engine, found_reading.scanned):
            detail = f"{engine.kept.rows} predicted, {found_reading.scanned} scanned"
            found.add(f"predicted rows of {engine.name}", detail)


def holds(engine, scanned):
    """True if a prediction is within the tolerance; an estimate only has to be an upper limit."""
    off, most = engine.kept.rows - scanned, max(FEW, TOLERANCE * scanned)
    return off >= -most if engine.estimated else abs(off) <= most


def _check_command(found, spark, path, case, report):
    """Compare `prune explain` with a plan from settings alone; the command has no session to evaluate functions."""
    conf = spark.conf
    arguments = ["explain", path, "--json", "--where", case.predicate, "--time-zone"]
    arguments.append(conf.get("spark.sql.session.timeZone"))
    arguments += ["--case-sensitive"] if conf.get("spark.sql.caseSensitive") == "true" else []
    arguments += ["--no-ansi"] if conf.get("spark.sql.ansi.enabled") == "false" else []
    result = CliRunner().invoke(main, arguments)
    if result.exit_code != 0:
        found.add("explain answers where Spark does", f"exit {result.exit_code}: {result.stderr or result.exception}")
        return
    kept = json.loads(result.stdout)["kept"]["rows"]
    told = pr.plan(path, where=case.predicate, semantics=semantics_of(spark)).report.kept.rows
    if kept != told:
        found.add("explain keeps what plan does", f"{kept} rows, not {told}")
    if kept < report.kept.rows:
        found.add("a session makes a plan no less sharp", f"{report.kept.rows} rows, not {kept}")
