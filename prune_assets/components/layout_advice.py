"""Layout advice for real queries, with a check that warns."""

import datetime as dt
from typing import Annotated, Any, Self

import dagster as dg
from pydantic import Field, field_validator, model_validator

from parquet_core.layout.spec import LayoutSpec
from parquet_core.quantities import bytes_of
from prune_assets.components.fields import layout_of, place_of
from prune_assets.components.names import Named
from prune_assets.components.scaffolding import FromExample
from prune_assets.dagster.layout_table import LayoutTable
from prune_assets.dagster.workload import build_workload_asset
from prune_assets.writing.layout_file import load_layout


def _day(context: dg.ResolutionContext, given: Any) -> dt.date | None:
    day = context.resolve_value(given)
    try:
        return None if day is None else dt.date.fromisoformat(day)
    except ValueError as error:
        raise ValueError(f"since: {error}; give a day, e.g. '2024-01-01'") from None


def _layout(context: dg.ResolutionContext, given: Any) -> LayoutSpec | None:
    return None if given is None else layout_of(context, given)


def _budget(context: dg.ResolutionContext, given: Any) -> int | None:
    size = context.resolve_value(given)
    try:
        return None if size is None else bytes_of(str(size))
    except ValueError as error:
        raise ValueError(f"budget: {error}") from None


class AdvisedTable(dg.Model, dg.Resolvable):
    """A table whose layout is advised."""

    asset: Annotated[dg.ResolvedAssetKey, dg.Resolver.default(description="The key of its asset.")]
    table: Annotated[
        str, dg.Resolver.default(description="Where the table is: an address, or a path below the project.")
    ]
    max_share: Annotated[
        float,
        dg.Resolver.default(description="The check warns if another layout reads less than this share of the bytes."),
        Field(gt=0, le=1),
    ] = 0.5
    automatic: Annotated[
        bool,
        dg.Resolver.default(
            description="True for a job that optimizes the table, and that changes its layout if advice is certain "
            "and saves half of the bytes, at most once in 30 days; it needs `layout`, `budget` and a "
            "resource `spark`."
        ),
    ] = False
    layout: Annotated[
        LayoutSpec | None,
        dg.Resolver(
            _layout,
            model_field_type=str | dict[str, Any] | None,
            description="The layout that an automatic table has until advice changes it: keys, or the path of a file.",
        ),
    ] = None
    budget: Annotated[
        int | None,
        dg.Resolver(
            _budget,
            model_field_type=str | int | None,
            description="The maximum size of the files that a run of the job rewrites, e.g. 200GiB.",
        ),
    ] = None

    @field_validator("layout", mode="before")
    @classmethod
    def _of_python(cls, given: Any) -> LayoutSpec | None:
        return None if given is None else load_layout(given)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.automatic and (self.layout is None or self.budget is None):
            raise ValueError("automatic: give the layout that the table has now, and a budget, e.g. 200GiB")
        if not self.automatic and (self.layout is not None or self.budget is not None):
            raise ValueError("layout and budget apply only with automatic: true; add it, or remove them")
        return self

    def layout_table(self, location: str, workload: str, latest: int | None) -> LayoutTable:
        """Return the table with its workload."""
        return LayoutTable(
            self.asset,
            location,
            layout=self.layout,
            workload=workload,
            latest=latest,
            budget=self.budget,
            automatic=self.automatic,
        )


@dg.scaffold_with(FromExample)
class LayoutAdviceComponent(Named, dg.Component, dg.Model, dg.Resolvable):
    """The workload in Spark's event logs, layout advice for each table, and a check that warns.

    It does not start Spark and changes nothing, except for tables that are `automatic`: a job optimizes each of these,
    and gives it the layout that its queries need.
    """

    event_logs: Annotated[
        list[str],
        dg.Resolver.default(description="Event logs of Spark: files or folders, addresses or paths below the project."),
        Field(min_length=1),
    ]
    workloads: Annotated[
        str, dg.Resolver.default(description="A folder below the project for the workload of each day as JSON.")
    ]
    tables: Annotated[list[AdvisedTable], dg.Resolver.default(description="The tables."), Field(min_length=1)]
    since: Annotated[
        dt.date | None,
        dg.Resolver(
            _day,
            model_field_type=str | None,
            description="The first day of the workload's partitions, in quotes; without it, no partitions.",
        ),
    ] = None
    latest: Annotated[
        int | None,
        dg.Resolver.default(description="Advise for the queries of this number of latest days."),
        Field(ge=1),
    ] = 28
    price_per_tib: Annotated[
        float | None,
        dg.Resolver.default(description="The price of reading a TiB, to show the cost per day."),
        Field(ge=0),
    ] = None
    reports: Annotated[
        str | None, dg.Resolver.default(description="A folder below the project for the advice as HTML pages.")
    ] = None
    name: Annotated[
        str | None,
        dg.Resolver.default(
            description="The key of the workload's asset; begins the names of job and schedule. By default `queries`, "
            "after the component's path if several components would have this name."
        ),
    ] = None
    schedule: Annotated[
        str | None,
        dg.Resolver.default(
            description="A cron expression for the advice and the jobs of automatic tables; the workload of each day "
            "is then read when the day is over."
        ),
    ] = None
    timezone: Annotated[
        str, dg.Resolver.default(description="The time zone of the cron expression and of the days.")
    ] = "UTC"

    def names(self) -> tuple[str | None, str]:
        """Return the name from the YAML (None if not set), and the default name, which version 0.2 always used."""
        return self.name, "queries"

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the workload, and the advice and check of each table.

        Includes the jobs and schedules that run them.
        """
        name, workloads = self.name_in(context), place_of(self.workloads, context)
        days = None
        if self.since is not None:
            days = dg.DailyPartitionsDefinition(self.since.isoformat(), timezone=self.timezone)
        ran = build_workload_asset(
            name,
            [place_of(logs, context) for logs in self.event_logs],
            workloads=workloads,
            price_per_tib=self.price_per_tib,
            partitions_def=days,
        )
        reports = None if self.reports is None else place_of(self.reports, context)
        advice, checks, optimizing = [], [], []
        for table in self.tables:
            advised = table.layout_table(place_of(table.table, context), workloads, self.latest)
            optimizing += [advised.optimize_job()] if table.automatic else []
            advice.append(advised.advice(reports=reports, deps=[name]))
            checks.append(advised.advice_check(max_share=table.max_share, additional_deps=[name]))
        automation = self._automation(name, ran, advice, checks, optimizing)
        return dg.Definitions(assets=[ran, *advice], asset_checks=checks, **automation)

    def _automation(
        self,
        name: str,
        ran: dg.AssetsDefinition,
        advice: list[dg.AssetsDefinition],
        checks: list[dg.AssetChecksDefinition],
        optimizing: list[dg.JobDefinition],
    ) -> dict[str, Any]:
        """Return the jobs and their schedules.

        A daily workload has a job of its own. Any other workload is read in the job of the advice.
        """
        own = [] if ran.partitions_def is None else [dg.define_asset_job(f"{name}_of_a_day", selection=[ran])]
        together = advice if own else [ran, *advice]
        selection = dg.AssetSelection.assets(*together) | dg.AssetSelection.checks(*checks)
        job = dg.define_asset_job(f"{name}_advice", selection=selection, executor_def=dg.in_process_executor)
        jobs = [job, *own, *optimizing]
        if self.schedule is None:
            return {"jobs": jobs}
        at: dict[str, Any] = {"cron_schedule": self.schedule, "execution_timezone": self.timezone}
        weekly = [dg.ScheduleDefinition(job=job, **at), *(dg.ScheduleDefinition(job=one, **at) for one in optimizing)]
        return {"jobs": jobs, "schedules": [*weekly, *map(dg.build_schedule_from_partitioned_job, own)]}
