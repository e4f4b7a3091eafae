"""Several workloads as one, such as those of the days of a week."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from prune_assets.workload.gather import Gathered
from prune_assets.workload.query_shapes import ScanTotals
from prune_assets.workload.ran_scan import RanScan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prune_assets.workload.query_shapes import QueryShape, Workload


def merged(workloads: Iterable[Workload]) -> Workload:
    """Return workloads as one: runs and totals of equal shapes are added.

    >>> from prune_assets.workload.declared import workload_of_predicates
    >>> days = [workload_of_predicates("lake/orders", [f"day = DATE '2024-01-{day:02}'"]) for day in (1, 2)]
    >>> [(shape.shape, shape.runs) for shape in merged(days).shapes]
    [('day = ?', 2.0)]
    """
    gathered, left_out, problems = Gathered(), Counter[str](), list[str]()
    times, own, others = list[str](), 0, 0
    for workload in workloads:
        for shape in workload.shapes:
            for scan in _scans(shape):
                gathered.add(scan)
        left_out.update(workload.not_understood)
        problems += workload.problems
        own += workload.own_queries
        others += workload.other_applications
        times += [time for time in (workload.since, workload.until) if time]
    gathered.not_understood += left_out
    merged = gathered.workload(
        since=min(times, default=""), until=max(times, default=""), problems=tuple(dict.fromkeys(problems))
    )
    return replace(merged, own_queries=own, other_applications=others)


def _scans(shape: QueryShape) -> Iterator[RanScan]:
    """Return a scan for each predicate; runs of predicates that were not kept count with those that were."""
    kept = sum(one.runs for one in shape.predicates)
    totals, scale = shape.totals, shape.runs / kept if kept else 1.0
    names, applications = shape.names or ("",), shape.applications or ("",)
    for number, one in enumerate(shape.predicates):
        yield RanScan(
            table=shape.table,
            name=names[number % len(names)],
            where=one.where,
            columns=shape.columns if one.columns is None else one.columns,
            joined_on=shape.joined_on,
            application=applications[number % len(applications)],
            time=None,
            totals=totals,
            runs=one.runs * scale,
            left_out=shape.left_out,
        )
        totals = ScanTotals()
