"""Run a MERGE that opens only the files of its target that can hold a key of its source."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from parquet_core.errors import UnsupportedFeature, WrongUse
from prune_assets.merging.merge_source import named_source, source_sql, target_name
from prune_assets.merging.plan_merge import plan_merge
from prune_assets.merging.report import FileExtent
from prune_assets.spark.java_message import java_message
from prune_assets.spark.semantics_of_session import semantics_of
from prune_assets.spark.spark_session import given_or_active, own_jobs
from prune_assets.spark.spark_versions import from_arrow, quiet
from prune_assets.spark.statement_scans import observed_scans
from prune_assets.sql.merge_statement import merge_statement, table_location
from prune_assets.tables.opening import recognize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from prune_assets.merging.plan_merge import MergePlan
    from prune_assets.merging.report import MergeReport

# Spark's errors if the session's catalog does not know the target as a table that supports MERGE.
_WITHOUT_ENGINE = (
    "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY",
    "TABLE_OR_VIEW_NOT_FOUND",
    "DATA_SOURCE_NOT_FOUND",
    "UNSUPPORTED_FEATURE.TABLE_OPERATION",
    "DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG",
)
# Names of the same count: in the rows that MERGE returns, in Delta's metrics and in Iceberg's.
_INSERTED = ("num_inserted_rows", "numTargetRowsInserted", "spark.merge-into.num-target-rows-inserted")
_UPDATED = ("num_updated_rows", "numTargetRowsUpdated", "spark.merge-into.num-target-rows-updated")
_DELETED = ("num_deleted_rows", "numTargetRowsDeleted", "spark.merge-into.num-target-rows-deleted")
# Maximum number of commits that are searched for the commit of the MERGE.
_LATEST = 20


@dataclass(frozen=True, repr=False)
class MergeResult:
    """What a MERGE opened and changed; returned by `merge`.

    `report`: the plan of the MERGE; `report.with_condition` is what it was expected to open.
    `version`: version of the target that the MERGE committed. None if it made no commit, or if several commits were
    made, so that its version is unknown.
    `metrics`: metrics of the commit as the engine wrote them: operationMetrics of Delta, the summary of Iceberg.
    `opened`: files and bytes of the largest scan of the target, as Spark counted them. Delta reads the files that it
    rewrites a second time. None if the session does not report the scans, as with Spark Connect.
    `rows_inserted`, `rows_updated`, `rows_deleted`: None if the engine does not count them.
    `seconds`: time of the whole call, including `report.seconds` for planning.
    """

    report: MergeReport
    version: int | None
    metrics: Mapping[str, Any]
    opened: FileExtent | None
    rows_inserted: int | None
    rows_updated: int | None
    rows_deleted: int | None
    seconds: float

    @property
    def statement(self) -> str:
        """The statement that ran, with the added condition. The source is named as in the call of `merge`."""
        return self.report.statement

    def figures(self) -> dict[str, Any]:
        """Return the figures as plain data, without unknown figures."""
        report = self.report
        figures = {
            "table": report.target,
            "version": self.version,
            "keys": report.keys,
            "files": report.total.files,
            "files_as_written": report.as_written.files,
            "files_planned": report.with_condition.files,
            "files_opened": None if self.opened is None else self.opened.files,
            "bytes_as_written": report.as_written.bytes,
            "bytes_planned": report.with_condition.bytes,
            "rows_inserted": self.rows_inserted,
            "rows_updated": self.rows_updated,
            "rows_deleted": self.rows_deleted,
            "seconds": self.seconds,
        }
        return {name: value for name, value in figures.items() if value is not None}

    def __str__(self) -> str:
        report = self.report
        version = "" if self.version is None else f", version {self.version}"
        counts = {"inserted": self.rows_inserted, "updated": self.rows_updated, "deleted": self.rows_deleted}
        changes = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count is not None)
        opened = "unknown in this session" if self.opened is None else str(self.opened)
        return "\n".join(
            [
                f"MERGE into {report.target}{version}, {self.seconds:.1f} s",
                "",
                f"Rows     {changes or 'not counted by the engine'}",
                f"Planned  {report.with_condition} of {report.total}",
                f"Opened   {opened}; as written {report.as_written}",
            ]
        )

    def __repr__(self) -> str:
        return f"MergeResult({self.report.target!r}: opened {self.opened}, {self.report.as_written} as written)"


def merge(
    target: str,
    source: str | pa.Table | DataFrame,
    *,
    on: str,
    when: Sequence[str],
    session: SparkSession | None = None,
) -> MergeResult:
    """Run a MERGE of Delta or Iceberg with the condition that follows from the keys of its source.

    The source is computed once, so that the condition and the MERGE use the same keys. Spark runs the statement with
    the condition of `plan_merge` added, which does not change the result.

        result = pr.merge("lake.sales.orders", changes, on="t.id = s.id", when=["MATCHED UPDATE", "NOT MATCHED INSERT"])
        print(result)

    `target`, `source`, `on`, `when`: as in `plan_merge`.
    `session`: the Spark session that runs the MERGE, by default that of the source, or the active one. It needs the
    package and the extension of the target's format.

    Raises the errors of `plan_merge`, UnsupportedFeature with the statement for a session that cannot run it, and
    Spark's errors, for example if several rows of the source match one row.
    """
    started = time.perf_counter()
    spark = given_or_active(getattr(source, "sparkSession", None) if session is None else session)
    name = source_sql(source)
    target = target_name(target)
    given = merge_statement(target, name, on, when)
    rows = _computed(source, given.source, spark)
    with _temporary_view(spark, rows) as view:
        last_name = given.source.rpartition(".")[2]
        alias = given.source_alias or (last_name if last_name.isidentifier() else "source")
        planned = plan_merge(target, f"{view} AS {alias}", on=on, when=when, session=spark)
        shown = planned.statement.replace(f"USING {view} AS ", f"USING {given.source} AS ", 1)
        with observed_scans(spark, f"prune: MERGE of {view}") as scans:
            changes = _run(spark, planned, shown)
    version, metrics = _commit(planned, spark)
    largest = max(scans, key=lambda scan: (scan.bytes or 0, scan.files), default=None)
    counts = {**metrics, **changes}
    return MergeResult(
        report=replace(planned.report, statement=shown),
        version=version,
        metrics=metrics,
        opened=None if largest is None else FileExtent(largest.files, largest.bytes or 0),
        rows_inserted=_count(counts, _INSERTED),
        rows_updated=_count(counts, _UPDATED),
        rows_deleted=_count(counts, _DELETED),
        seconds=time.perf_counter() - started,
    )


def _computed(source: str | pa.Table | DataFrame, sql: str, spark: SparkSession) -> DataFrame:
    """Return the source as a DataFrame that has the same rows each time it is read."""
    if isinstance(source, pa.Table):
        return from_arrow(spark, source)
    rows: Any = named_source(sql, spark, semantics_of(spark)).rows if isinstance(source, str) else source
    if not hasattr(rows, "localCheckpoint"):
        raise WrongUse(
            "source: Spark Connect before 4.0 cannot keep the rows of a DataFrame; collect them as an Arrow table, "
            "and pass this"
        )
    with own_jobs(spark, "prune: rows of a MERGE's source"):
        computed: DataFrame = rows.localCheckpoint(eager=True)
    return computed


@contextmanager
def _temporary_view(spark: SparkSession, rows: DataFrame) -> Iterator[str]:
    view = f"prune_merge_{uuid4().hex}"
    rows.createTempView(view)
    try:
        yield view
    finally:
        spark.catalog.dropTempView(view)


def _run(spark: SparkSession, planned: MergePlan, shown: str) -> dict[str, Any]:
    """Run the statement, and return its row counts; empty for Iceberg, whose MERGE returns no counts."""
    from pyspark.errors import AnalysisException

    try:
        with quiet():  # PySpark also logs the errors that are raised here
            rows = spark.sql(planned.statement).collect()
    except AnalysisException as error:
        if not str(error).lstrip().startswith(tuple(f"[{condition}" for condition in _WITHOUT_ENGINE)):
            raise
        table_format, _ = recognize(table_location(planned.parsed.target), spark)
        raise UnsupportedFeature(
            f"{planned.report.target}: this session cannot run MERGE on the table ({java_message(str(error))}); run "
            f"this statement with {table_format.read_alone_by} and its extension: {' '.join(shown.splitlines())}"
        ) from error
    return rows[0].asDict() if rows else {}


def _commit(planned: MergePlan, spark: SparkSession) -> tuple[int | None, Mapping[str, Any]]:
    """Return version and metrics of the commit of the MERGE.

    This commit is the only one since the plan, or the only MERGE among several commits.
    """
    table_format, location = recognize(table_location(planned.parsed.target), spark)
    assert table_format.history is not None  # a plan of a MERGE has a table with versions
    newest = table_format.history(str(location), _LATEST)
    since = [*takewhile(lambda commit: commit[0] != planned.report.version, newest)]
    if len(since) > 1:
        since = [commit for commit in since if commit[2].get("operation") == "MERGE"]
    if len(since) != 1:
        return None, {}
    version, _, info = since[0]
    return version, info.get("operationMetrics", {})


def _count(counts: Mapping[str, Any], names: Sequence[str]) -> int | None:
    return next((int(counts[name]) for name in names if counts.get(name) is not None), None)
