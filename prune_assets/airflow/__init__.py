"""Airflow: operators that write tables with a layout, prove it and report what predicates skip; a sensor, an asset.

The public names resolve on first use. A module imports airflow.sdk and the standard library alone where it begins, as
Airflow parses DAG files again and again; whatever a task needs, it imports when it runs. Nothing here imports dagster.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prune_assets.airflow.asset import table_asset
    from prune_assets.airflow.checking import LayoutCheckOperator
    from prune_assets.airflow.optimizing import OptimizeTableOperator
    from prune_assets.airflow.sensor import DeltaVersionSensor, TableChangeSensor
    from prune_assets.airflow.skip_report import SkipReportLink, SkipReportOperator
    from prune_assets.airflow.trigger import TableChangeTrigger
    from prune_assets.airflow.writing import SortedWriteOperator

_HOMES = {
    "DeltaVersionSensor": "prune_assets.airflow.sensor",
    "LayoutCheckOperator": "prune_assets.airflow.checking",
    "OptimizeTableOperator": "prune_assets.airflow.optimizing",
    "SkipReportLink": "prune_assets.airflow.skip_report",
    "SkipReportOperator": "prune_assets.airflow.skip_report",
    "SortedWriteOperator": "prune_assets.airflow.writing",
    "TableChangeSensor": "prune_assets.airflow.sensor",
    "TableChangeTrigger": "prune_assets.airflow.trigger",
    "table_asset": "prune_assets.airflow.asset",
}

__all__ = [
    "DeltaVersionSensor",
    "LayoutCheckOperator",
    "OptimizeTableOperator",
    "SkipReportLink",
    "SkipReportOperator",
    "SortedWriteOperator",
    "TableChangeSensor",
    "TableChangeTrigger",
    "table_asset",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
