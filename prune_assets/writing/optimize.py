"""Rewrite those files of a table that need it, and leave the others alone."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from parquet_core.printable import redacted
from prune_assets.extras import after_install
from prune_assets.spark.spark_session import own_jobs
from prune_assets.tables.catalogs.session_catalog import tell_catalog
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
# What the first round makes may be merged or cut once more, where sizes come out otherwise than forecast.
_ROUNDS = 4


def optimize(
    spark: SparkSession | None,
    table: str | os.PathLike[str],
    *,
    layout: LayoutSource,
    where: str | Column | None = None,
    predicates: Sequence[str] = (),
    dry_run: bool = False,
    rows: bool = False,
    budget: int | None = None,
    full: bool = False,
) -> OptimizeResult:
    """Rewrite the files of a table that are not as its layout says, too small, or full of deleted rows.

    With `spark` a SparkSession; four small files that overlap become one, and then there is nothing to do:

    >>> import tempfile
    >>> import prune_assets as pr
    >>> table, layout = tempfile.mkdtemp(), pr.LayoutSpec(sort_by=["id"], files=1)
    >>> for i in range(4):
    ...     written = pr.write(spark.range(i, 1000, 4), table, layout=layout, format="delta")
    >>> done = pr.optimize(spark, table, layout=layout)
    >>> len(done.picked), done.new_files, done.depth_before, done.depth_after
    (4, 1, 4.0, 1.0)
    >>> len(pr.optimize(spark, table, layout=layout).picked)
    0

    A file is picked when it overlaps with others of its partition on the leading sort key, when more than 5% of its
    rows are deleted, when bounds show that its rows are not in order, when it lacks a bloom filter or a page index of
    the layout, or when it is small, below a quarter of the target size, and merging it with its neighbours at least
    doubles every one of them. The others stay, so that new data cost about what they take themselves.

    `layout`, `where`: as of `write`; the latter are the partitions to consider. `predicates`: of each the bytes that it
    keeps are compared, before and after. `dry_run`: only say what would be done; `spark` may then be None.
    `rows`: read the sort key of the files that are considered where bounds leave the order of their rows open, and pick
    those whose rows are not in order, as `check` finds them (`order.rows`). Every run then reads the key of all files.
    `budget`: rewrite files of so many bytes at most. Files that overlap are rewritten together or not at all, the
    largest of such groups first; `left` of the result counts the files that need it and are left.
    `full`: rewrite every file that is considered, each partition as a whole, as a layout that changes needs it.

    Along a Z-order or Hilbert curve no file overlaps another on a single key. So of a layout with a curve small files,
    those with deleted rows, and those that lack a bloom filter are picked; `full` puts a table along a new curve.

    A table of Iceberg is named as the session's catalog has it, and rewritten by its procedures, as `statements` of the
    result says (with a session also after `dry_run`): `rewrite_data_files` sorts what was picked, or puts it along a
    Z-order, each call in one snapshot, which is proven; `rewrite_position_delete_files` and `rewrite_manifests` follow
    where there are many. The layout becomes the table's own, as `write` does it.

    A Delta table keeps its rows: the commit says so (`dataChange` false), concurrent appends stay, and a commit that
    removed a picked file meanwhile makes this one fail, with nothing changed. A plain table is changed as `write`
    changes it. Picked files whose columns have other types than those of the table are refused there.

    Raises LayoutError for a column that the table lacks, WrongUse, CommitConflict, UnsupportedTable for a Delta table
    with row tracking and others that name the feature, UnfinishedWrite, StorageFailure, and what Spark raises.
    """
    if isinstance(predicates, str):
        raise WrongUse(f"predicates={predicates!r}: give a list of predicates, e.g. [{predicates!r}]")
    source, layout = layout, load_layout(layout)
    target = find_target(table, spark)
    location = target.writing.location(target.opened_by)
    request = OptimizeRequest(location, layout, where, spark, rows, budget, full)
    with naming_layout_file(source):
        first = assess(request)
    _warn_of_partition_columns(first, layout)
    forecasted = forecast(first, [plan_of(request, sql, first) for sql in predicates], layout)
    if dry_run:
        return replace(forecasted, statements=() if spark is None else _statements(spark, request, first))
    if spark is None:
        step = after_install("pyspark", "pass a SparkSession")
        raise WrongUse(f"spark=None: only dry_run=True works without a session; {step}")
    with own_jobs(spark, f"optimize {redacted(location)}"):
        done = _carried_out(spark, request, first, forecasted)
    if target.entry is not None and target.format.spark_lists_files:
        tell_catalog(target.entry, spark)
    return done


def _warn_of_partition_columns(assessed: TableAssessment, layout: LayoutSpec) -> None:
    index = assessed.measured.index
    ordered = {key.column for key in sort_keys(index, layout)}
    for name in (key.column for key in layout.sort_keys if key.column not in ordered):
        _LOG.warning(
            "sort_by: %s is a partition column of the table, so every file holds one value of it and it orders "
            "nothing; remove it from sort_by",
            name,
        )


def _statements(spark: SparkSession, request: OptimizeRequest, assessed: TableAssessment) -> tuple[str, ...]:
    """Return what the engine of the table would be told."""
    rewrite = rewrite_of(request, assessed)
    statements = assessed.writing.statements
    calls = () if rewrite is None else statements(spark, assessed.table, rewrite)
    return (*calls, *statements(spark, assessed.table, None))


def _carried_out(
    spark: SparkSession, request: OptimizeRequest, assessed: TableAssessment, forecasted: OptimizeResult
) -> OptimizeResult:
    """Rewrite, again where what came out needs it too, and measure what came true."""
    new: dict[str, int] = {}
    told: tuple[str, ...] = ()
    for _ in range(_ROUNDS):
        rewrite = rewrite_of(request, assessed)
        if rewrite is None:
            break
        told += assessed.writing.statements(spark, rewrite.table, rewrite)
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
    done = replace(forecasted, dry_run=False, statements=(*told, *upkeep), version=assessed.table.version_number)
    if not done.picked:
        return done
    plans = [plan_of(request, one.sql, assessed) for one in forecasted.predicates]
    after = [plan.kept.extent(plan.index).bytes for plan in plans]
    return replace(
        done,
        new_files=len(new),
        new_bytes=sum(new.values()),
        depth_after=assessed.measured.depth(),
        predicates=tuple(replace(one, after=size) for one, size in zip(forecasted.predicates, after, strict=True)),
        left=len(assessed.numbers) + assessed.left_out,
    )


def rewrite_of(request: OptimizeRequest, assessed: TableAssessment) -> Rewrite | None:
    """Return the rewrite to do; None if there is nothing to rewrite."""
    if not assessed.picked.groups:
        return None
    wanted = {key.column.casefold(): key for key in request.layout.sort_keys}
    keys = [wanted[column.name.casefold()]._replace(column=column.name) for column in assessed.measured.keys]
    by_bytes = max(1, -int(-assessed.live_bytes // assessed.target))
    # Each group becomes a file at least; that many files by bytes would cut the larger groups.
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
