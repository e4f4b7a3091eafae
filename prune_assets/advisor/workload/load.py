"""Load a workload from JSON files, files of SQL, event logs, or predicates."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from prune_assets.advisor.workload.declared import scans_of_sql
from prune_assets.advisor.workload.gather import Gathered
from prune_assets.advisor.workload.json_form import from_json
from prune_assets.advisor.workload.observe import observed, text_of
from prune_assets.advisor.workload.query_shapes import ScanTotals
from prune_assets.advisor.workload.ran_scan import RanScan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prune_assets.advisor.workload.query_shapes import QueryShape, Workload

WorkloadSource: TypeAlias = "Workload | Sequence[str] | str | os.PathLike[str]"


def load_workload(
    source: WorkloadSource, *, table: str | None = None, latest: int | None = None
) -> Workload | Sequence[str]:
    """Return a workload that `prune_assets.advise` accepts.

    `source`: a JSON file of `prune workload`, a folder of such files, a file of SQL, or event logs of Spark. A Workload
    or a list of predicates is returned unchanged.
    `table`: the table to which the conditions in a file of SQL belong.
    `latest`: how many of the most recent files to use from a folder that has one file per day.

    Raises WrongUse if a JSON file is not a workload, and the errors of `Workload.read`.
    """
    if not isinstance(source, str | os.PathLike):
        return source
    path = Path(source)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path] if path.suffix == ".json" else []
    if not files:
        return _load_sql(path, table) if path.suffix == ".sql" else observed(source)
    return merged(from_json(text_of(str(file)), source=str(file)) for file in files[-(latest or 0) :])


def _load_sql(path: Path, table: str | None) -> Workload:
    gathered = Gathered()
    for scan in scans_of_sql(text_of(str(path)), table, gathered.not_understood, source=str(path)):
        gathered.add(scan)
    return gathered.workload()


def merged(workloads: Iterable[Workload]) -> Workload:
    """Merge workloads: runs and totals of equal shapes are added.

    >>> from prune_assets.advisor.workload.query_shapes import Workload
    >>> days = [Workload.of("lake/orders", [f"day = DATE '2024-01-{day:02}'"]) for day in (1, 2)]
    >>> [(shape.shape, shape.runs) for shape in merged(days).shapes]
    [('day = ?', 2.0)]
    """
    gathered, left_out, problems = Gathered(), Counter[str](), list[str]()
    times, own, others = list[str](), 0, 0
    for each in workloads:
        for shape in each.shapes:
            for scan in _scans(shape):
                gathered.add(scan)
        left_out.update(each.not_understood)
        problems += each.problems
        own += each.own_queries
        others += each.other_applications
        times += [time for time in (each.since, each.until) if time]
    gathered.not_understood += left_out
    merged = gathered.workload(
        since=min(times, default=""), until=max(times, default=""), problems=tuple(dict.fromkeys(problems))
    )
    return replace(merged, own_queries=own, other_applications=others)


def _scans(shape: QueryShape) -> Iterator[RanScan]:
    """Yield a scan for each predicate of a shape.

    A shape stores only some of its predicates. The runs of predicates that are not stored are distributed over the
    stored ones.
    """
    runs = sum(predicate.runs for predicate in shape.predicates)
    totals, scale = shape.totals, shape.runs / runs if runs else 1.0
    names, applications = shape.names or ("",), shape.applications or ("",)
    for index, predicate in enumerate(shape.predicates):
        yield RanScan(
            table=shape.table,
            name=names[index % len(names)],
            where=predicate.where,
            columns=shape.columns if predicate.columns is None else predicate.columns,
            joined_on=shape.joined_on,
            application=applications[index % len(applications)],
            time=None,
            totals=totals,
            runs=predicate.runs * scale,
            left_out=shape.left_out,
            statement=shape.statement,
        )
        totals = ScanTotals()
