"""From a plan to its skip report."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from parquet_core.access_plan import RangeList, Verdict
from parquet_core.predicate import Unsupported, leaves
from prune_assets.planner.extents import extent_of, kept_by
from prune_assets.planner.levels import evaluate
from prune_assets.planner.reasons import Reasons
from prune_assets.report.lazy_tuple import LazyTuple
from prune_assets.report.skip_report import (
    Conjunct,
    Extent,
    FileReport,
    Level,
    RowGroupReport,
    SkipReport,
    UnsupportedPart,
)
from prune_assets.report.skip_report import Verdict as VerdictName
from prune_assets.sql.render import render_implied

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.planner.plan import Plan

# Each conjunct is a plan of its own.
MAX_CONJUNCTS = 200
_VERDICTS: dict[Verdict, VerdictName] = {Verdict.SKIP: "skip", Verdict.SCAN: "scan", Verdict.SELECTION: "selection"}


def summarize(plan: Plan) -> SkipReport:
    """Add up what every level removed; fetches the offset indexes that exact page bytes need."""
    total = extent_of(plan.index, plan.sizes, np.ones(len(plan.index), np.bool_))
    return SkipReport(
        table=plan.table,
        predicate=plan.lowered.sql,
        normalized=plan.lowered.normalized,
        unsupported=_unsupported(plan),
        levels=_levels(plan, total),
        total=total,
        kept=plan.kept.extent(plan.index),
        conjuncts=_conjuncts(plan, total),
        # A tuple to whoever reads it.
        files=cast("tuple[FileReport, ...]", plan.files),
        implied=() if plan.implied is None else (render_implied(plan.implied),),
        requests=plan.requests,
        bytes_fetched=sum(plan.fetched.values()),
        index_bytes=plan.fetched.get("index", 0),
        bloom_bytes=plan.fetched.get("bloom", 0),
        dictionary_bytes=plan.fetched.get("dictionary", 0),
        seconds=plan.seconds,
        estimated=plan.kept.estimated,
        engines=plan.engines,
        warnings=plan.warnings,
    )


def _unsupported(plan: Plan) -> tuple[UnsupportedPart, ...]:
    found = [leaf for leaf in leaves(plan.lowered.predicate) if isinstance(leaf, Unsupported)]
    return tuple(UnsupportedPart(leaf.sql, leaf.reason, leaf.remedy) for leaf in dict.fromkeys(found))


def _levels(plan: Plan, total: Extent) -> tuple[Level, ...]:
    before = total
    found = []
    for state in plan.evaluation.levels:
        paged = state is plan.evaluation.pages
        after = plan.kept.extent(plan.index) if paged else extent_of(plan.index, plan.sizes, state.alive)
        found.append(
            Level(
                level=state.level,
                unit="page" if paged else "row group",
                total=before,
                kept=after,
                skipped_rows=before.rows - after.rows,
                skipped_bytes=before.bytes - after.bytes,
                status=state.status,
                why=state.why,
            )
        )
        before = after
    return tuple(found)


def _conjuncts(plan: Plan, total: Extent) -> tuple[Conjunct, ...]:
    """Ask each of the first conjuncts alone through every level; the predicate itself when there is only one."""
    found = []
    for sql, predicate in plan.lowered.conjuncts[:MAX_CONJUNCTS]:
        alone = plan.evaluation if len(plan.lowered.conjuncts) == 1 else evaluate(predicate, plan.index)
        kept = kept_by(alone.access, plan.index, plan.columns, plan.sizes).extent(plan.index)
        found.append(Conjunct(sql, total.bytes - kept.bytes))
    return tuple(found)


def file_reports(plan: Plan) -> LazyTuple[FileReport]:
    """Say of every file and row group what is read of it and why; each is put together when it is looked at."""
    reasons = Reasons(plan.evaluation, plan.index)
    firsts = np.searchsorted(plan.index.file, np.arange(len(plan.index.files) + 1)).tolist()

    def report(number: int) -> FileReport:
        groups = tuple(_row_group(plan, i, reasons) for i in range(firsts[number], firsts[number + 1]))
        return FileReport(plan.index.files[number].path, _file_verdict(groups), groups)

    return LazyTuple(len(plan.index.files), report)


def _file_verdict(groups: Sequence[RowGroupReport]) -> VerdictName:
    verdicts = {group.verdict for group in groups}
    if verdicts <= {"skip"}:
        return "skip"
    return "scan" if verdicts == {"scan"} else "selection"


def _row_group(plan: Plan, position: int, reasons: Reasons) -> RowGroupReport:
    evaluation, rows = plan.evaluation, int(plan.index.row_count[position])
    level, reason = _attribute(plan, position, reasons)
    asked = [state.level for state in evaluation.levels if state.status == "consulted"]
    return RowGroupReport(
        index=int(plan.index.ordinal[position]),
        row_count=rows,
        verdict=_VERDICTS[Verdict(evaluation.access.verdict[position])],
        ranges=_pairs(evaluation.access.ranges, position),
        matches=_pairs(evaluation.access.matches, position),
        evidence=tuple(asked[: asked.index(level) + 1]) if level in asked else tuple(asked),
        reason=reason,
        level=level,
        bytes=int(plan.sizes.bytes[position]),
        kept_bytes=int(plan.kept.bytes[position]),
    )


def _attribute(plan: Plan, position: int, reasons: Reasons) -> tuple[str, str]:
    """Credit a row group, or rows of it, to the first level that drops them."""
    evaluation = plan.evaluation
    rows, kept = int(plan.index.row_count[position]), int(plan.kept.rows[position])
    if rows == 0:
        return "", "it has no rows"
    for state in evaluation.of_row_groups:
        if not state.alive[position]:
            return state.level, reasons.skipped_by(state, position)
    if kept < rows:
        return evaluation.pages.level, f"page bounds rule out {rows - kept:,} of {rows:,} rows"
    return "", f"could not be ruled out: {reasons.kept(position)}"


def _pairs(ranges: RangeList, position: int) -> tuple[tuple[int, int], ...]:
    return tuple((int(start), int(stop)) for start, stop in ranges.of(position))
