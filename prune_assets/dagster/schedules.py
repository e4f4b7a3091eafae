"""A job that validates layouts, and its schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition


def build_layout_validation_job(
    name: str, *, checks: Sequence[dg.AssetChecksDefinition]
) -> UnresolvedAssetJobDefinition:
    """Build a job that runs checks and materializes nothing.

    >>> import prune_assets as pr
    >>> from prune_assets.dagster import build_layout_checks, build_layout_validation_job
    >>> checks = build_layout_checks("ids", "lake/ids", pr.LayoutSpec(sort_by=["id"]))
    >>> build_layout_validation_job("validate_layouts", checks=[checks]).name
    'validate_layouts'
    """
    return dg.define_asset_job(
        name,
        selection=dg.AssetSelection.checks(*checks),
        executor_def=dg.in_process_executor,
        description="Proves the layout of the tables from their bytes; writes nothing, starts no Spark.",
    )


def build_layout_validation_schedule(
    job: dg.JobDefinition | UnresolvedAssetJobDefinition,
    *,
    cron_schedule: str = "0 3 * * *",
    execution_timezone: str = "UTC",
) -> dg.ScheduleDefinition:
    """Build the schedule of a validation job, by default every night at 03:00 UTC.

    >>> import prune_assets as pr
    >>> from prune_assets.dagster import build_layout_checks, build_layout_validation_job
    >>> from prune_assets.dagster import build_layout_validation_schedule
    >>> checks = build_layout_checks("ids", "lake/ids", pr.LayoutSpec(sort_by=["id"]))
    >>> job = build_layout_validation_job("validate_layouts", checks=[checks])
    >>> schedule = build_layout_validation_schedule(job, cron_schedule="30 4 * * *")
    >>> schedule.name, schedule.cron_schedule
    ('validate_layouts_schedule', '30 4 * * *')
    """
    return dg.ScheduleDefinition(
        name=f"{job.name}_schedule",
        job=job,
        cron_schedule=cron_schedule,
        execution_timezone=execution_timezone,
        description="Validates the layouts of the tables.",
    )
