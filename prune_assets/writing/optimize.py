"""Rewrite only the files of a table that need it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from parquet_core.printable import redacted
from prune_assets.spark.spark_session import given_or_active, own_jobs
from prune_assets.tables.catalogs.session_catalog import refresh_catalog
from prune_assets.tables.rewriting import GROUP, Rewrite
from prune_assets.tables.target import find_target
from prune_assets.writing.assess import OptimizeRequest, TableAssessment, assess, forecast, plan_of
from prune_assets.writing.layout_file import load_layout, naming_layout_file
from prune_assets.writing.measure import sort_keys

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pyspark.sql import Column, SparkSession

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.writing.layout_file import LayoutSource
    from prune_assets.writing.result import OptimizeResult

_LOG = logging.getLogger(__name__)
# Maximum number of rounds. The new files may be merged or split in a further round if their sizes differ from the
# forecast.
_ROUNDS = 4


def optimize(
    table: str | os.PathLike[str],
    *,
    layout: LayoutSource,
    session: SparkSession | None = None,
    where: str | Column | None = None,
    predicates: Sequence[str] = (),
    dry_run: bool = False,
    rows: bool = False,
    budget: int | None = None,
    full: bool = False,
) -> OptimizeResult:
    """Rewrite files that do not match the layout of their table.

    `spark` is a SparkSession here. Four small files that overlap become one; a second run finds nothing to do:

    >>> import tempfile
    >>> import prune_assets as pr
    >>> table, layout = tempfile.mkdtemp(), pr.LayoutSpec(sort_by=["id"], files=1)
    >>> for i in range(4):
    ...     written = pr.write(spark.range(i, 1000, 4), table, layout=layout, format="delta")
    >>> done = pr.optimize(table, layout=layout, session=spark)
    >>> len(done.picked), done.new_files, done.depth_before, done.depth_after
    (4, 1, 4.0, 1.0)
    >>> len(pr.optimize(table, layout=layout, session=spark).picked)
    0

    A file is picked if it overlaps other files of its partition on the leading sort key, if more than 5% of its rows
    are deleted, if bounds show that its rows are not in order, or if it lacks a bloom filter or a page index of the
    layout. A file below a quarter of the target size is picked if merging it with its neighbours at least doubles each
    of them. Other files stay, so the cost of a run is about proportional to the new data.

    `layout`, `where`: as in `write`; `where` selects the partitions to consider.
    `predicates`: SQL conditions whose kept bytes are compared before and after.
    `session`: the Spark session that rewrites, by default the active one.
    `dry_run`: only report the rewrite, which needs no session.
    `rows`: read the sort key of considered files if bounds leave the order of their rows open, and pick files whose
    rows are not in order, as `check` finds them (`order.rows`). Each run then reads the key of all these files.
    `budget`: maximum bytes of files to rewrite. Overlapping files are rewritten together or not at all, the largest
    such groups first; `left` of the result counts the files that still need a rewrite.
    `full`: rewrite every considered file, each partition as a whole, as a changed layout requires.

    Along a Z-order or Hilbert curve files always overlap on single keys. With a curve, `optimize` therefore picks only
    small files, files with deleted rows, and files that lack a bloom filter; `full` sorts a table along a new curve.

    An Iceberg table is named by its name in the session's catalog and rewritten by Iceberg's procedures; `statements`
    of the result lists the calls (after `dry_run` only with a session). `rewrite_data_files` sorts the picked files or
    orders them along a Z-order, one checked snapshot per call. `rewrite_position_delete_files` and `rewrite_manifests`
    follow if there are many delete files or manifests. The layout is stored in the table, as `write` does.

    A Delta table keeps its rows: the commit sets `dataChange` to false, and concurrent appends are kept. If another
    commit removed a picked file meanwhile, this commit fails and changes nothing. A plain table is changed as in
    `write`; picked files whose column types differ from the table's are refused there.

    Raises LayoutError for a column that the table lacks, WrongUse, CommitConflict, UnsupportedTable (names the feature,
    e.g. row tracking of a Delta table), UnfinishedWrite, StorageFailure, and the exceptions of Spark.
    """
    if isinstance(predicates, str):
        raise WrongUse(f"predicates={predicates!r}: give a list of predicates, e.g. [{predicates!r}]")
    source, layout = layout, load_layout(layout)
    spark = session if dry_run else given_or_active(session)
    target = find_target(table, spark)
    location = target.writing.location(target.opened_by)
    request = OptimizeRequest(location, layout, where, spark, rows, budget, full)
    with naming_layout_file(source):
        first = assess(request)
    _warn_of_partition_columns(first, layout)
    forecasted = forecast(first, [plan_of(request, sql, first) for sql in predicates], layout)
    if dry_run or spark is None:
        return replace(forecasted, statements=() if spark is None else _statements(spark, request, first))
    with own_jobs(spark, f"optimize {redacted(location)}"):
        done = _carried_out(spark, request, first, forecasted)
    if target.entry is not None and target.format.spark_lists_files:
        refresh_catalog(target.entry, spark)
    return done


def _warn_of_partition_columns(assessed: TableAssessment, layout: LayoutSpec) -> None:
    index = assessed.measured.index
    ordered = {key.column for key in sort_keys(index, layout)}
    for name in (key.column for key in layout.sort_keys if key.column not in ordered):
        _LOG.warning(
            "sort_by: %s is a partition column of the table, so each file has one value of it, and sorting by it has "
            "no effect; remove it from sort_by",
            name,
        )


def _statements(spark: SparkSession, request: OptimizeRequest, assessed: TableAssessment) -> tuple[str, ...]:
    """Return the SQL statements that the table's own engine would run."""
    rewrite = rewrite_of(request, assessed)
    statements = assessed.writing.statements
    calls = () if rewrite is None else statements(spark, assessed.table, rewrite)
    return (*calls, *statements(spark, assessed.table, None))


def _carried_out(
    spark: SparkSession, request: OptimizeRequest, assessed: TableAssessment, forecasted: OptimizeResult
) -> OptimizeResult:
    """Rewrite, repeat while the new files need a rewrite too, and measure the result."""
    new: dict[str, int] = {}
    statements: tuple[str, ...] = ()
    for _ in range(_ROUNDS):
        rewrite = rewrite_of(request, assessed)
        if rewrite is None:
            break
        statements += assessed.writing.statements(spark, rewrite.table, rewrite)
        made = assessed.writing.rewrite(spark, rewrite.table, rewrite)
        new = {path: size for path, size in new.items() if path not in made.removed} | made.added
        if assessed.table.format.spark_lists_files:
            spark.catalog.refreshByPath(request.location)
        left = None if request.budget is None else max(0, request.budget - assessed.picked_bytes)
        request = replace(request, budget=left, full=False)
        assessed = assess(request)
    upkeep = assessed.writing.statements(spark, assessed.table, None)
    for statement in upkeep:
        spark.sql(statement)
    if upkeep:
        assessed = assess(request)
    done = replace(forecasted, dry_run=False, statements=(*statements, *upkeep), version=assessed.table.version_number)
    if not done.picked:
        return done
    plans = [plan_of(request, it.sql, assessed) for it in forecasted.predicates]
    after = [plan.kept.extent(plan.index).bytes for plan in plans]
    return replace(
        done,
        new_files=len(new),
        new_bytes=sum(new.values()),
        depth_after=assessed.measured.depth(),
        predicates=tuple(replace(it, after=size) for it, size in zip(forecasted.predicates, after, strict=True)),
        left=len(assessed.file_indexes) + assessed.left_out,
    )


def rewrite_of(request: OptimizeRequest, assessed: TableAssessment) -> Rewrite | None:
    """Return the next rewrite; None if no file needs one."""
    if not assessed.picked.groups:
        return None
    wanted = {key.column.casefold(): key for key in request.layout.sort_keys}
    keys = [wanted[column.name.casefold()]._replace(column=column.name) for column in assessed.measured.keys]
    by_bytes = max(1, -int(-assessed.live_bytes // assessed.target))
    # Each group becomes at least one file; a file count by bytes would also split the larger groups.
    outputs = [group.outputs for group in assessed.picked.groups]
    is_by_group = request.layout.files is not None and max(outputs) > 1
    grouped = replace(
        request.layout,
        sort_by=[str(key) for key in keys],
        partition_by=[GROUP],
        files=sum(outputs) if is_by_group else by_bytes,
    )
    return Rewrite(
        table=assessed.table,
        index=assessed.measured.index,
        group_of=assessed.group_of,
        rows=assessed.rows,
        layout=grouped,
        decide_again=lambda: rewrite_of(request, assess(request)),
        where=None if request.where is None else str(request.where),
    )
