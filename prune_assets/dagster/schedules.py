"""A job that validates layouts, and its schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import dagster as dg

if TYPE_CHECKING:
    from collections.abc import Sequence

# Dagster exports no name for the class of jobs that `define_asset_job` returns.
AssetJob: TypeAlias = Any


def build_layout_validation_job(
    checks: Sequence[dg.AssetChecksDefinition], *, name: str = "validate_layouts"
) -> AssetJob:
    """Build a job that runs checks and materializes nothing.

    >>> from prune_assets.dagster import LayoutTable, build_layout_validation_job
    >>> build_layout_validation_job([LayoutTable("ids", "lake/ids").checks()]).name
    'validate_layouts'
    """
    return dg.define_asset_job(
        name,
        selection=dg.AssetSelection.checks(*checks),
        executor_def=dg.in_process_executor,
        description="Proves the layout of the tables from their bytes; writes nothing, starts no Spark.",
    )


def build_layout_validation_schedule(
    job: AssetJob,
    *,
    cron_schedule: str = "0 3 * * *",
    execution_timezone: str = "UTC",
) -> dg.ScheduleDefinition:
    """Build the schedule of a validation job, by default every night at 03:00 UTC.

    >>> from prune_assets.dagster import LayoutTable, build_layout_validation_job, build_layout_validation_schedule
    >>> job = build_layout_validation_job([LayoutTable("ids", "lake/ids").checks()])
    >>> schedule = build_layout_validation_schedule(job, cron_schedule="30 4 * * *")
    >>> schedule.name, schedule.cron_schedule
    ('validate_layouts_schedule', '30 4 * * *')
    """
    return dg.ScheduleDefinition(
        job=job,
        cron_schedule=cron_schedule,
        execution_timezone=execution_timezone,
        description="Validates the layouts of the tables.",
    )
