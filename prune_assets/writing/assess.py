"""Assess a table: measure its files, pick the files to rewrite, and forecast the result."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import UnsupportedFeature, WrongUse
from parquet_core.layout.bound_layout import OrderedColumn
from parquet_core.layout.order import unsorted_files
from parquet_core.pruning.outcomes import may_match, must_match
from prune_assets.cache_directory import metadata_cache
from prune_assets.planner.plan_read import plan_opened, plan_read
from prune_assets.spark.lower_predicate import lower_predicate, semantics_for
from prune_assets.tables.opening import open_table, retry_on_stale_listing
from prune_assets.tables.rewriting import RESERVED, check_rewrite
from prune_assets.writing.forecast import pieces_of, predicted_bytes, predicted_depth
from prune_assets.writing.measure import Measured, measure, sort_keys
from prune_assets.writing.pick import Picked, RewriteReason, pick, pick_all, within
from prune_assets.writing.result import OptimizeResult, PickedFile, PredicateBytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, SparkSession

    from parquet_core.layout.spec import LayoutSpec
    from parquet_core.storage import DataFile
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.tables.table import Table
    from prune_assets.tables.writing import Writing


@dataclass(frozen=True, slots=True)
class OptimizeRequest:
    """Arguments of one `optimize` run.

    `location`: a path, an address, or a name in the session's catalogs.
    `rows`: read the sort key of files whose bounds leave the order of rows open; `is_sorted` caches the result per
    file.
    `budget`: maximum bytes of files to rewrite; None for no limit.
    `full`: rewrite every file, even files without a fault.
    """

    location: str
    layout: LayoutSpec
    where: str | Column | None
    spark: SparkSession | None
    rows: bool = False
    budget: int | None = None
    full: bool = False
    is_sorted: dict[DataFile, bool] = field(default_factory=dict)


class TableAssessment(NamedTuple):
    """Measurements of a table at one moment, and the picked files.

    `target`: bytes per new file.
    `rows_read`: True if the order of rows inside files was read, or if the layout has no sort key; False if only bounds
    were compared.
    `left_out`: number of files that need a rewrite but exceed the budget.
    """

    table: Table
    measured: Measured
    picked: Picked
    target: int
    rows_read: bool
    left_out: int = 0

    @property
    def writing(self) -> Writing:
        """The means to write tables of this format."""
        return self.table.format.writing_at(self.table.name)

    @property
    def live_bytes(self) -> float:
        """Approximate bytes of the live rows in the picked files."""
        live = self.measured.figures.live_bytes()
        return float(sum(live[list(group.files)].sum() for group in self.picked.groups))

    @property
    def file_indexes(self) -> list[int]:
        """Index numbers of the picked files, ascending."""
        return sorted(int(self.measured.file_indexes[file]) for group in self.picked.groups for file in group.files)

    @property
    def picked_bytes(self) -> int:
        """Bytes of the picked files."""
        return int(sum(self.measured.figures.size[list(group.files)].sum() for group in self.picked.groups))

    @property
    def group_of(self) -> dict[int, int]:
        """Index number of each picked file -> number of its group."""
        return {
            int(self.measured.file_indexes[file]): i
            for i, group in enumerate(self.picked.groups)
            for file in group.files
        }

    @property
    def rows(self) -> int:
        """Number of live rows in the picked files."""
        return int(
            (self.measured.rows - self.table.format.examination().deleted_rows(self.table))[self.file_indexes].sum()
        )


def assess(request: OptimizeRequest) -> TableAssessment:
    """Measure the considered files and pick those to rewrite.

    Raises if the table cannot be rewritten.
    """
    return retry_on_stale_listing(lambda: _assess_once(request))


def _assess_once(request: OptimizeRequest) -> TableAssessment:
    semantics = semantics_for(request.spark)
    named = request.spark if "/" not in request.location else None
    table = open_table(request.location, semantics=semantics, session=named, cache=metadata_cache())
    lowered = lower_predicate("true" if request.where is None else request.where, table, session=request.spark)
    answers = table.answers(lowered.predicate)
    if request.where is not None and (may_match(answers.partitions) & ~must_match(answers.partitions)).any():
        raise WrongUse(
            f"where: {lowered.sql} selects parts of files of {request.location}; use its partition columns only, or "
            "leave it out"
        )
    index = table.read(answers.kept)
    if taken := next((name for column in table.columns if (name := column.path[0]).casefold() in RESERVED), None):
        raise UnsupportedFeature(
            f"{request.location}: column {taken} has a name that optimize reserves; rename the column"
        )
    check_rewrite(table, request.layout)
    examination = table.format.examination()
    debt = examination.delete_debt(table)
    measured = measure(
        index,
        request.layout,
        chosen=answers.kept,
        partition=table.format.writing_at(table.name).rewrite_scope(table),
        deleted=examination.deleted_rows(table),
        with_delete_files=None if debt is None else debt.needs_rewrite(),
    )
    if request.rows and measured.keys:
        measured = _with_order_of_rows(measured, request)
    index.save()
    target = request.layout.target_file_bytes
    rows_read = request.rows or not measured.keys
    needed = (pick_all if request.full else pick)(measured.figures, target=target, wanted=request.layout.files)
    picked, left_out = within(needed, measured.figures, request.budget)
    return TableAssessment(table, measured, picked, target, rows_read, left_out)


def _with_order_of_rows(measured: Measured, request: OptimizeRequest) -> Measured:
    """Read the sort key of files whose bounds leave their order open.

    Each file is read once per request.
    """
    index, unordered = measured.index, measured.figures.faults[RewriteReason.ORDER].copy()
    open_order = [(i, int(file)) for i, file in enumerate(measured.file_indexes) if not unordered[i]]
    unread = [file for _, file in open_order if index.groups.files[file] not in request.is_sorted]
    keys = map(OrderedColumn, measured.keys, sort_keys(index, request.layout))
    unsorted = set(unsorted_files(index, unread, list(keys)))
    request.is_sorted.update({index.groups.files[file]: file not in unsorted for file in unread})
    for i, file in open_order:
        unordered[i] = not request.is_sorted[index.groups.files[file]]
    faults = {**measured.figures.faults, RewriteReason.ORDER: unordered}
    return replace(measured, figures=replace(measured.figures, faults=faults))


def plan_of(request: OptimizeRequest, sql: str, assessment: TableAssessment) -> PlannedRead:
    """Plan a predicate on the assessed version of the table."""
    if assessment.table.version_number is None:  # a table without versions may have other files by now
        return plan_read(request.location, where=sql, session=request.spark, depth="pages")
    return plan_opened(assessment.table, where=sql, session=request.spark, depth="pages")


def forecast(assessment: TableAssessment, plans: Sequence[PlannedRead], layout: LayoutSpec) -> OptimizeResult:
    """Describe the picked files and predict the result of rewriting them."""
    measured, groups, reasons = assessment.measured, assessment.picked.groups, assessment.picked.reasons
    index = measured.index
    pieces = pieces_of(measured, groups, layout) if groups and plans else None
    kept_bytes = [plan.kept.extent(plan.index).bytes for plan in plans]
    return OptimizeResult(
        table=assessment.table.name,
        dry_run=True,
        considered=len(measured.file_indexes),
        picked=tuple(
            PickedFile(
                index.groups.files[int(measured.file_indexes[file])].path,
                int(measured.figures.size[file]),
                tuple(reason.value for reason in reasons[file]),
            )
            for group in groups
            for file in group.files
        ),
        new_files=sum(group.outputs for group in groups),
        new_bytes=int(assessment.live_bytes),
        depth_before=measured.depth(),
        depth_predicted=predicted_depth(measured, groups),
        predicates=tuple(
            PredicateBytes(
                plan.lowered.sql, before, before if pieces is None else predicted_bytes(plan, measured, groups, pieces)
            )
            for plan, before in zip(plans, kept_bytes, strict=True)
        ),
        version=assessment.table.version_number,
        left=assessment.left_out,
        rows_read=assessment.rows_read,
        is_along_curve=bool(layout.curve_by),
    )
