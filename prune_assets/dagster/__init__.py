"""Dagster assets that write tables with a layout, checks that prove it, and skip reports.

Each function returns a Dagster definition for `Definitions`. Public names are imported on first use.
"""

# No `from __future__ import annotations`: Dagster needs the annotations of examples as classes, not as strings.

from typing import TYPE_CHECKING

from parquet_core.public_names import on_first_use
from prune_assets.extras import explained_import

if TYPE_CHECKING:
    from prune_assets.dagster.assets import Choice as Choice
    from prune_assets.dagster.assets import build_skip_report_asset as build_skip_report_asset
    from prune_assets.dagster.assets import build_table_asset as build_table_asset
    from prune_assets.dagster.checks import build_layout_checks as build_layout_checks
    from prune_assets.dagster.checks import layout_check_specs as layout_check_specs
    from prune_assets.dagster.dbt import build_dbt_checks as build_dbt_checks
    from prune_assets.dagster.external import external_table as external_table
    from prune_assets.dagster.fleet import build_fleet_asset as build_fleet_asset
    from prune_assets.dagster.health_checks import build_delete_debt_check as build_delete_debt_check
    from prune_assets.dagster.health_checks import build_file_health_check as build_file_health_check
    from prune_assets.dagster.health_checks import build_log_health_check as build_log_health_check
    from prune_assets.dagster.io_manager import PrunedTableIOManager as PrunedTableIOManager
    from prune_assets.dagster.io_manager import pruned_asset as pruned_asset
    from prune_assets.dagster.layout_advice import build_layout_advice_asset as build_layout_advice_asset
    from prune_assets.dagster.layout_advice import build_layout_advice_check as build_layout_advice_check
    from prune_assets.dagster.metadata import skip_metadata as skip_metadata
    from prune_assets.dagster.metadata_checks import build_statistics_truth_check as build_statistics_truth_check
    from prune_assets.dagster.optimizing import MaintainedTable as MaintainedTable
    from prune_assets.dagster.optimizing import build_layout_drift_sensor as build_layout_drift_sensor
    from prune_assets.dagster.optimizing import build_optimize_job as build_optimize_job
    from prune_assets.dagster.partition_sensor import build_changed_partitions_sensor as build_changed_partitions_sensor
    from prune_assets.dagster.resources import SparkSessionResource as SparkSessionResource
    from prune_assets.dagster.schedules import build_layout_validation_job as build_layout_validation_job
    from prune_assets.dagster.schedules import build_layout_validation_schedule as build_layout_validation_schedule
    from prune_assets.dagster.sensors import build_new_files_sensor as build_new_files_sensor
    from prune_assets.dagster.skipping_checks import build_skipping_checks as build_skipping_checks
    from prune_assets.dagster.workload import build_workload_asset as build_workload_asset
    from prune_assets.tables.uri import table_uri as table_uri
else:

    def _makers() -> dict[str, str]:
        from prune_assets.dagster.arguments import EXAMPLES

        return EXAMPLES

    __all__, __getattr__, __dir__ = on_first_use(__name__, makers=_makers, failure=explained_import)
