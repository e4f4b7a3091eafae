"""Build the skip report of a plan and of Spark's reads."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.printable import redacted
from parquet_core.pruning.access_plan import Verdict, make_access_plan, whole_groups
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import (
    And,
    Cause,
    Constant,
    OnPartitions,
    OnValues,
    Or,
    Unsupported,
    cause_of,
    columns_of_leaf,
    leaves,
)
from prune_assets import __version__
from prune_assets.planner.explain.advice import advise
from prune_assets.planner.explain.attribution import conjuncts_alone, leaf_attribution
from prune_assets.planner.explain.file_reports import FileReports, costliest_files, describes_every_row_group, table_map
from prune_assets.planner.explain.remedies import Remedies
from prune_assets.planner.extents import extent_of, kept_by
from prune_assets.report.skip_report import (
    Engine,
    Extent,
    Level,
    Reading,
    SkipReport,
    TableSnapshot,
    UnsupportedPart,
)
from prune_assets.report.wording import reads_clearly_more
from prune_assets.sql.render import render

if TYPE_CHECKING:
    from parquet_core.pruning.levels.pruning_query import LevelState
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.planner.spark_reader import SparkRead
    from prune_assets.planner.spark_reader.predicted_scan import PredictedScan


_NULL = Constant(Outcomes.NULL)


def report(read: SparkRead) -> SkipReport:
    """Sum up what every level skipped.

    Further metadata is read and cached, to count the bytes of pages exactly and to evaluate each conjunct alone.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from prune_assets.planner.spark_reader import SparkRead
    >>> from prune_assets.planner.plan_read import plan_read
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> report(SparkRead(plan_read(table, where="id < 150"))).kept.rows
    200
    """
    plan, remedies = read.plan, Remedies(read.plan)
    total = extent_of(plan.index, plan.sizes, np.ones(len(plan.index), np.bool_))
    complete = describes_every_row_group(plan)
    attributed = leaf_attribution(plan)
    made = SkipReport(
        table=redacted(plan.table.name),
        predicate=plan.predicate_sql,
        normalized=render(_drop_null_branches(plan.lowered.predicate)),
        unsupported=_unsupported(plan, remedies),
        levels=_levels(plan, total),
        total=total,
        kept=plan.kept.extent(plan.index),
        conjuncts=conjuncts_alone(plan, total),
        files=tuple(FileReports(plan)) if complete else costliest_files(plan),
        implied=tuple(map(render, read.derived_filters)),
        requests=plan.requests,
        bytes_fetched=sum(plan.fetched.values()),
        index_bytes=plan.fetched.get("index", 0),
        bloom_bytes=plan.fetched.get("bloom", 0),
        dictionary_bytes=plan.fetched.get("dictionary", 0),
        seconds=plan.seconds,
        estimated=plan.kept.estimated,
        leaves=attributed,
        files_complete=complete,
        map=() if complete else table_map(plan),
        engines=_compared(read),
        warnings=read.warnings,
        table_snapshot=_snapshot(plan),
        unopened_files=0 if plan.index.groups.opened is None else int(np.count_nonzero(~plan.index.groups.opened)),
        advice=advise(plan, total, attributed=attributed, remedies=remedies),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
    )
    plan.index.save()
    plan.table.format.save(plan.table)
    return made


def _drop_null_branches(predicate: Predicate) -> Predicate:
    """Drop operands of OR that select no row, such as `x IS NULL AND NULL`.

    Lowering adds such an operand to express that the predicate is NULL if x is null.
    """
    match predicate:
        case And(operands):
            return And(tuple(map(_drop_nulls, operands)))
        case _:
            return _drop_nulls(predicate)


def _drop_nulls(predicate: Predicate) -> Predicate:
    match predicate:
        case Or(operands):
            remaining = tuple(
                operand for operand in operands if not (isinstance(operand, And) and _NULL in operand.children)
            )
            return Or(remaining) if len(remaining) > 1 else remaining[0] if remaining else predicate
        case _:
            return predicate


def _snapshot(plan: PlannedRead) -> TableSnapshot | None:
    read = np.zeros(len(plan.index.groups.files), np.bool_)
    read[plan.index.groups.file[plan.kept.rows > 0]] = True
    log_bytes = plan.fetched.get("log", 0)
    return plan.table.format.describe(plan.table, plan.index, read, pro_rata=plan.sizes.pro_rata, log_bytes=log_bytes)


def _unsupported(plan: PlannedRead, remedies: Remedies) -> tuple[UnsupportedPart, ...]:
    """Return the conditions that were not fully used.

    Either metadata cannot decide them, or they were not tested on all values of the row groups read.
    """
    parts: dict[UnsupportedPart, None] = {}
    for i, leaf in enumerate(leaves(plan.evaluation.predicate)):
        if cause_of(leaf) is Cause.FAR_YEARS:
            continue
        if isinstance(leaf, Unsupported):
            parts[UnsupportedPart(leaf.sql, leaf.reason, remedies.of(leaf))] = None
        elif isinstance(leaf, OnValues | OnPartitions) and (
            why := _why_untested(plan, leaf, plan.evaluation.row_groups.by_leaf[i])
        ):
            parts[UnsupportedPart(leaf.part.sql, why, remedies.of(leaf.part))] = None
    unused = (each for join in plan.joins for each in join.unused)
    return (*parts, *(UnsupportedPart(f"{each.column} = {each.key}", each.reason, each.remedy) for each in unused))


def _why_untested(plan: PlannedRead, leaf: OnValues | OnPartitions, outcomes: OutcomeArray) -> str:
    """Return why a condition was not tested on all values of the row groups read; "" if it was."""
    read = plan.evaluation.access.verdict != Verdict.SKIP
    open_ = np.flatnonzero(read & (outcomes == Outcomes.UNKNOWN))
    column = next((column for column in plan.index.groups.columns if (column.path,) == columns_of_leaf(leaf)), None)
    if column is not None and not leaf.test.limits:
        held = plan.index.dictionaries.cached(column, open_)
        open_ = open_[[values is None or isinstance(values, str) for values in held]]
    if len(open_) == 0:
        return ""
    if leaf.test.limits:
        return f"{leaf.part.reason}; its known values were not tested: {leaf.test.limits}"
    unknown_share = (
        f"; in {len(open_):,} of {len(plan.index):,} row groups the values are unknown"
        if len(open_) < len(plan.index)
        else ""
    )
    return f"{leaf.part.reason}{unknown_share}"


def _levels(plan: PlannedRead, total: Extent) -> tuple[Level, ...]:
    before = total
    levels = []
    for state in plan.evaluation.states:
        paged = state is plan.evaluation.pages
        after = plan.kept.extent(plan.index) if paged else extent_of(plan.index, plan.sizes, state.remaining)
        levels.append(
            Level(
                level=state.level,
                unit=state.unit,
                total=before,
                kept=after,
                skipped_rows=None if before.rows is None or after.rows is None else before.rows - after.rows,
                skipped_bytes=before.bytes - after.bytes,
                status=state.status,
                why=state.why or _reason_for_no_skip(state, before, after),
            )
        )
        before = after
    return tuple(levels)


def _reason_for_no_skip(state: LevelState, before: Extent, after: Extent) -> str:
    if state.status != "consulted" or before.bytes > after.bytes or before.rows != after.rows:
        return ""
    return f"every remaining {state.unit} may hold a match" if before.files else "earlier levels skipped everything"


def _compared(read: SparkRead) -> tuple[Engine, ...]:
    """Return the predicted reads of Spark, followed by the smallest read that the evidence allows."""
    best = _best_possible(read.plan)
    return (*(_predicted(read, reading, scan, best) for reading, scan in read.scans().items()), best)


def _best_possible(plan: PlannedRead) -> Engine:
    """Return the smallest read that the plan allows for any engine."""
    return Engine("best possible", plan.kept.extent(plan.index), plan.kept.estimated, reading=Reading.BEST_POSSIBLE)


def _predicted(read: SparkRead, reading: Reading, scan: PredictedScan, best: Engine) -> Engine:
    plan = read.plan
    nothing = whole_groups(np.zeros(0, np.int64), plan.index.groups.row_count)
    access = make_access_plan(scan.ranges, nothing, plan.index.groups.row_count)
    planned = kept_by(access, plan.index, plan.columns, plan.sizes)
    extent, why = planned.extent(plan.index), [scan.why]
    if not scan.why and reads_clearly_more(extent.bytes, best.kept.bytes, int(plan.sizes.bytes.sum())):
        why.append(scan.limit)
    estimated = planned.estimated or bool(scan.why)
    return Engine(read.name(reading), extent, estimated, "; ".join(filter(None, why)), reading, scan.caveat)
