"""Spark's reader: pushed filters, rows read, known bugs, opening of survivors."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.dataset.unread_columns import unread_columns
from parquet_core.pruning.predicate import Cause, Unsupported, cause_of, conjuncts_of, leaves
from prune_assets.planner.spark_reader.as_spark_filters import as_spark_filters, filters_of
from prune_assets.planner.spark_reader.derived_filters import derived_filters
from prune_assets.planner.spark_reader.opening import SparkScan, spark_scan
from prune_assets.planner.spark_reader.predicted_scan import PredictedScan, listed_files, predicted_scan
from prune_assets.planner.spark_reader.reader_bugs import reader_bugs
from prune_assets.planner.spark_reader.spark_filters import all_of
from prune_assets.planner.spark_reader.spark_profile import profile_of, reader_name
from prune_assets.report.skip_report import Caveat, Reading
from prune_assets.report.wording import DEPENDS_ON_ZONE

if TYPE_CHECKING:
    from parquet_core.dataset.unread_columns import UnreadColumn
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.planner.spark_reader.spark_filters import SparkFilter
    from prune_assets.planner.spark_reader.spark_profile import SparkProfile
    from prune_assets.report.skip_report import ReaderWarning


class SparkRead:
    """How Spark reads the survivors of a plan with its own Parquet reader. Properties are computed on first use."""

    def __init__(self, plan: PlannedRead) -> None:
        self.plan = plan

    @cached_property
    def profile(self) -> SparkProfile:
        """Profile of the Spark version that will read."""
        return profile_of(self.plan.semantics.spark_version)

    @cached_property
    def filters(self) -> SparkFilter:
        """The predicate as filters of Spark's data sources."""
        plan = self.plan
        return as_spark_filters(plan.lowered.parsed, semantics=plan.semantics, profile=self.profile)

    @cached_property
    def scan(self) -> SparkScan:
        """Files that Spark opens, and how they are passed to it."""
        return spark_scan(self.plan.index, self.plan.evaluation.access, locator=self.plan.locator)

    @cached_property
    def derived_filters(self) -> tuple[Predicate, ...]:
        """Plain conditions to add to the user's filter with AND, by which Spark's reader skips more."""
        return derived_filters(self.plan, self.scan, self.profile)

    @cached_property
    def warnings(self) -> tuple[ReaderWarning, ...]:
        """Data that Spark's reader would skip wrongly, with the option that prevents each case."""
        reader = reader_name(self.plan.semantics.spark_version)
        return tuple(replace(warning, reader=reader) for warning in reader_bugs(self.plan, self.filters, self.profile))

    def scans(self) -> dict[Reading, PredictedScan]:
        """Predict what Spark reads alone, and what it reads with the plan's files, derived filters and options."""
        plan = self.plan
        plan.table.count_rows(plan.index)
        listed, why = listed_files(plan, self.filters)
        handed = all_of([self.filters, *map(filters_of, self.derived_filters)])
        off = {warning.option for warning in self.warnings}
        alone = predicted_scan(plan, self.filters, files=listed)._replace(limit="")
        with_plan = predicted_scan(plan, handed, files=listed & self.scan.files, off=off)
        if any(cause_of(leaf) is Cause.TIME_ZONE for leaf in leaves(plan.lowered.predicate)):
            why = f"{DEPENDS_ON_ZONE}: the figures are upper limits"
            alone, with_plan = (scan._replace(why=why, caveat=Caveat.TIME_ZONE) for scan in (alone, with_plan))
        read = {column.path[0] for column in plan.columns}
        if unread := [each for each in unread_columns(plan.index) if each.path[0] in read]:
            alone, with_plan = (_mark_failure(plan, scan, unread) for scan in (alone, with_plan))
        if (raising := _raising(plan)) is not None:
            message = f"{raising.sql}: {raising.reason}{f' ({raising.remedy})' if raising.remedy else ''}"
            alone, with_plan = _failing(alone, message), _failing(with_plan, message)
        if why:
            alone, with_plan = (
                scan if scan.why else scan._replace(why=why, caveat=Caveat.UNREAD_METADATA)
                for scan in (alone, with_plan)
            )
        return {Reading.ALONE: alone, Reading.WITH_PLAN: with_plan}

    def name(self, reading: Reading) -> str:
        """Return the reader name for reports, for example `Spark 4.3 alone`."""
        plan = self.plan
        reader = reader_name(plan.semantics.spark_version)
        if reading is Reading.ALONE:
            return f"{plan.table.format.read_alone_by or reader} alone"
        return f"{reader} with this plan"


def _raising(plan: PlannedRead) -> Unsupported | None:
    """Return a condition for which Spark raises an error before it reads a row."""
    if not plan.semantics.ansi:
        return None
    operands = [operand for _, predicate in plan.lowered.conjuncts for operand in conjuncts_of(predicate)]
    parts = (getattr(operand, "part", operand) for operand in operands)
    return next((part for part in parts if isinstance(part, Unsupported) and part.raises), None)


def _mark_failure(plan: PlannedRead, scan: PredictedScan, unread: list[UnreadColumn]) -> PredictedScan:
    """Mark the scan as failing if Spark cannot read a stored type."""
    from parquet_core.layout.places import file_name  # it imports the layout checks, unused by most reports

    index = plan.index
    opened = np.unique(index.groups.file[scan.ranges.row_totals(len(index)) > 0])
    for each in unread:
        there = np.intersect1d(each.files, opened)
        if len(there):
            return _failing(scan, f"{each.message(file_name(index, int(there[0])))} ({each.remedy})")
    return scan


def _failing(scan: PredictedScan, cause: str) -> PredictedScan:
    return scan._replace(why=f"fails on {cause}", caveat=Caveat.FAILS)
