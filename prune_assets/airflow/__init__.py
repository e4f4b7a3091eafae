"""Airflow operators, a sensor and an asset for tables with a layout.

The operators write tables, prove their layout and report skipped data.
Public names are imported on first use. At module level these modules import only airflow.sdk and the standard library,
because Airflow parses DAG files repeatedly; a task imports everything else when it runs. Nothing here imports dagster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.public_names import on_first_use
from prune_assets.extras import explained_import

if TYPE_CHECKING:
    from prune_assets.airflow.advice import AdviseLayoutOperator as AdviseLayoutOperator
    from prune_assets.airflow.advice import ReadWorkloadOperator as ReadWorkloadOperator
    from prune_assets.airflow.asset import table_asset as table_asset
    from prune_assets.airflow.checking import CheckLayoutOperator as CheckLayoutOperator
    from prune_assets.airflow.merging import MergeTableOperator as MergeTableOperator
    from prune_assets.airflow.optimizing import OptimizeTableOperator as OptimizeTableOperator
    from prune_assets.airflow.sensor import TableChangeSensor as TableChangeSensor
    from prune_assets.airflow.skip_report import SkipReportLink as SkipReportLink
    from prune_assets.airflow.skip_report import SkipReportOperator as SkipReportOperator
    from prune_assets.airflow.trigger import TableChangeTrigger as TableChangeTrigger
    from prune_assets.airflow.writing import WriteTableOperator as WriteTableOperator
else:
    __all__, __getattr__, __dir__ = on_first_use(__name__, failure=explained_import)
