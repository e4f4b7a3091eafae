"""Components for `dg` and YAML: tables, checks, reports and whole lakes without Python code.

Each component is a thin wrapper around `LayoutTable` and functions of `prune_assets.dagster`.
"""

from prune_assets import __version__
from prune_assets.extras import needing

with needing("prune_assets.components"):
    import dagster  # noqa: F401 - its extra installs dagster_shared too
    from dagster_shared.libraries import DagsterLibraryRegistry

from prune_assets.components.lake import LakeComponent
from prune_assets.components.layout_advice import LayoutAdviceComponent
from prune_assets.components.layout_checks import LayoutChecksComponent
from prune_assets.components.pruned_table import PrunedTableComponent
from prune_assets.components.skip_report import SkipReportComponent
from prune_assets.components.spark_session import SparkSessionComponent

__all__ = [
    "LakeComponent",
    "LayoutAdviceComponent",
    "LayoutChecksComponent",
    "PrunedTableComponent",
    "SkipReportComponent",
    "SparkSessionComponent",
]

DagsterLibraryRegistry.register("prune-assets", __version__, is_dagster_package=False)
