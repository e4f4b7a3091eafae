"""Read a table in a session's catalog with Iceberg itself, which handles deletes, evolution and defaults.

If the plan keeps fewer files than manifests alone would, exactly these files are staged as a set of scan tasks, as
Iceberg's own rewrites do. Otherwise Iceberg scans the snapshot with the filters it is given. In both cases no filter
uses a column by which Iceberg skips rows that Spark selects.
"""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING, Any

from prune_assets.spark.queries.column_predicate import catalyst_conjuncts
from prune_assets.tables.iceberg.doubted_columns import doubted_columns, trusted_part

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject, JVMView
    from pyspark.sql import DataFrame, SparkSession

    from prune_assets.tables.iceberg.table import IcebergTable
    from prune_assets.tables.table import FilesToRead

# Each task that Iceberg plans costs several Java calls.
_MOST_TASKS = 5_000
_STAGED = "SparkStagedScan"


def open_with_iceberg(spark: SparkSession, table: IcebergTable, wanted: FilesToRead) -> DataFrame | None:
    """Return rows of files or of the snapshot; None if Iceberg cannot be bound to the snapshot and its schema."""
    name, version, snapshot = table.in_session, table.version_number, table.snapshot
    if name is None or version is None:
        return None
    by_tasks = not table.is_older and hasattr(spark, "_jvm")
    drifted = snapshot.snapshot is not None and snapshot.snapshot.schema_id != snapshot.metadata.current_schema_id
    doubted = doubted_columns(snapshot, wanted.predicate)
    where = trusted_part(wanted.where.conjuncts, doubted) if doubted else wanted.where.frozen_sql
    where = where if wanted.is_text else None
    if by_tasks and (drifted or doubted or len(wanted.files) < table.kept_by_manifests()):
        staged = _stage_scan(spark, name, table, wanted, where)
        if staged is not None:
            return staged
    if drifted and not table.is_older:
        return None
    frame = spark.sql(f"SELECT * FROM {name} VERSION AS OF {version}")
    return _filter_trusted(frame, where) if doubted else frame


def _filter_trusted(frame: DataFrame, where: str | None) -> DataFrame:
    """Filter by trusted conditions only, and block the pushdown of later filters.

    Spark pushes no filter below a non-deterministic one, so such a filter is added. It is true for every row, but in a
    form that Spark cannot simplify, unlike `rand() >= 0`.
    """
    from pyspark.sql.functions import spark_partition_id

    return (frame if where is None else frame.where(where)).where(spark_partition_id() >= 0)


def _stage_scan(
    spark: SparkSession, name: str, table: IcebergTable, wanted: FilesToRead, where: str | None
) -> DataFrame | None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    files = table.snapshot.files
    paths = {files.path(file_number) for file_number in wanted.files.tolist()}
    if len(paths) > _MOST_TASKS:
        return None
    try:
        return _stage_in_java(spark, name, int(table.version_number or 0), paths, where)
    except (Py4JError, PySparkException):  # the runtime has other classes or methods
        return None


def _stage_in_java(
    spark: SparkSession, name: str, version: int, paths: set[str], where: str | None
) -> DataFrame | None:
    jvm: JVMView = spark._jvm
    java_table = loaded(spark, name)
    tasks = jvm.java.util.ArrayList()
    scan = _filter_scan(spark, name, java_table.newScan().useSnapshot(version), where)
    planned = scan.planFiles()
    each, seen = planned.iterator(), 0
    while each.hasNext() and seen <= _MOST_TASKS:
        task, seen = each.next(), seen + 1
        if str(task.file().location()) in paths:
            tasks.add(task)
    planned.close()
    if seen > _MOST_TASKS:
        return None
    # The same files, snapshot and filter always have the same set id, so repeated reads share one set.
    identity = "\0".join([str(java_table.uuid()), str(version), str(where), *sorted(paths)])
    task_set = f"prune-assets-{hashlib.sha256(identity.encode()).hexdigest()[:32]}"
    jvm.org.apache.iceberg.spark.ScanTaskSetManager.get().stageTasks(java_table, task_set, tasks)
    frame = _frame(spark, name, java_table, task_set)
    return frame if _scan_classes(frame) == {_STAGED} else None


def _frame(spark: SparkSession, name: str, java_table: JavaObject, task_set: str) -> DataFrame:
    reader = spark.read.format("iceberg").option("scan-task-set-id", task_set)
    cache = _table_cache(spark)
    if cache is None:
        return reader.load(name)
    # Newer runtimes resolve a set by a name in the cache of tables being rewritten, and ignore the option.
    cache.add(task_set, java_table)
    return reader.load(task_set)


def _table_cache(spark: SparkSession) -> JavaObject | None:
    """Return Iceberg's cache of tables being rewritten; None for a runtime of Spark 3.5, which does not expose it."""
    from py4j.protocol import Py4JError

    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    try:
        # The method is called by reflection, because Py4J does not always find the method of the class.
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()  # type: ignore[union-attr]
        cache_class = loader.loadClass("org.apache.iceberg.spark.SparkTableCache")
        method = cache_class.getMethod("get", gateway.new_array(jvm.java.lang.Class, 0))  # type: ignore[union-attr]
        return method.invoke(None, gateway.new_array(jvm.java.lang.Object, 0))  # type: ignore[union-attr]
    except Py4JError:
        return None


def _scan_classes(frame: DataFrame) -> set[str]:
    """Return the scan classes of a frame, to check an option: Spark ignores an unknown one silently."""
    leaves = frame._jdf.queryExecution().sparkPlan().collectLeaves()
    scan_nodes = [leaves.apply(i) for i in range(leaves.size())]
    return {str(leaf.scan().getClass().getSimpleName()) for leaf in scan_nodes}


def _filter_scan(spark: SparkSession, name: str, scan: Any, where: str | None) -> Any:
    """Add the conditions that Iceberg can express to a scan, so that Iceberg's reader skips row groups by them."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    if where is None:
        return scan
    convert = spark._jvm.org.apache.spark.sql.execution.datasources.SparkExpressionConverter  # type: ignore[union-attr]
    # PySpark converts some Java exceptions to its own classes.
    failures = (Py4JError, PySparkException)
    try:
        resolved = convert.collectResolvedSparkExpression(spark._jsparkSession, name, where)
    except failures:
        return scan
    for part in catalyst_conjuncts(resolved):  # Iceberg converts an expression completely or not at all
        with contextlib.suppress(*failures):
            scan = scan.filter(convert.convertToIcebergExpression(part))
    return scan


def loaded(spark: SparkSession, name: str) -> JavaObject:
    """Return Iceberg's Java object for the current state of a table in the session."""
    return spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(  # type: ignore[union-attr]
        spark._jsparkSession, name
    )
