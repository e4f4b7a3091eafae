"""The metadata of this package in Airflow's list of providers."""

from __future__ import annotations

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """Return name, modules and links, in the form of Airflow's `provider_info.schema.json`.

    >>> get_provider_info()["package-name"]
    'prune-assets'
    """
    from prune_assets import __version__

    name = "prune-assets"
    operators = ("writing", "merging", "checking", "skip_report", "optimizing", "advice")
    return {
        "package-name": name,
        "name": name,
        "description": "Write, check and report data-skipping layouts for Spark.",
        "versions": [__version__],
        "integrations": [{"integration-name": name, "external-doc-url": "", "tags": ["software"]}],
        "operators": [
            {"integration-name": name, "python-modules": [f"prune_assets.airflow.{module}" for module in operators]}
        ],
        "sensors": [{"integration-name": name, "python-modules": ["prune_assets.airflow.sensor"]}],
        "triggers": [{"integration-name": name, "python-modules": ["prune_assets.airflow.trigger"]}],
        "task-decorators": [{"name": "pruned_table", "class-name": "prune_assets.airflow.taskflow.pruned_table_task"}],
        "extra-links": ["prune_assets.airflow.skip_report.SkipReportLink"],
    }
