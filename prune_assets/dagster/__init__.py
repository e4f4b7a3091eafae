"""Dagster assets that write tables with a layout, checks that prove it, and skip reports.

`LayoutTable` is a table; its methods return Dagster definitions for it. The functions are for several tables. Public
names are imported on first use.
"""

# No `from __future__ import annotations`: Dagster needs the annotations of examples as classes, not as strings.

from typing import TYPE_CHECKING

from parquet_core.public_names import on_first_use
from prune_assets.extras import explained_import

if TYPE_CHECKING:
    from prune_assets.dagster.dbt import build_dbt_checks as build_dbt_checks
    from prune_assets.dagster.fleet import build_fleet_asset as build_fleet_asset
    from prune_assets.dagster.io_manager import PrunedTableIOManager as PrunedTableIOManager
    from prune_assets.dagster.layout_table import LayoutTable as LayoutTable
    from prune_assets.dagster.metadata import skip_metadata as skip_metadata
    from prune_assets.dagster.resources import SparkSessionResource as SparkSessionResource
    from prune_assets.dagster.schedules import build_layout_validation_job as build_layout_validation_job
    from prune_assets.dagster.schedules import build_layout_validation_schedule as build_layout_validation_schedule
    from prune_assets.dagster.sensors import build_new_files_sensor as build_new_files_sensor
    from prune_assets.dagster.skip_report import Choice as Choice
    from prune_assets.dagster.workload import build_workload_asset as build_workload_asset
    from prune_assets.tables.uri import table_uri as table_uri
else:

    def _makers() -> dict[str, str]:
        from prune_assets.dagster.arguments import EXAMPLES

        return EXAMPLES

    __all__, __getattr__, __dir__ = on_first_use(__name__, makers=_makers, failure=explained_import)
