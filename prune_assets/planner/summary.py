"""From a plan to its skip report."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.access_plan import RangeList, Verdict
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import OnPartitions, OnValues, Unsupported, columns_of_leaf, leaves
from parquet_core.ragged import distinct
from parquet_core.redacted import redacted
from prune_assets import __version__
from prune_assets.planner.advice import advise
from prune_assets.planner.alternatives import conjuncts_alone, rewrites
from prune_assets.planner.extents import extent_of
from prune_assets.planner.leaf_attribution import leaf_attribution
from prune_assets.planner.page_details import page_details
from prune_assets.planner.reasons import Reasons
from prune_assets.planner.table_map import credited_level, table_map
from prune_assets.report.lazy_tuple import LazyTuple
from prune_assets.report.skip_report import (
    DeltaVersion,
    Extent,
    FileReport,
    Level,
    RowGroupReport,
    SkipReport,
    UnsupportedPart,
)
from prune_assets.report.skip_report import Verdict as VerdictName
from prune_assets.sql.render import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.outcomes import OutcomeArray
    from prune_assets.planner.plan import Plan

# Up to so many row groups a report has each of them in words; of a larger table the costliest of those that are read.
MAX_DETAILED = 2_000

_VERDICTS: tuple[VerdictName, ...] = ("skip", "scan", "selection")  # by number of Verdict


def summarize(plan: Plan) -> SkipReport:
    """Add up what every level removed; fetches the offset indexes that exact page bytes need."""
    total = extent_of(plan.index, plan.sizes, np.ones(len(plan.index), np.bool_))
    complete = len(plan.index) <= MAX_DETAILED
    told, planned_again = leaf_attribution(plan), rewrites(plan)
    return SkipReport(
        table=redacted(plan.table.name),
        predicate=plan.lowered.sql,
        normalized=plan.lowered.normalized,
        unsupported=_unsupported(plan),
        levels=_levels(plan, total),
        total=total,
        kept=plan.kept.extent(plan.index),
        conjuncts=conjuncts_alone(plan, total),
        files=tuple(plan.files) if complete else _costliest(plan),
        implied=tuple(map(render, plan.derived_filters)),
        requests=plan.requests,
        bytes_fetched=sum(plan.fetched.values()),
        index_bytes=plan.fetched.get("index", 0),
        bloom_bytes=plan.fetched.get("bloom", 0),
        dictionary_bytes=plan.fetched.get("dictionary", 0),
        seconds=plan.seconds,
        estimated=plan.kept.estimated,
        leaves=told,
        rewrites=planned_again,
        pages=page_details(plan),
        files_complete=complete,
        map=() if complete else table_map(plan),
        engines=plan.engines,
        warnings=plan.warnings,
        delta=_version(plan),
        unopened_files=0 if plan.index.opened is None else int(np.count_nonzero(~plan.index.opened)),
        advice=advise(plan, total, told=told, rewrites=planned_again),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
    )


def _version(plan: Plan) -> DeltaVersion | None:
    read = np.zeros(len(plan.index.files), np.bool_)
    read[plan.index.file[plan.kept.rows > 0]] = True
    return plan.table.version(plan.index, read, pro_rata=plan.sizes.pro_rata, log_bytes=plan.fetched.get("log", 0))


def _unsupported(plan: Plan) -> tuple[UnsupportedPart, ...]:
    """Return what no metadata could be asked, and what values could not be asked in each row group that is read."""
    found: dict[UnsupportedPart, None] = {}
    for i, leaf in enumerate(leaves(plan.evaluation.predicate)):
        if isinstance(leaf, Unsupported):
            found[UnsupportedPart(leaf.sql, leaf.reason, leaf.remedy)] = None
        elif isinstance(leaf, OnValues | OnPartitions) and (
            why := _unasked(plan, leaf, plan.evaluation.row_groups.by_leaf[i])
        ):
            found[UnsupportedPart(leaf.part.sql, why, leaf.part.remedy)] = None
    return tuple(found)


def _unasked(plan: Plan, leaf: OnValues | OnPartitions, answers: OutcomeArray) -> str:
    """Say why a part was not asked of all values in each row group that is read; empty where it was."""
    read = plan.evaluation.access.verdict != Verdict.SKIP
    open_ = np.flatnonzero(read & (answers == Outcomes.UNKNOWN))
    column = next((column for column in plan.index.columns if (column.path,) == columns_of_leaf(leaf)), None)
    if column is not None and not leaf.test.limits:
        held = plan.index.dictionaries.at_hand(column, open_)
        open_ = open_[[values is None or isinstance(values, str) for values in held]]
    if len(open_) == 0:
        return ""
    if leaf.test.limits:
        return f"{leaf.part.reason}; of values that are known it is not asked: {leaf.test.limits}"
    asked = len(plan.index) - len(open_)
    known = f"; in {len(open_):,} of {len(plan.index):,} row groups the values are not known" if asked else ""
    return f"{leaf.part.reason}{known}"


def _levels(plan: Plan, total: Extent) -> tuple[Level, ...]:
    before = total
    found = []
    for state in plan.evaluation.states:
        paged = state is plan.evaluation.pages
        after = plan.kept.extent(plan.index) if paged else extent_of(plan.index, plan.sizes, state.alive)
        found.append(
            Level(
                level=state.level,
                unit=state.unit,
                total=before,
                kept=after,
                skipped_rows=before.rows - after.rows,
                skipped_bytes=before.bytes - after.bytes,
                status=state.status,
                why=state.why or _why_nothing(state.status, before, after),
            )
        )
        before = after
    return tuple(found)


def _why_nothing(status: str, before: Extent, after: Extent) -> str:
    if status != "consulted" or before.bytes > after.bytes or before.rows > after.rows:
        return ""
    return "what it says leaves a matching row possible everywhere" if before.files else "nothing was left to ask"


def _costliest(plan: Plan) -> tuple[FileReport, ...]:
    """Describe the row groups that cost most to read, in the order of the table."""
    read = np.flatnonzero(plan.kept.rows > 0)
    costliest = np.sort(read[np.argsort(-plan.kept.bytes[read], kind="stable")][:MAX_DETAILED])
    reasons, levels = Reasons(plan.evaluation, plan.index, plan.table), credited_level(plan)
    files = plan.index.file[costliest]
    return tuple(
        _file(plan, number, costliest[files == number].tolist(), reasons, levels) for number in distinct(files).tolist()
    )


def file_reports(plan: Plan) -> LazyTuple[FileReport]:
    """Say of every file and row group what is read of it and why; each is put together when it is looked at."""
    reasons, levels = Reasons(plan.evaluation, plan.index, plan.table), credited_level(plan)
    first = np.searchsorted(plan.index.file, np.arange(len(plan.index.files) + 1)).tolist()
    return LazyTuple(len(plan.index.files), lambda i: _file(plan, i, range(first[i], first[i + 1]), reasons, levels))


def _file(plan: Plan, number: int, positions: Sequence[int], reasons: Reasons, levels: NDArray[np.int64]) -> FileReport:
    """Describe a file by the row groups at `positions`, all of its own or some."""
    first, stop = np.searchsorted(plan.index.file, [number, number + 1])
    groups = tuple(_row_group(plan, i, int(levels[i]), reasons) for i in positions)
    return FileReport(
        redacted(plan.index.files[number].path), _file_verdict(plan.evaluation.access.verdict[first:stop]), groups
    )


def _file_verdict(verdicts: NDArray[np.uint8]) -> VerdictName:
    # One of no row groups is skipped.
    found = set(verdicts.tolist()) or {int(Verdict.SKIP)}
    return _VERDICTS[found.pop()] if len(found) == 1 else "selection"


def _row_group(plan: Plan, position: int, credited: int, reasons: Reasons) -> RowGroupReport:
    evaluation, rows = plan.evaluation, int(plan.index.row_count[position])
    verdict = _VERDICTS[evaluation.access.verdict[position]]
    level, reason = _attribute(plan, position, credited, reasons)
    asked = [state.level for state in evaluation.states if state.status == "consulted"]
    return RowGroupReport(
        index=int(plan.index.ordinal[position]),
        row_count=rows,
        verdict=verdict,
        ranges=() if verdict == "skip" else _pairs(evaluation.access.ranges, position),
        matches=() if verdict == "skip" else _pairs(evaluation.access.matches, position),
        evidence=tuple(asked[: asked.index(level) + 1]) if level in asked else tuple(asked),
        reason=reason,
        level=level,
        bytes=int(plan.sizes.bytes[position]),
        kept_bytes=int(plan.kept.bytes[position]),
        kept_by=reasons.kept_by(position) if plan.kept.rows[position] else (),
    )


def _attribute(plan: Plan, position: int, credited: int, reasons: Reasons) -> tuple[str, str]:
    """Credit a row group, or rows of it, to the first level that drops them."""
    evaluation = plan.evaluation
    rows, kept = int(plan.index.row_count[position]), int(plan.kept.rows[position])
    if rows == 0:
        return "", "it has no rows"
    if credited < 0:
        return "", f"could not be ruled out: {reasons.kept(position)}"
    if credited < len(evaluation.of_row_groups):
        state = evaluation.of_row_groups[credited]
        return state.level, reasons.skipped_by(state, position)
    said = f"page bounds rule out {rows - kept:,} of {rows:,} rows"
    return evaluation.pages.level, said if kept == 0 else f"{said}; the others are kept by {reasons.kept(position)}"


def _pairs(ranges: RangeList, position: int) -> tuple[tuple[int, int], ...]:
    first, last = np.searchsorted(ranges.row_group, (position, position + 1))
    return tuple(zip(ranges.start[first:last].tolist(), ranges.stop[first:last].tolist(), strict=True))
