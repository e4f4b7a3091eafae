"""Dagster definitions of the demo: assets, checks, jobs, and the shared Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from examples.demo.assets import LINEITEM, ORDERS, demo_assets, demo_tables
from prune_assets.dagster import (
    SparkSessionResource,
    build_layout_validation_job,
    build_layout_validation_schedule,
    build_new_files_sensor,
)

if TYPE_CHECKING:
    from examples.demo.settings import DemoSettings

DEMO_JOB = "demo"


def demo_definitions(settings: DemoSettings) -> dg.Definitions:
    """Build the Dagster definitions of the demo."""
    tables = demo_tables(settings)
    # Checks of the intact tables block downstream assets.
    checks = [tables[key].checks(blocking=key in {LINEITEM, ORDERS}) for key in tables]
    validation = build_layout_validation_job(checks)
    everything = dg.define_asset_job(
        DEMO_JOB,
        selection=dg.AssetSelection.all() | dg.AssetSelection.all_asset_checks(),
        executor_def=dg.in_process_executor,
        description="Generates, writes, checks, plans and reads: the whole demo.",
    )
    return dg.Definitions(
        assets=demo_assets(settings),
        asset_checks=checks,
        jobs=[everything, validation],
        schedules=[build_layout_validation_schedule(validation)],
        sensors=[build_new_files_sensor([*tables.values()], checks=checks)],
        resources={"spark": SparkSessionResource(app_name="prune-assets demo")},
        executor=dg.in_process_executor,
    )
