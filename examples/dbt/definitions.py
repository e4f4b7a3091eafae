"""A dbt project in Dagster; checks verify the `meta.prune` settings of its models after each run."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
from dagster_dbt import DbtCliResource, DbtProject, dbt_assets

from prune_assets.dagster import build_dbt_checks

project = DbtProject(Path(__file__).parent / "shop")
project.prepare_if_dev()


@dbt_assets(manifest=project.manifest_path)
def shop(context: dg.AssetExecutionContext, dbt: DbtCliResource) -> Iterator[object]:
    """Build the dbt models."""
    yield from dbt.cli(["build"], context=context).stream()


defs = dg.Definitions(
    assets=[shop],
    asset_checks=build_dbt_checks(project.manifest_path, severity=dg.AssetCheckSeverity.WARN),
    resources={"dbt": DbtCliResource(project_dir=project)},
)
