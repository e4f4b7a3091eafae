"""Reports of the data that predicates skip."""

from typing import Annotated, Any

import dagster as dg
from pydantic import Field

from prune_assets.components.fields import place_of
from prune_assets.components.scaffolding import FromExample
from prune_assets.dagster.layout_table import LayoutTable


@dg.scaffold_with(FromExample)
class SkipReportComponent(dg.Component, dg.Model, dg.Resolvable):
    """One asset per predicate: plans it, reads with and without the plan, and reports the skipped data.

    Needs a resource `spark`: SparkSessionComponent, or your own.
    """

    asset: Annotated[
        dg.ResolvedAssetKey, dg.Resolver.default(description="The key of the table's asset, which comes first.")
    ]
    table: Annotated[
        str, dg.Resolver.default(description="Where the table is: an address, or a path below the project.")
    ]
    predicates: Annotated[
        dict[str, str],
        dg.Resolver.default(description="Spark SQL, by the name of its report."),
        Field(min_length=1),
    ]
    reports: Annotated[str, dg.Resolver.default(description="The directory of the reports, below the project.")] = (
        "reports"
    )
    key_prefix: Annotated[str | list[str], dg.Resolver.default(description="The prefix of the keys of the assets.")] = (
        "skip_reports"
    )
    group_name: Annotated[str, dg.Resolver.default(description="The group of the assets.")] = "skip_reports"

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return an asset for each predicate."""
        table = LayoutTable(self.asset, place_of(self.table, context), predicates=self.predicates)
        options: Any = {"key_prefix": self.key_prefix, "group_name": self.group_name}
        reports = place_of(self.reports, context)
        return dg.Definitions(assets=[table.skip_report(name, reports=reports, **options) for name in self.predicates])
