"""Number of files that each scan of a Spark statement opened, from Spark's SQL status store."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from prune_assets.spark.spark_session import naming_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# Metric names of Spark's file scans and of Iceberg's scans.
_FILES = ("number of files read", "number of result data files")
_BYTES = ("size of files read", "total data file size (bytes)")
# Scans of a Delta log are file scans too, but do not count.
_OF_LOG = "DeltaLogFileIndex"
_LATEST = 200
_UNITS = {"B": 0, "KiB": 1, "MiB": 2, "GiB": 3, "TiB": 4, "PiB": 5}
_NUMBER = re.compile(r"([\d,]+(?:\.\d+)?)(?: ([A-Z]i?B?))?")


class ScannedFiles(NamedTuple):
    """Number of files that a scan opened, and their size.

    `bytes`: size of the files. None if the scan does not report it.
    """

    files: int
    bytes: int | None


@contextmanager
def observed_scans(session: SparkSession, what: str) -> Iterator[list[ScannedFiles]]:
    """Describe the jobs of the block; when the block ends, fill the yielded list with the scans of these jobs.

    `what`: unique description. The list remains empty on Spark Connect, which does not show other statements, and if
    Spark keeps no finished queries.
    """
    scans: list[ScannedFiles] = []
    with naming_jobs(session, what):
        yield scans
    if hasattr(session, "_jsparkSession"):
        scans += _scans(session, what)


def _scans(session: SparkSession, what: str) -> Iterator[ScannedFiles]:
    java: Any = session
    java.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # noqa: SLF001 - Python has no other way to Spark's status
    status = java._jsparkSession.sharedState().statusStore()  # noqa: SLF001 - as above
    executions = list(_elements(status.executionsList(max(0, status.executionsCount() - _LATEST), _LATEST)))
    roots = {each.rootExecutionId() for each in executions if what in each.description()}
    for execution in executions:
        if execution.rootExecutionId() not in roots:
            continue
        values = status.executionMetrics(execution.executionId())
        for node in _elements(status.planGraph(execution.executionId()).allNodes()):
            if "Scan" in node.name() and _OF_LOG not in node.desc():
                counts = {each.name(): _value(java, each.accumulatorId(), values) for each in _elements(node.metrics())}
                files = next((counts[name] for name in _FILES if counts.get(name) is not None), None)
                if files is not None:
                    yield ScannedFiles(files, next((counts[name] for name in _BYTES if name in counts), None))


def _value(session: Any, accumulator: int, values: Any) -> int | None:
    """Return the value of a metric: exact as long as Spark holds it in memory, otherwise as Spark displays it."""
    exact = session._jvm.org.apache.spark.util.AccumulatorContext.get(accumulator)  # noqa: SLF001 - as above
    if exact.isDefined():
        return int(exact.get().value())
    shown = values.get(accumulator)
    return _number(shown.get()) if shown.isDefined() else None


def _number(shown: str) -> int | None:
    r"""Parse a number that Spark displays, or the total of a metric of several tasks.

    >>> _number("1,234"), _number("2.5 KiB"), _number("total (min, med, max)\n3.0 MiB (1.0 MiB, 1.0 MiB, 1.0 MiB)")
    (1234, 2560, 3145728)
    """
    match = _NUMBER.match(shown.rpartition("\n")[2])
    if match is None:
        return None
    return round(float(match[1].replace(",", "")) * float(1024 ** _UNITS.get(match[2] or "B", 0)))


def _elements(collection: Any) -> Iterator[Any]:
    for i in range(collection.size()):
        yield collection.apply(i)
