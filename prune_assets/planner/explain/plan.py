"""The plan that users see: rows to read, reasons, and Spark's reads. Reasons and reads are computed on first use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.printable import redacted
from parquet_core.pruning.access_plan import Verdict
from parquet_core.quantities import counted
from parquet_core.ragged import distinct
from prune_assets.planner.explain.actual import report_after
from prune_assets.planner.explain.file_reports import FileReports
from prune_assets.planner.explain.report import report
from prune_assets.planner.join_keys import joins_of
from prune_assets.planner.plan_read import plan_read
from prune_assets.planner.planned_read import PlannedRead
from prune_assets.planner.spark_reader import SparkRead
from prune_assets.report.quantities import clipped

if TYPE_CHECKING:
    import datetime as dt
    import os
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from parquet_core.pruning.predicate import Predicate
    from prune_assets.planner.explain.actual import ArrowReads
    from prune_assets.planner.planned_read import Depth
    from prune_assets.report.skip_report import FileReport, ReaderWarning, SkipReport
    from prune_assets.sql.semantics import SparkSemantics


@dataclass(frozen=True, repr=False)
class Plan(PlannedRead):
    """Rows to read of a table for a predicate; returned by `plan`.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> for name, first in {"low": 0, "high": 100}.items():
    ...     pq.write_table(pa.table({"id": range(first, first + 100)}), f"{table}/{name}.parquet")
    >>> planned = pr.plan(table, where="id < 50")
    >>> [file.path.rpartition("/")[2] for file in planned.surviving_files]
    ['low.parquet']

    `index`: the metadata used.
    `evaluation`: the outcomes of every level.
    `tests`: tests on column values, for conditions that bounds cannot decide.

    `files` and `report` are derived on first use. `seconds` and the traffic figures cover the planning.
    """

    def __repr__(self) -> str:
        table, where = (clipped(label, 100) for label in (redacted(self.table.name), self.predicate_sql))
        positions = np.flatnonzero(self.evaluation.access.verdict != Verdict.SKIP)
        files, whole = len(distinct(self.index.groups.file[positions])), len(self.index.groups.files)
        groups = f"{len(positions):,} of {counted(len(self.index), 'row group')}"
        return f"Plan({table!r}, where={where!r}: reads {files:,} of {counted(whole, 'file')}, {groups})"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()

    @cached_property
    def files(self) -> Sequence[FileReport]:
        """Verdicts per file and row group; each entry is built on access."""
        return FileReports(self)

    @cached_property
    def spark(self) -> SparkRead:
        """How Spark reads the data that the plan keeps."""
        return SparkRead(self)

    @property
    def derived_filters(self) -> tuple[Predicate, ...]:
        """Plain conditions that Spark gets in addition to the predicate, with which Spark skips more."""
        return self.spark.derived_filters

    @property
    def warnings(self) -> tuple[ReaderWarning, ...]:
        """Cases in which Spark alone would lose rows, each with the option that `read` sets to false to prevent it."""
        return self.spark.warnings

    @cached_property
    def report(self) -> SkipReport:
        """Report of what is skipped: totals, levels and reasons."""
        return report(self.spark)

    def report_after(self, result: DataFrame | ArrowReads) -> SkipReport:
        """Return the report with the figures of a read that this plan predicts.

        `result`: a DataFrame that `read` returned for this plan, after it was collected, or the ReadStats of a read in
        Arrow with the same arguments. `spark` is a SparkSession here:

        >>> import tempfile
        >>> import pyarrow as pa, pyarrow.parquet as pq
        >>> import prune_assets as pr
        >>> table = tempfile.mkdtemp()
        >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
        >>> plan = pr.plan(table, where="id < 150", session=spark)
        >>> df = pr.read(table, where="id < 150", session=spark, plan=plan)
        >>> len(df.collect())
        150
        >>> actual = plan.report_after(df).engines[-1]
        >>> actual.name, actual.kept.files, actual.kept.rows
        ('Spark, as it ran', 1, 200)
        >>> stats = pr.ReadStats()
        >>> rows = pr.read_arrow(table, where="id < 150", stats=stats)
        >>> plan.report_after(stats).engines[-1].kept.rows
        200

        The rows of a DataFrame are the output rows of the scans. The bytes are all bytes that tasks read, including
        footers and page indexes. Spark does not count bytes in vectored reads (its default) and on Spark Connect. The
        report then has the predicted bytes if rows and files match the prediction, else the bytes of whole files
        without a share, and says so. A note names rows or files that differ from the prediction by more than 5%, or
        exceed it by more than 5% if it is an upper limit: the data changed, an action stopped early, or the prediction
        is wrong. The DataFrame may have further operations, such as an aggregate, if it scans no other table.

        Raises WrongUse if nothing was collected on this object, as `count()` and `write` execute another plan, and for
        statistics of other reads.
        """
        return report_after(self.report, self, result)


def plan(
    table: str | os.PathLike[str] | Sequence[str],
    *,
    where: str | Column = "true",
    keys: pa.Table | DataFrame | Sequence[pa.Table | DataFrame] | None = None,
    on: Sequence[str | tuple[str, ...] | Sequence[str | tuple[str, ...]] | None] | None = None,
    columns: Sequence[str] | None = None,
    session: SparkSession | None = None,
    semantics: SparkSemantics | None = None,
    depth: Depth = "pages",
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
) -> Plan:
    """Plan which rows of a table a predicate may select, from metadata alone.

    Two of these ten row groups can hold matching rows:

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> planned = pr.plan(table, where="id < 150")
    >>> planned.report.kept.rows, planned.report.total.rows
    (200, 1000)
    >>> pr.plan(table, keys=pa.table({"k": [3, 850]}), on=[("id", "k")]).report.kept.rows
    200

    `table`: a directory, file, glob or list of files. A directory with a `_delta_log` is a Delta table; one with
    `metadata` is an Iceberg table. Other tables are named `glue:database.table`, `unity:catalog.schema.table`
    (DATABRICKS_HOST, DATABRICKS_TOKEN), `iceberg:catalog.database.table` (pyiceberg's configuration), or with a Spark
    session by a name in its catalogs. If a path with such a name exists, the path is used.
    `where`: Spark SQL, or a PySpark Column, which requires a session.
    `keys`, `on`: plan only rows that have a partner in a join, as in an inner or a semi join. `keys` is an Arrow table
    or a DataFrame with the keys of the other side, whose distinct keys are collected. `on` has the names of the joined
    columns, or pairs of a column of the table and one of the keys, by default all columns of the keys; a pair with
    True as its third element is compared by `<=>`. Several joins: a list of keys, and a list of names for each.
    `columns`: columns that will be read, all by default; their bytes are counted.
    `session`: the Spark session that will read. With 100,000 or more files whose footers are not cached, a cluster's
    executors read them, and return survivors and counts. The session's `spark.prune.executorFiles` sets another number,
    also for a local session.
    `semantics`: settings of the session, to plan without a session. Without both, the settings of the installed Spark
    are used, without a time zone.
    `depth`: "pages", or "row_groups" to ignore page indexes.
    `version`, `timestamp`: an older version of a Delta table, or a snapshot of an Iceberg table, by number or by time:
    a datetime or ISO 8601 with a zone, or milliseconds.
    `allow`: addresses (`s3://source/table`, `/lake`) below which the log of a Delta table, or the metadata of an
    Iceberg table, may refer to files, as the log of a shallow clone does. Addresses in PRUNE_DELTA_ALLOW are allowed
    too.

    A table that `write` is changing, or whose `write` was killed, is planned in its state before or after that write.
    If files disappear between their listing and the read of their footers, the table is planned again, three times in
    all.

    Raises WrongUse (PredicateSyntaxError, UnknownColumn, PredicateTypeError, TableNotFound, NoSuchVersion),
    MalformedFile, UnsupportedFeature and StorageFailure.
    """
    planned = plan_read(
        table,
        where=where,
        columns=columns,
        session=session,
        semantics=semantics,
        depth=depth,
        version=version,
        timestamp=timestamp,
        allow=allow,
        joins=joins_of(keys, on),
    )
    return Plan(**vars(planned))
