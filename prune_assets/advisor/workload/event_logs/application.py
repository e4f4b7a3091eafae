"""Combine the events of one application into its queries and their scans."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from prune_assets.advisor.workload.conditions.scan_filter import scan_filter
from prune_assets.advisor.workload.event_logs.events import (
    AdaptiveUpdate,
    ApplicationStart,
    DriverUpdates,
    Environment,
    ExecutionEnd,
    ExecutionStart,
    LogStart,
    StageCompleted,
)
from prune_assets.advisor.workload.event_logs.node_names import is_merge
from prune_assets.advisor.workload.event_logs.plan_scans import scans_of
from prune_assets.advisor.workload.event_logs.table_of import merge_of, table_of
from prune_assets.advisor.workload.gather import added
from prune_assets.advisor.workload.not_understood import NotUnderstood
from prune_assets.advisor.workload.query_shapes import MERGE, ScanTotals
from prune_assets.advisor.workload.ran_scan import RanScan
from prune_assets.spark.own_tag import is_own

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from prune_assets.advisor.workload.event_logs.events import Event
    from prune_assets.advisor.workload.event_logs.plan_scans import PlanMetrics, PlannedScan
    from prune_assets.advisor.workload.event_logs.table_of import MergeCommand

_NOTHING = ScanTotals()

_SOURCE_FILTERS = re.compile(r"^IcebergScan\(.*?filters=(.*), runtimeFilters=", re.DOTALL)
_ZONE = "spark.sql.session.timeZone"
# Maximum number of cached metric values; the oldest values are dropped first.
_MOST_VALUES = 400_000
# Maximum number of running queries; some logs contain no end events.
_MOST_RUNNING = 2_000


@dataclass(slots=True)
class _Execution:
    execution_id: int
    time: int
    zone: str | None
    # The initial plan, and the latest plan of adaptive execution.
    plans: list[ExecutionStart | AdaptiveUpdate]
    # True if a job of prune-assets ran the query.
    is_own: bool
    # The MERGE that the query is a part of.
    merge: MergeCommand | None = None
    not_understood: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Application:
    """The state of an application while its events are read.

    `not_understood`: number of scans left out, by reason.
    `own_queries`: scans of prune-assets' own queries, which are left out.
    `passed_over`: queries that an earlier read of the log has counted.
    `ended`: queries that this read has counted.
    """

    passed_over: Container[int] = ()
    # Only queries that began in this interval count (milliseconds since 1970-01-01).
    since: int | None = None
    until: int | None = None
    ended: set[int] = field(default_factory=set)

    start: ApplicationStart | None = None
    version: str = ""
    zone: str | None = None
    running: dict[int, _Execution] = field(default_factory=dict)
    merges: dict[int, MergeCommand] = field(default_factory=dict)
    values: dict[int, int] = field(default_factory=dict)
    not_understood: Counter[str] = field(default_factory=Counter)
    own_queries: int = 0

    def take(self, event: Event) -> Iterator[RanScan]:
        """Process the next event; yield the scans of a query that it ends."""
        match event:
            case ExecutionStart(executionId=execution_id) if execution_id not in self.passed_over:
                yield from self._start(event)
            case AdaptiveUpdate(executionId=execution_id) if execution_id in self.running:
                self.running[execution_id].plans[1:] = [event]
            case DriverUpdates(accumUpdates=updates):
                self._add(updates)
            case StageCompleted(info=info):
                self._add([(it.number, it.value) for it in info.accumulables if it.metadata == "sql"])
            case ExecutionEnd(executionId=execution_id, errorMessage=message) if execution_id in self.running:
                self.ended.add(execution_id)
                self.merges.pop(execution_id, None)
                yield from self._end(self.running.pop(execution_id), failed=bool(message))
            case ExecutionEnd(executionId=execution_id) if not self.version and execution_id not in self.passed_over:
                self.not_understood["a query whose start is not in the log"] += 1
            case LogStart(version=version):
                self.version = version
            case ApplicationStart():
                self.start = event
            case Environment(spark=spark, system=system):
                self.zone = spark.get(_ZONE) or system.get("user.timezone") or None

    @property
    def name(self) -> str:
        """The name of the application; "" before its start event."""
        return "" if self.start is None else self.start.name

    def end(self) -> Iterator[RanScan]:
        """Yield the scans of queries that are still running at the end of the log."""
        for execution in [*self.running.values()]:
            yield from self._end(execution, failed=True)
        self.running.clear()

    def _start(self, event: ExecutionStart) -> Iterator[RanScan]:
        if len(self.running) >= _MOST_RUNNING:
            oldest = self.running.pop(next(iter(self.running)))
            self.merges.pop(oldest.execution_id, None)
            self.ended.add(oldest.execution_id)
            yield from self._end(oldest, failed=True)
        zone = event.modifiedConfigs.get(_ZONE, self.zone)
        root = event.executionId if event.rootExecutionId is None else event.rootExecutionId
        if is_merge(event.sparkPlanInfo.nodeName):
            merge = merge_of(event.physicalPlanDescription)
            self.merges |= {} if merge is None else {event.executionId: merge}
        self.running[event.executionId] = _Execution(
            event.executionId, event.time, zone, [event], is_own(event.jobTags), self.merges.get(root)
        )

    def _scans(self, execution: _Execution) -> list[PlannedScan]:
        """Return the scans of a query's latest plan.

        Scans that are only in the initial plan are added, because they may have run.
        """
        scans: dict[object, PlannedScan] = {}
        try:
            for plan in reversed(execution.plans):
                for scan in scans_of(plan.physicalPlanDescription, plan.sparkPlanInfo):
                    rows = scan.metrics.rows
                    key = (scan.name, scan.fields.get("Output")) if rows is None else rows
                    may_not_run = scan.metrics.may_not_run or plan is not execution.plans[-1]
                    scans.setdefault(key, scan._replace(metrics=scan.metrics._replace(may_not_run=may_not_run)))
        except NotUnderstood as error:
            execution.not_understood[error.reason] += 1
        return [*scans.values()]

    def _add(self, updates: list[tuple[int, object]] | list[tuple[int, int]]) -> None:
        for accumulator_id, value in updates:
            previous = self.values.pop(accumulator_id, 0)
            if isinstance(value, int | str) and str(value).lstrip("-").isdecimal():
                self.values[accumulator_id] = max(previous, int(value))
        if len(self.values) > _MOST_VALUES:
            for accumulator_id in [*self.values][: _MOST_VALUES // 2]:
                del self.values[accumulator_id]

    def _end(self, execution: _Execution, *, failed: bool) -> Iterator[RanScan]:
        is_late = self.until is not None and execution.time >= self.until
        is_early = self.since is not None and execution.time < self.since
        scans = [] if is_late or is_early else one_run(self._ran_scans(execution, failed=failed))
        if execution.is_own:
            self.own_queries += len(scans)
        else:
            self.not_understood += execution.not_understood
            yield from scans
        if not self.running:
            self.values.clear()

    def _ran_scans(self, execution: _Execution, *, failed: bool) -> Iterator[RanScan]:
        for scan in self._scans(execution):
            totals = self._totals(scan.metrics)
            # A plan alone does not prove that its scan ran: the query may have failed before the scan, the rows may
            # have been cached, or the plan may only show the result of a command, whose own query has the scan.
            if totals == ScanTotals() and (failed or scan.metrics.may_not_run):
                continue
            if totals != ScanTotals() and not failed:
                totals = _with_zeros(totals, scan.metrics)
            try:
                ran = self._ran(scan, execution, totals)
            except NotUnderstood as error:
                execution.not_understood[error.reason] += 1
                continue
            if ran is not None:
                yield ran

    def _totals(self, metrics: PlanMetrics) -> ScanTotals:
        time = None if metrics.seconds is None else self._value(metrics.seconds[0])
        rows = self._value(metrics.rows)
        return ScanTotals(
            files_read=self._value(metrics.files),
            bytes_read=self._value(metrics.bytes),
            rows_read=rows,
            rows_selected=rows if metrics.selected is None else self._value(metrics.selected),
            seconds=None if time is None or metrics.seconds is None else time / metrics.seconds[1],
        )

    def _value(self, accumulator_id: int | None) -> int | None:
        return None if accumulator_id is None else self.values.get(accumulator_id)

    def _ran(self, scan: PlannedScan, execution: _Execution, totals: ScanTotals) -> RanScan | None:
        table = table_of(scan.name, scan.fields)
        if table is None:
            return None
        merge = execution.merge if execution.merge is not None and execution.merge.table == table.table else None
        parsed = scan_filter(
            output=scan.fields.get("Output", "[]"),
            read_schema=scan.fields.get("ReadSchema"),
            conditions=scan.conditions,
            direct_conditions=scan.direct_conditions,
            applied_filters=scan.applied_filters,
            partition_filters=scan.fields.get("PartitionFilters"),
            pushed_filters=scan.fields.get("PushedFilters"),
            joined_on=scan.joined_on if merge is None else scan.joined_on | merge.keys,
            zone=execution.zone,
        )
        left_out = [*parsed.not_understood]
        left_out += ["a function in Python"] if scan.has_other_filter else []
        left_out += ["a filter that Iceberg applies by itself"] if _is_filtered_by_source(scan) else []
        execution.not_understood.update(left_out)
        return RanScan(
            table.table,
            table.name,
            parsed.where,
            parsed.columns,
            parsed.joined_on,
            self.name,
            execution.time,
            # A MERGE selects rows by its join, not by the filters of the scan.
            totals if merge is None else replace(totals, rows_selected=None),
            left_out=tuple(sorted({*left_out})),
            statement="" if merge is None else MERGE,
        )


def _with_zeros(totals: ScanTotals, metrics: PlanMetrics) -> ScanTotals:
    """Replace missing metrics of a finished query by 0, because Spark does not report a metric that stays 0."""
    rows = totals.rows_read if totals.rows_read is not None or metrics.rows is None else 0
    selected = totals.rows_selected
    return replace(totals, rows_read=rows, rows_selected=0 if selected is None and rows is not None else selected)


def _is_filtered_by_source(scan: PlannedScan) -> bool:
    """Return True if Iceberg filters by a column that Spark's own conditions do not use.

    Such a filter is left out of the predicate, because Iceberg prints its value without a type.
    """
    match = _SOURCE_FILTERS.search(scan.fields.get("Arguments", ""))
    names = [] if match is None else [part.split(" ")[0] for part in match[1].split(", ") if " " in part]
    return any(f"{name.split('.')[0]}#" not in printed for name in names for printed in ["".join(scan.conditions)])


def one_run(scans: Iterable[RanScan]) -> list[RanScan]:
    """Merge the scans of one query that differ only in their totals, and add the totals.

    The two scans of a self-join remain separate if only one of them has a condition.
    """
    totals_by_scan: dict[RanScan, ScanTotals] = {}
    for scan in scans:
        key = scan._replace(totals=_NOTHING)
        totals_by_scan[key] = added(totals_by_scan.get(key, _NOTHING), scan.totals)
    return [key._replace(totals=totals) for key, totals in totals_by_scan.items()]
