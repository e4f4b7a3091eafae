"""Metrics of the scans of an executed DataFrame, as Spark counted them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parquet_core.errors import WrongUse
from prune_assets.spark.spark_session import temporary_option
from prune_assets.spark.spark_versions import execution_info

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

_NOT_RUN = "scan_metrics: nothing was executed on this DataFrame; call its collect() once, not count()"
# Number of latest queries among which the query of a DataFrame is searched.
_LATEST = 1_000


@dataclass(frozen=True, slots=True)
class ScanMetrics:
    """Metrics of one scan in a physical plan.

    `rows`: output rows of the scan, in row groups and pages that Spark's reader did not skip.
    `files`, `bytes`: number and size of the files that the plan listed; None if the source does not report them.
    `pushed_filters`: filters that Spark pushed to the source; empty on Spark Connect, which does not report them.
    """

    source: str
    rows: int
    files: int | None
    bytes: int | None
    pushed_filters: str


def scan_metrics(df: DataFrame) -> list[ScanMetrics]:
    """Return the metrics of each scan of `df`, which must be the collected object.

    The numbers are exact, also under adaptive execution. `df.count()` and `df.write` execute another plan, and a second
    action on the same object counts again: use a fresh object per action and call its `collect`, `toArrow` or
    `toPandas`. Raises WrongUse if no action ran on it.
    """
    if not hasattr(df, "_jdf"):
        return _connect_metrics(df)
    scans = _scans(df)
    if scans and not any(_was_run(scan) for scan in scans):
        raise WrongUse(_NOT_RUN)
    return [_metrics_of(scan) for scan in scans]


VECTORED = "parquet.hadoop.vectored.io.enabled"


def counts_bytes(spark: SparkSession) -> bool:
    """Return True if a session counts all bytes that its tasks read from Parquet.

    Spark counts the bytes read by the thread of a task. Vectored reads, the default of parquet-java, use other threads
    on most file systems; Spark then counts only footers and page indexes. Spark Connect reports no bytes.
    """
    if not hasattr(spark, "_jsparkSession"):
        return False
    from py4j.protocol import Py4JError

    java: Any = spark._jvm  # noqa: SLF001 - Python has no other access to Hadoop's configuration
    configuration = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - as above
    try:
        return not java.org.apache.parquet.HadoopReadOptions.builder(configuration).build().useHadoopVectoredIo()
    except (Py4JError, TypeError):
        # This parquet-java has no vectored reads.
        return True


@contextmanager
def counting_bytes(spark: SparkSession) -> Iterator[None]:
    """Disable vectored reads of a session in the block, so that Spark counts all bytes."""
    with temporary_option(spark, VECTORED, "false"):
        yield


def bytes_read(df: DataFrame) -> int | None:
    """Return the bytes that the tasks of a collected `df` read.

    They include footers and page indexes. None if `counts_bytes` is False for the session, or if the session has run a
    thousand other queries since.
    """
    session = df.sparkSession
    if not counts_bytes(session):
        return None
    context = session.sparkContext._jsc.sc()  # noqa: SLF001 - Python has no other way to a session's status
    context.listenerBus().waitUntilEmpty()
    wanted = {metric.id() for scan in _scans(df) for _, metric in _entries(scan.metrics())}
    status = session._jsparkSession.sharedState().statusStore()  # noqa: SLF001 - as above
    count = status.executionsCount()
    executions = status.executionsList(max(0, count - _LATEST), _LATEST)
    for i in reversed(range(executions.size())):
        metrics = executions.apply(i).metrics()
        if not wanted.isdisjoint(metrics.apply(k).accumulatorId() for k in range(metrics.size())):
            stages = list(_elements(executions.apply(i).stages()))
            return sum(int(context.statusStore().lastStageAttempt(stage).inputBytes()) for stage in stages)
    return None


def _scans(df: DataFrame) -> list[Any]:
    plan = df._jdf.queryExecution().executedPlan()  # noqa: SLF001 - Python has no other way to the plan
    return [operator for operator in _operators(plan) if "Scan" in operator.nodeName()]


def _connect_metrics(df: DataFrame) -> list[ScanMetrics]:
    info = execution_info(df)
    if info is None or info.metrics is None:
        raise WrongUse(_NOT_RUN)
    operators = info.metrics.extract_graph()[1].values()
    metrics = []
    for operator in (each for each in operators if "Scan" in each.name):
        values = {metric.name: int(metric.value) for metric in operator.metrics}
        rows, files, size = values.get("numOutputRows", 0), values.get("numFiles"), values.get("filesSize")
        metrics.append(ScanMetrics(operator.name.strip(), rows, files, size, pushed_filters=""))
    return metrics


def _was_run(scan: Any) -> bool:
    """Return True if a scan was executed.

    An executed scan has set `filesSize`, even to 0. A source without this metric counts as executed.
    """
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
    """Return the metadata of a file scan; empty for other scans."""
    from py4j.protocol import Py4JError

    # py4j resolves any attribute of a Java object to a method; only the call fails.
    try:
        return dict(_entries(scan.metadata()))
    except Py4JError:
        return {}


def _entries(scala_map: Any) -> Iterator[tuple[str, Any]]:
    for entry in _elements(scala_map):
        yield entry._1(), entry._2()  # noqa: SLF001 - the accessors of a Scala pair


def _elements(collection: Any) -> Iterator[Any]:
    iterator = collection.iterator()
    while iterator.hasNext():
        yield iterator.next()


def _operators(plan: Any) -> Iterator[Any]:
    """Yield the operators of the final plan.

    They include operators inside query stages, cached tables and commands.
    """
    class_name = plan.getClass().getSimpleName()
    if class_name == "AdaptiveSparkPlanExec":
        yield from _operators(plan.executedPlan())
    elif class_name.endswith("QueryStageExec"):
        yield from _operators(plan.plan())
    elif class_name == "InMemoryTableScanExec":
        yield from _operators(plan.relation().cachedPlan())
    else:
        yield plan
        if class_name == "CommandResultExec":
            yield from _operators(plan.commandPhysicalPlan())
        children = plan.children()
        for i in range(children.size()):
            yield from _operators(children.apply(i))
