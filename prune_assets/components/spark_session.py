"""The resource `spark` of a code location."""

from typing import Annotated

import dagster as dg

from prune_assets.components.scaffolding import FromExample
from prune_assets.dagster.resources import SparkSessionResource


@dg.scaffold_with(FromExample)
class SparkSessionComponent(dg.Component, dg.Model, dg.Resolvable):
    """The Spark session of tables and reports: local, on a cluster, or Spark Connect (`spark.remote` in `conf`).

    A code location needs one such session. Your own resource `spark` works as well.
    """

    master: Annotated[
        str | None, dg.Resolver.default(description="Spark master URL; by default the master of Spark's configuration.")
    ] = None
    app_name: Annotated[str, dg.Resolver.default(description="The application name in Spark's own tools.")] = (
        "prune-assets"
    )
    conf: Annotated[dict[str, str], dg.Resolver.default(description="Spark options in addition to the defaults.")] = {}  # noqa: RUF012 - pydantic copies it

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:  # noqa: ARG002 - of the base class
        """Return the resource."""
        resource = SparkSessionResource(master=self.master, app_name=self.app_name, conf=self.conf)
        return dg.Definitions(resources={"spark": resource})
