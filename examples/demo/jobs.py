"""Dagster definitions of the demo: assets, checks, jobs, and the shared Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from examples.demo.assets import LINEITEM, LONG_STRINGS, ORDERS, UNSORTED, demo_assets
from examples.demo.layouts import lineitem_layout, long_strings_layout, orders_layout
from prune_assets.dagster import (
    SparkSessionResource,
    build_layout_checks,
    build_layout_validation_job,
    build_layout_validation_schedule,
    build_new_files_sensor,
)

if TYPE_CHECKING:
    from examples.demo.settings import DemoSettings

DEMO_JOB = "demo"


def demo_definitions(settings: DemoSettings) -> dg.Definitions:
    """Build the Dagster definitions of the demo."""
    checks = demo_checks(settings)
    validation = build_layout_validation_job("validate_layouts", checks=list(checks.values()))
    everything = dg.define_asset_job(
        DEMO_JOB,
        selection=dg.AssetSelection.all() | dg.AssetSelection.all_asset_checks(),
        executor_def=dg.in_process_executor,
        description="Generates, writes, checks, plans and reads: the whole demo.",
    )
    return dg.Definitions(
        assets=demo_assets(settings),
        asset_checks=list(checks.values()),
        jobs=[everything, validation],
        schedules=[build_layout_validation_schedule(validation)],
        sensors=[
            build_new_files_sensor(
                "new_files", tables={key: settings.table(key.path[-1]) for key in checks}, checks=list(checks.values())
            )
        ],
        resources={"spark": SparkSessionResource(app_name="prune-assets demo")},
        executor=dg.in_process_executor,
    )


def demo_checks(settings: DemoSettings) -> dict[dg.AssetKey, dg.AssetChecksDefinition]:
    """Build the layout checks of each table; checks of the intact tables block downstream assets."""
    lineitem = lineitem_layout(settings.scale)
    layouts = {
        LINEITEM: (lineitem, True),
        ORDERS: (orders_layout(settings.scale), True),
        UNSORTED: (lineitem, False),
        LONG_STRINGS: (long_strings_layout(), False),
    }
    return {
        key: build_layout_checks(key, settings.table(key.path[-1]), layout, blocking=blocking)
        for key, (layout, blocking) in layouts.items()
    }
