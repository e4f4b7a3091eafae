"""Dagster: assets that write tables with a layout, checks that prove it, reports of what predicates skip.

Each function returns a definition of Dagster's, for `Definitions`. The public names resolve on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prune_assets.dagster.assets import Choice, build_skip_report_asset, build_table_asset
    from prune_assets.dagster.checks import build_layout_checks, layout_check_specs
    from prune_assets.dagster.dbt import build_dbt_checks
    from prune_assets.dagster.external import external_table
    from prune_assets.dagster.health_checks import build_file_health_check, build_log_health_check
    from prune_assets.dagster.io_manager import PrunedTableIOManager, pruned_asset
    from prune_assets.dagster.metadata import skip_metadata
    from prune_assets.dagster.metadata_checks import build_statistics_truth_check
    from prune_assets.dagster.optimizing import (
        MaintainedTable,
        build_fleet_asset,
        build_layout_drift_sensor,
        build_optimize_job,
    )
    from prune_assets.dagster.partition_sensor import build_changed_partitions_sensor
    from prune_assets.dagster.resources import SparkSessionResource
    from prune_assets.dagster.schedules import build_layout_validation_job, build_layout_validation_schedule
    from prune_assets.dagster.sensors import build_new_files_sensor
    from prune_assets.dagster.skipping_checks import build_skipping_checks
    from prune_assets.tables.uri import table_uri

# One kind of definition a module: a further one is a module beside these, and a name here.
_HOMES = {
    "Choice": "prune_assets.dagster.assets",
    "MaintainedTable": "prune_assets.dagster.optimizing",
    "PrunedTableIOManager": "prune_assets.dagster.io_manager",
    "SparkSessionResource": "prune_assets.dagster.resources",
    "build_changed_partitions_sensor": "prune_assets.dagster.partition_sensor",
    "build_dbt_checks": "prune_assets.dagster.dbt",
    "build_file_health_check": "prune_assets.dagster.health_checks",
    "build_fleet_asset": "prune_assets.dagster.optimizing",
    "build_layout_checks": "prune_assets.dagster.checks",
    "build_layout_drift_sensor": "prune_assets.dagster.optimizing",
    "build_layout_validation_job": "prune_assets.dagster.schedules",
    "build_layout_validation_schedule": "prune_assets.dagster.schedules",
    "build_log_health_check": "prune_assets.dagster.health_checks",
    "build_new_files_sensor": "prune_assets.dagster.sensors",
    "build_optimize_job": "prune_assets.dagster.optimizing",
    "build_skip_report_asset": "prune_assets.dagster.assets",
    "build_skipping_checks": "prune_assets.dagster.skipping_checks",
    "build_statistics_truth_check": "prune_assets.dagster.metadata_checks",
    "build_table_asset": "prune_assets.dagster.assets",
    "external_table": "prune_assets.dagster.external",
    "layout_check_specs": "prune_assets.dagster.checks",
    "pruned_asset": "prune_assets.dagster.io_manager",
    "skip_metadata": "prune_assets.dagster.metadata",
    "table_uri": "prune_assets.tables.uri",
}

__all__ = [
    "Choice",
    "MaintainedTable",
    "PrunedTableIOManager",
    "SparkSessionResource",
    "build_changed_partitions_sensor",
    "build_dbt_checks",
    "build_file_health_check",
    "build_fleet_asset",
    "build_layout_checks",
    "build_layout_drift_sensor",
    "build_layout_validation_job",
    "build_layout_validation_schedule",
    "build_log_health_check",
    "build_new_files_sensor",
    "build_optimize_job",
    "build_skip_report_asset",
    "build_skipping_checks",
    "build_statistics_truth_check",
    "build_table_asset",
    "external_table",
    "layout_check_specs",
    "pruned_asset",
    "skip_metadata",
    "table_uri",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
