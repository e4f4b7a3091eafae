"""Plan a read: which rows of which row groups a predicate may select, and the report about it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from parquet_core.access_plan import Verdict
from parquet_core.errors import WrongUse
from parquet_core.printable import redacted
from parquet_core.quantities import counted
from parquet_core.ragged import distinct
from parquet_core.trees import replaced
from prune_assets.cache_directory import metadata_cache
from prune_assets.engines.profile import compared
from prune_assets.engines.spark import SPARK
from prune_assets.engines.spark.as_spark_filters import as_spark_filters
from prune_assets.engines.spark.opening import NamedBy, SparkScan, named_by, spark_scan
from prune_assets.planner.columns import check_names, columns_to_read
from prune_assets.planner.evaluation import Evaluation, evaluate
from prune_assets.planner.extents import Kept, Sizes, kept_by, measure
from prune_assets.planner.file_reports import FileReports
from prune_assets.planner.summary import summarize
from prune_assets.planner.unknown_zone import zone_remedy
from prune_assets.planner.value_tests import value_tests
from prune_assets.report.quantities import clipped
from prune_assets.session.semantics_of_session import semantics_of
from prune_assets.session.stores import reach_as
from prune_assets.sql.lower import LoweredPredicate, lower
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.sql.types.zones import check_zone_name
from prune_assets.tables.catalogs.resolve import catalog_entry
from prune_assets.tables.catalogs.session_catalog import check_columns
from prune_assets.tables.opening import made_steadily, open_table

if TYPE_CHECKING:
    import datetime as dt
    import os
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import Column, SparkSession

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import OnPartitions, OnValues, Predicate, Unsupported
    from parquet_core.storage import DataFile
    from prune_assets.engines.spark.spark_filters import SparkFilter
    from prune_assets.report.skip_report import Engine, FileReport, ReaderWarning, SkipReport
    from prune_assets.tables.table import Table

Depth = Literal["row_groups", "pages"]


@dataclass(frozen=True, repr=False)
class Plan:
    """What to read of a table for a predicate, as `plan` returns it.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> for name, first in {"low": 0, "high": 100}.items():
    ...     pq.write_table(pa.table({"id": range(first, first + 100)}), f"{table}/{name}.parquet")
    >>> planned = pr.plan(table, where="id < 50")
    >>> [file.path.rpartition("/")[2] for file in planned.surviving_files]
    ['low.parquet']

    `index` holds the metadata it rests on, `evaluation` the answers of every level; `files` and
    `report` are made from them on first use. `seconds` and the traffic figures cover the planning. `tests`: the parts
    that bounds do not answer and values do.
    """

    table: Table
    semantics: SparkSemantics
    lowered: LoweredPredicate
    columns: tuple[LeafColumn, ...]
    index: MetadataIndex
    evaluation: Evaluation
    seconds: float
    requests: int
    fetched: dict[str, int]
    depth: Depth = "pages"
    named: NamedBy = "directory"
    tests: Mapping[Unsupported, OnValues | OnPartitions] = field(default_factory=dict)

    def __repr__(self) -> str:
        table, where = (clipped(text, 100) for text in (redacted(self.table.name), self.lowered.sql))
        kept = np.flatnonzero(self.evaluation.access.verdict != Verdict.SKIP)
        files, whole = len(distinct(self.index.file[kept])), len(self.index.files)
        groups = f"{len(kept):,} of {counted(len(self.index), 'row group')}"
        return f"Plan({table!r}, where={where!r}: reads {files:,} of {counted(whole, 'file')}, {groups})"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of the columns read, by row group."""
        self.table.count_rows(self.index)
        return measure(self.index, self.columns)

    @cached_property
    def kept(self) -> Kept:
        """What is read of every row group; fetches the offset indexes that tell the bytes of a selection."""
        return kept_by(self.evaluation.access, self.index, self.columns, self.sizes)

    @cached_property
    def files(self) -> Sequence[FileReport]:
        """What happens to every file, row group by row group; each is put together when it is looked at."""
        return FileReports(self)

    @cached_property
    def spark_filters(self) -> SparkFilter:
        """The predicate as Spark's data sources are asked it."""
        return as_spark_filters(self.lowered.written_conjuncts(), self.table.columns, semantics=self.semantics)

    @cached_property
    def spark_scan(self) -> SparkScan:
        """Which files Spark is made to open, and how."""
        return spark_scan(self.index, self.evaluation.access, named=self.named)

    @cached_property
    def derived_filters(self) -> tuple[Predicate, ...]:
        """Plain conditions that Spark is handed beside the predicate, to skip what it would not by itself."""
        return SPARK.derived_filters(self)

    @cached_property
    def engines(self) -> tuple[Engine, ...]:
        """What Spark reads alone and with this plan, beside what this plan can prove."""
        return compared(self, SPARK)

    @cached_property
    def warnings(self) -> tuple[ReaderWarning, ...]:
        """Where Spark would lose rows by itself, and what `read` switches off for it."""
        return SPARK.reader_bugs(self)

    @cached_property
    def report(self) -> SkipReport:
        """What is skipped, out of how much, by which level and why."""
        report = summarize(self)
        self.index.save()
        self.table.save()
        return report

    @cached_property
    def zone_remedy(self) -> str:
        """How to name the session's time zone where it is not known, and what that would skip."""
        return zone_remedy(self)

    @property
    def surviving_files(self) -> tuple[DataFile, ...]:
        """The files of which at least one row is read."""
        kept = distinct(self.index.file[self.evaluation.access.verdict != Verdict.SKIP])
        return tuple(self.index.files[i] for i in kept.tolist())


def plan(
    table: str | os.PathLike[str] | Sequence[str],
    *,
    where: str | Column,
    columns: Sequence[str] | None = None,
    session: SparkSession | SparkSemantics | None = None,
    depth: Depth = "pages",
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
) -> Plan:
    """Plan which rows of a table a predicate may select, from metadata alone.

    Two of these ten row groups can hold rows that are asked for:

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> planned = pr.plan(table, where="id < 150")
    >>> planned.report.kept.rows, planned.report.total.rows
    (200, 1000)

    `table`: a directory, file, glob or list of files; a directory with a `_delta_log` is a Delta table.
    It may also be `glue:database.table`, `unity:catalog.schema.table` (DATABRICKS_HOST, DATABRICKS_TOKEN), or with a
    Spark session a name that its catalogs know; what exists as a path is a path.
    `where`: Spark SQL, or a PySpark Column, which takes a session.
    `columns`: what will be read, by default all; it decides which bytes count.
    `session`: the Spark session that will read, or its settings; by default the settings of Spark 4, without a zone.
    Of 100,000 files and more whose footers are not known, a cluster's executors read them, and send back survivors and
    counts; the session's `spark.prune.executorFiles` is another number, for a local session too.
    `depth`: "pages", or "row_groups" to leave page indexes alone.
    `version`, `timestamp`: an older version of a Delta table, by its number or by a time: a datetime or ISO 8601 with
    a zone, or milliseconds.
    `allow`: addresses (`s3://source/table`, `/lake`) below which the log of a Delta table may name files, as that of a
    shallow clone does; what PRUNE_DELTA_ALLOW names is allowed too.

    A table that `write` is changing, or whose `write` was killed, is planned as it was before or as it will be. Where
    files go between their listing and their footers, it is planned again, three times in all.

    Raises WrongUse (PredicateSyntaxError, UnknownColumn, PredicateTypeError, TableNotFound, NoSuchVersion),
    MalformedFile, UnsupportedFeature and StorageFailure.
    """
    if depth not in {"row_groups", "pages"}:
        raise WrongUse(f"depth={depth!r}: must be 'row_groups' or 'pages'")
    check_names(columns)
    started = time.perf_counter()
    if session is not None and not isinstance(session, SparkSemantics):
        reach_as(session, table, allow)
    return made_steadily(
        lambda: _plan_once(
            table, where, columns, session, depth, version=version, timestamp=timestamp, allow=allow, started=started
        )
    )


def _plan_once(
    table: str | os.PathLike[str] | Sequence[str],
    where: str | Column,
    columns: Sequence[str] | None,
    session: SparkSession | SparkSemantics | None,
    depth: Depth,
    *,
    version: int | None,
    timestamp: dt.datetime | int | str | None,
    allow: Sequence[str],
    started: float,
) -> Plan:
    semantics = _semantics(session)
    spark = None if isinstance(session, SparkSemantics) else session
    entry = catalog_entry(table, spark)
    if entry is not None:
        table = entry.location
        if entry.text_partitions and spark is None:
            semantics = replace(semantics, infer_partition_types=False)
    opened = open_table(
        table,
        semantics=semantics,
        version=version,
        timestamp=timestamp,
        allow=allow,
        cache=metadata_cache(),
        whole_below=_executor_files(spark),
    )
    if entry is not None and spark is not None:
        check_columns(entry, opened, spark)
    lowered = lower_predicate(where, opened, session=session)
    tests = _value_tests(lowered, opened, session, semantics)
    predicate = replaced(lowered.predicate, tests)
    answers = opened.answers(predicate)
    if spark is not None:
        from prune_assets.planner.executors import ask_executors

        # Without the tests of values: only this process can ask the session about them.
        found = ask_executors(spark, opened, lowered.predicate, answers, pages=depth == "pages")
        answers = replace(answers, elsewhere=found)
    index = opened.read(answers.left)
    if answers.elsewhere is not None:
        from prune_assets.planner.executors import put_rows

        put_rows(index, answers.elsewhere)
    if entry is not None:
        entry.check_files(index.files)
    evaluation = evaluate(predicate, index, pages=depth == "pages", files=answers)
    index.save()
    made = Plan(
        table=opened,
        semantics=semantics,
        lowered=lowered,
        columns=columns_to_read(index.columns, columns, predicate, partitions=index.partitions),
        index=index,
        evaluation=evaluation,
        seconds=time.perf_counter() - started,
        requests=index.traffic.requests,
        fetched=dict(index.traffic.bytes),
        depth=depth,
        named="unfinished" if opened.is_unfinished else named_by(table),
        tests=tests,
    )
    opened.save()
    return made


def _executor_files(spark: SparkSession | None) -> int | None:
    """Return from how many files on Spark's executors read the footers; None for never."""
    if spark is None:
        return None
    from prune_assets.planner.executors import executor_files

    return executor_files(spark)


def lower_predicate(
    where: str | Column,
    table: Table,
    *,
    session: SparkSession | SparkSemantics | None,
    now: int | None = None,
) -> LoweredPredicate:
    """Lower a predicate on the columns of a table; raises WrongUse for what is neither text nor a Column.

    `now`: the microseconds since 1970-01-01 that clocks are to say, None for the present.
    """
    semantics = _semantics(session)
    if isinstance(where, str):
        fold = _folds(session)
        return lower(where, table.columns, semantics=semantics, is_own=_asks_session(session), now=now, fold=fold)
    if not hasattr(where, "isNull"):
        raise WrongUse(f"where={where!r}: give the predicate as text in Spark SQL or as a Column")
    if session is None or isinstance(session, SparkSemantics):
        raise WrongUse("where: only Spark can read a Column; pass session=spark, or give the predicate as text")
    from prune_assets.session.queries.column_predicate import lower_column

    return lower_column(where, table.columns, frame=table.empty_frame(session), semantics=semantics, now=now)


def _value_tests(
    lowered: LoweredPredicate,
    table: Table,
    session: SparkSession | SparkSemantics | None,
    semantics: SparkSemantics,
) -> dict[Unsupported, OnValues | OnPartitions]:
    return value_tests(
        lowered,
        table.columns,
        partitions=table.partitions,
        session=session,
        semantics=semantics,
        is_own=_asks_session(session),
    )


def means_the_same(made: Plan, semantics: SparkSemantics) -> bool:
    """Tell whether the predicate of a plan would be lowered to the same in a session, as far as it depends on zones.

    What was made without a zone depends on none.
    """
    if not made.semantics.reads_alike(semantics):
        return False
    if made.semantics.time_zone is None:
        return True
    if (made.semantics.time_zone, made.semantics.zone_span) == (semantics.time_zone, semantics.zone_span):
        return True
    again = lower(made.lowered.sql, made.table.columns, semantics=semantics, now=made.lowered.now)
    return (again.frozen_sql, again.predicate) == (made.lowered.frozen_sql, made.lowered.predicate)


def _asks_session(session: SparkSession | SparkSemantics | None) -> Callable[[str], bool] | None:
    if session is None or isinstance(session, SparkSemantics):
        return None
    from prune_assets.session.queries.ask_values import is_own_function

    return cache(partial(is_own_function, session))


def _folds(session: SparkSession | SparkSemantics | None) -> Callable[[str], str | None] | None:
    if session is None or isinstance(session, SparkSemantics) or not hasattr(session, "_jsparkSession"):
        return None
    from prune_assets.session.queries.ask_values import literal_of

    return partial(literal_of, session)


def _semantics(session: SparkSession | SparkSemantics | None) -> SparkSemantics:
    if session is None:
        return SparkSemantics()
    if not isinstance(session, SparkSemantics):
        return semantics_of(session)
    if session.time_zone is not None:
        check_zone_name(session.time_zone)
    return session
