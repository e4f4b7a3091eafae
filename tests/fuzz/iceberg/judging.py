"""Check reads and plans of one predicate, and count the outcomes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

from planner.tables import ROW
from pyspark.sql import DataFrame

import prune_assets as pr
from parquet_core.errors import PruneError
from prune_assets.tables.iceberg.doubted_columns import doubted_columns

from .peers import kept_by_iceberg, kept_by_pyiceberg

BY_NAME, BY_PATH, ICEBERG = "by name", "by path", "by Iceberg itself"
AT_ONCE = 24


class Finding(NamedTuple):
    check: str
    where: str
    detail: str


class Read(NamedTuple):
    """A read by the engine `by`: a frame, and the expected rows."""

    where: str
    by: str
    plan: object
    right: list
    frame: object


@dataclass
class Tally:
    """Counts of cases by outcome; `reasons`: refusals, and skips by a single peer, with an example."""

    cases: int = 0
    counts: Counter = field(default_factory=Counter)
    reasons: Counter = field(default_factory=Counter)
    examples: dict = field(default_factory=dict)

    def note(self, reason, example):
        self.reasons[reason] += 1
        self.examples.setdefault(reason, example)


def judge(ground, wheres, rights, tally):
    """Return the findings; `rights`: expected rows per predicate, None if Spark has no answer."""
    found, reads = [], []
    for where, right in zip(wheres, rights, strict=True):
        tally.cases += 1
        if right is None:
            tally.counts["without an answer of Spark"] += 1
            continue
        plan = _plan(ground, where, found, tally)
        if plan is not None:
            found += _compared_files(ground, where, plan, right, tally)
        for by in (BY_NAME, BY_PATH, ICEBERG):
            frame = _opened(ground, where, by, plan, found, tally)
            if frame is not None:
                reads.append(Read(where, by, plan, right, frame))
    answers = _rows([read.frame for read in reads])
    raised = {
        read.where for read, rows in zip(reads, answers, strict=True) if read.by == ICEBERG and isinstance(rows, str)
    }
    for read, rows in zip(reads, answers, strict=True):
        found += _compared_rows(read, rows, tally, is_spark_s=read.by == BY_NAME and read.where in raised)
    return found


def _opened(ground, where, by, plan, found, tally):  # noqa: PLR0917 - of a loop
    if by == ICEBERG:
        return ground.spark.table(ground.name).where(where)
    place, plan = (ground.name, plan) if by == BY_NAME else (ground.path, None)
    try:
        return pr.read(place, where=where, session=ground.spark, plan=plan)
    except PruneError as error:
        tally.note(f"refused {by}: {_plain(error)}", where)
        tally.counts[f"refused {by}"] += 1
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        found.append(Finding(f"no crash of a read {by}", where, _first_line(error)))
    return None


def _compared_rows(read, rows, tally, *, is_spark_s):
    """Compare the rows of a read with the expected rows.

    `is_spark_s`: errors that Spark raises for filters pushed down to Iceberg are allowed, as reads by name raise them
    too.
    """
    if isinstance(rows, str):
        if is_spark_s:
            tally.note(f"a read by name raises as Iceberg's own: {rows[:120]}", read.where)
            return []
        if read.by != ICEBERG:
            return [Finding(f"no crash of a read {read.by}", read.where, rows)]
        tally.note(f"Iceberg's own reader raises {rows[:120]}", read.where)
        return []
    tally.counts[f"read {read.by}"] += 1
    if rows == read.right:
        return []
    differing = _differing(rows, read.right)
    if read.by != ICEBERG:
        return [Finding(f"rows {read.by}", read.where, differing)]
    what = "" if _doubted(read.plan) else ", of no doubted column"
    tally.note(f"Iceberg's own reader has other rows{what}", f"{read.where}: {differing}")
    return [Finding("Iceberg has Spark's rows but for doubted columns", read.where, differing)] if what else []


def _doubted(plan):
    return plan is not None and doubted_columns(plan.table.snapshot, plan.lowered.predicate)


def _rows(frames):
    """Return the rows of each frame, read by one query, or the error that Spark raises for it."""
    if not frames or len(frames) > AT_ONCE:
        return [rows for i in range(0, len(frames), AT_ONCE) for rows in _rows(frames[i : i + AT_ONCE])]
    try:
        joined = reduce(DataFrame.union, (frame.selectExpr(f"{n} AS n", ROW) for n, frame in enumerate(frames)))
        found = [[] for _ in frames]
        for n, row in joined.collect():
            found[n].append(row)
        return [sorted(each) for each in found]
    except Exception as error:  # noqa: BLE001 - any error is a result to report
        if len(frames) == 1:
            return [_first_line(error)]
        middle = len(frames) // 2
        return _rows(frames[:middle]) + _rows(frames[middle:])


def _plan(ground, where, found, tally):
    try:
        return pr.plan(ground.name, where=where, session=ground.spark)
    except PruneError as error:
        tally.note(f"refused to plan: {_plain(error)}", where)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        found.append(Finding("no crash of a plan", where, _first_line(error)))
    return None


def _differing(rows, right):
    lost, more = sorted(set(right) - set(rows)), sorted(set(rows) - set(right))
    return f"{len(right)} rows, lost {lost[:5]}, too many {more[:5]}"


def _plain(error):
    """Return the message without the location and other parts that differ between tables."""
    text = re.sub(r"\(?(file:)?/\S+|'[^']*'|`[^`]*`|\d+", "..", str(error))
    return re.sub(r"(column|name) .*?([,;]|$)", r"\1 ..\2", text)[:160]


def _compared_files(ground, where, plan, right, tally):
    kept = {file.path.removeprefix("file:") for file in plan.files if file.verdict != "skip"}
    tally.counts["files"] += len(plan.files)
    tally.counts["files kept"] += len(kept)
    needed = {ground.file_of[row] for row in right}
    found = [Finding("a file of selected rows is kept", where, str(sorted(needed - kept)))] if needed - kept else []
    others = {"Iceberg": kept_by_iceberg(ground.spark, ground.name, where)}
    others["pyiceberg"] = kept_by_pyiceberg(ground.pyiceberg, plan.lowered.predicate)
    for peer, files in others.items():
        if files is None:
            continue
        files = {path.removeprefix("file:") for path in files}  # noqa: PLW2901 - in one form
        tally.counts[f"compared with {peer}"] += 1
        tally.counts[f"sharper than {peer}"] += bool(files - kept)
        if needed - files:
            tally.note(f"{peer} skips files of selected rows", where)
        elif kept - files:
            what = f"{len(kept)} files kept, {peer} keeps {len(files)}"
            tally.counts[f"less sharp than {peer}"] += 1
            tally.note(
                f"{peer} alone skips, {'of a doubted column' if _doubted(plan) else 'of none'}", f"{where}: {what}"
            )
            if not _doubted(plan):
                found.append(Finding(f"as sharp as {peer}", where, what))
    return found


def _first_line(error):
    return f"{type(error).__name__}: {str(error).splitlines()[0]}"[:300]
