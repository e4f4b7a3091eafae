"""A table that is written with a layout, and its checks."""

from typing import Annotated, Any, Literal

import dagster as dg
from pydantic import field_validator

from parquet_core.errors import WrongUse
from prune_assets.components.fields import CheckOptions, Format, Layout, checks_of, place_of
from prune_assets.components.scaffolding import FromExample
from prune_assets.dagster.layout_table import LayoutTable
from prune_assets.tables.writes.format_names import WRITTEN
from prune_assets.writing.layout_file import load_layout


@dg.scaffold_with(FromExample)
class PrunedTableComponent(dg.Component, dg.Model, dg.Resolvable):
    """A table that Spark writes with a layout, with checks that prove it from the written bytes.

    Needs a resource `spark`: SparkSessionComponent, or your own.
    """

    asset: Annotated[
        dg.ResolvedAssetSpec, dg.Resolver.default(description="The asset: its key, and other options of Dagster.")
    ]
    table: Annotated[
        str,
        dg.Resolver.default(
            description="Where the table is: an address, a path below the project, or its name in a catalog."
        ),
    ]
    source: Annotated[
        str,
        dg.Resolver.default(
            description="Its rows: a query in SQL, or the path or address of a Parquet or Delta table."
        ),
    ]
    layout: Layout
    _of_python = field_validator("layout", mode="before")(load_layout)
    format: Annotated[
        Format,
        dg.Resolver.default(
            description="Plain Parquet, Delta, or Iceberg, which is written only by its name in a catalog."
        ),
    ] = "parquet"
    mode: Annotated[
        Literal["append", "overwrite", "replace_partitions", "error"],
        dg.Resolver.default(description="How to treat existing rows."),
    ] = "overwrite"
    checks: Annotated[CheckOptions, dg.Resolver.default(description="Options of its checks.")] = CheckOptions()

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """Return the description of this component."""
        return dg.ComponentTypeSpec(description=cls.__doc__, tags=[*WRITTEN, "spark"])

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the asset and its checks."""
        if self.asset.partitions_def is not None:
            raise WrongUse(
                f"{self.asset.key.to_user_string()}: the asset is partitioned, and each run would write the whole "
                "table; write it in Python by LayoutTable.asset"
            )
        table = LayoutTable(
            self.asset.key,
            place_of(self.table, context),
            layout=self.layout,
            format=self.format,
            predicates=self.checks.skipping,
        )
        asset = table.asset_from(self.source, mode=self.mode, **_options(self.asset))
        return dg.Definitions(assets=[asset], asset_checks=checks_of(table, self.checks))


def _options(spec: dg.AssetSpec) -> dict[str, Any]:
    """Return the attributes of an asset except its key, as arguments of Dagster's `asset`."""
    attributes = {
        "deps": [dep.asset_key for dep in spec.deps],
        "description": spec.description,
        "metadata": dict(spec.metadata),
        "group_name": spec.group_name,
        "owners": list(spec.owners),
        "tags": dict(spec.tags),
        "kinds": spec.kinds,
        "code_version": spec.code_version,
        "automation_condition": spec.automation_condition,
    }
    return {name: value for name, value in attributes.items() if value}
