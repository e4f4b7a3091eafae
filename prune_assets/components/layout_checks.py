"""Checks of tables that others write, and when they run."""

from typing import Annotated, Any, Literal

import dagster as dg
from pydantic import Field, field_validator

from prune_assets.components.fields import CheckOptions, Format, Layout, checks_of, place_of
from prune_assets.components.names import Named
from prune_assets.components.scaffolding import FromExample
from prune_assets.dagster.layout_table import LayoutTable
from prune_assets.dagster.schedules import build_layout_validation_job, build_layout_validation_schedule
from prune_assets.dagster.sensors import build_new_files_sensor
from prune_assets.writing.layout_file import load_layout


class CheckedTable(CheckOptions):
    """A table and the layout that it should have."""

    asset: Annotated[dg.ResolvedAssetKey, dg.Resolver.default(description="The key of its asset.")]
    table: Annotated[
        str, dg.Resolver.default(description="Where the table is: an address, or a path below the project.")
    ]
    layout: Layout
    _of_python = field_validator("layout", mode="before")(load_layout)
    external: Annotated[
        bool, dg.Resolver.default(description="True if nothing else in this code location defines the asset.")
    ] = True
    format: Annotated[
        Format | None, dg.Resolver.default(description="The format that the UI shows; it has no other effect.")
    ] = None


class WhenChecked(dg.Model, dg.Resolvable):
    """When the checks of tables run automatically."""

    name: Annotated[
        str | None,
        dg.Resolver.default(
            description="Begins the names of the job, the schedule and the sensor. By default `layouts`, for a lake "
            "without `when` `lake`; after the component's path if several components would have this name."
        ),
    ] = None
    schedule: Annotated[str | None, dg.Resolver.default(description="A cron expression; without it, no schedule.")] = (
        None
    )
    timezone: Annotated[str, dg.Resolver.default(description="The time zone of the cron expression.")] = "UTC"
    sensor: Annotated[
        Literal["run", "report"] | None,
        dg.Resolver.default(
            description="Checks a table when its files change, and reports its data version to Dagster: by a run, or "
            "within the sensor's tick without a run. Without it, no sensor."
        ),
    ] = None


@dg.scaffold_with(FromExample)
class LayoutChecksComponent(Named, dg.Component, dg.Model, dg.Resolvable):
    """Checks of tables that others write, read from the files without starting Spark."""

    tables: Annotated[list[CheckedTable], dg.Resolver.default(description="The tables."), Field(min_length=1)]
    when: Annotated[WhenChecked, dg.Resolver.default(description="When the checks run automatically.")] = WhenChecked()

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the tables as assets, with checks.

        Includes the job, schedule and sensor that run the checks.
        """
        tables = [
            LayoutTable(
                each.asset,
                place_of(each.table, context),
                layout=each.layout,
                format=each.format,
                predicates=each.skipping,
            )
            for each in self.tables
        ]
        given = list(zip(tables, self.tables, strict=True))
        checks = [definition for table, options in given for definition in checks_of(table, options)]
        external = [table.asset_spec() for table, options in given if options.external]
        automated = automation(self.name_in(context), self.when, tables, checks)
        return dg.Definitions(assets=external, asset_checks=checks, **automated)

    def names(self) -> tuple[str | None, str]:
        """Return the name from the YAML (None if not set), and the default name, which version 0.2 always used."""
        return self.when.name, "layouts"


def automation(
    name: str, when: WhenChecked, tables: list[LayoutTable], checks: list[dg.AssetChecksDefinition]
) -> dict[str, Any]:
    """Return the job, the schedule and the sensor of checks, as arguments of `Definitions`."""
    if not checks:
        return {}
    job = build_layout_validation_job(checks, name=f"{name}_validation")
    options: dict[str, Any] = {"jobs": [job]}
    if when.schedule is not None:
        options["schedules"] = [
            build_layout_validation_schedule(job, cron_schedule=when.schedule, execution_timezone=when.timezone)
        ]
    if when.sensor is not None:
        options["sensors"] = [
            build_new_files_sensor(tables, checks=checks, mode=when.sensor, observe=True, name=f"{name}_changed")
        ]
    return options
