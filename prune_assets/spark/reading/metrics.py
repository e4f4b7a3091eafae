"""What the scans of an executed DataFrame really read, as Spark counted it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parquet_core.errors import UnsupportedFeature, WrongUse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class ScanMetrics:
    """One scan of a physical plan.

    `rows` came out of the scan: those of the row groups and pages that Spark's reader did not skip.
    `files` and `bytes` are the files that the plan named, None where the source does not say.
    """

    source: str
    rows: int
    files: int | None
    bytes: int | None
    pushed_filters: str


def scan_metrics(df: DataFrame) -> list[ScanMetrics]:
    """Return the metrics of each scan of `df`, which must be the object that was collected.

    Exact numbers, also under adaptive execution. `df.count()` and `df.write` execute another plan,
    and a second action on the same object counts anew: take a fresh object per action and call its
    `collect`, `toArrow` or `toPandas`. Raises WrongUse when no action ran on it, and
    UnsupportedFeature on Spark Connect, which keeps no plan on this side.
    """
    plan = getattr(df, "_jdf", None)
    if plan is None:
        raise UnsupportedFeature("Spark Connect: scan metrics need a classic session; see DataFrame.executionInfo")
    scans = [operator for operator in _operators(plan.queryExecution().executedPlan()) if "Scan" in operator.nodeName()]
    if scans and not any(_was_run(scan) for scan in scans):
        raise WrongUse("scan_metrics: nothing was executed on this DataFrame; call its collect() once, not count()")
    return [_metrics_of(scan) for scan in scans]


def _was_run(scan: Any) -> bool:
    """Tell whether `filesSize` was ever set, if only to 0; a source without it is given the benefit of the doubt."""
    size = dict(_entries(scan.metrics())).get("filesSize")
    return size is None or not size.isZero()


def _metrics_of(scan: Any) -> ScanMetrics:
    values = {name: metric.value() for name, metric in _entries(scan.metrics())}
    metadata = _metadata_of(scan)
    return ScanMetrics(
        source=str(scan.nodeName()).strip(),
        rows=int(values.get("numOutputRows", 0)),
        files=values.get("numFiles"),
        bytes=values.get("filesSize"),
        pushed_filters=str(metadata.get("PushedFilters", "")),
    )


def _metadata_of(scan: Any) -> dict[str, Any]:
    """Return what a scan of files says of itself; rows that are given as they are say nothing."""
    from py4j.protocol import Py4JError

    # Of a Java object Python takes every name for a method until it is called.
    try:
        return dict(_entries(scan.metadata()))
    except Py4JError:
        return {}


def _entries(scala_map: Any) -> Iterator[tuple[str, Any]]:
    iterator = scala_map.iterator()
    while iterator.hasNext():
        entry = iterator.next()
        yield entry._1(), entry._2()  # noqa: SLF001 - the accessors of a Scala pair


def _operators(plan: Any) -> Iterator[Any]:
    """Yield the operators of the final plan, through what wraps parts of it."""
    kind = plan.getClass().getSimpleName()
    if kind == "AdaptiveSparkPlanExec":
        yield from _operators(plan.executedPlan())
    elif kind.endswith("QueryStageExec"):
        yield from _operators(plan.plan())
    elif kind == "InMemoryTableScanExec":
        yield from _operators(plan.relation().cachedPlan())
    else:
        yield plan
        if kind == "CommandResultExec":
            yield from _operators(plan.commandPhysicalPlan())
        children = plan.children()
        for i in range(children.size()):
            yield from _operators(children.apply(i))
