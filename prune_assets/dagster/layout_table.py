"""A table with a layout, and the Dagster definitions that concern it."""
# No `from __future__ import annotations`: Dagster needs the annotation of `context` as a class, not as a string.

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import dagster as dg

from parquet_core.argument_types import check_arguments, public_function
from parquet_core.errors import WrongUse
from parquet_core.layout.spec import LayoutSpec
from prune_assets.checks.when_empty import WhenEmpty
from prune_assets.dagster import assets, health_checks, layout_advice, merging, metadata_checks, optimizing, sensors
from prune_assets.dagster import checks as layout_checks
from prune_assets.dagster import partition_sensor as partition_sensors
from prune_assets.dagster import skip_report as skip_reports
from prune_assets.dagster import skipping_checks as skipping
from prune_assets.dagster.arguments import check_written, examples
from prune_assets.dagster.asset_keys import AssetName, asset_key_of
from prune_assets.dagster.asset_options import AssetOptions
from prune_assets.dagster.partitions import check_partitions
from prune_assets.extras import explained_import
from prune_assets.writing.layout_file import load_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from prune_assets.advisor.workload.load import WorkloadSource
    from prune_assets.advisor.workload.query_shapes import Workload
    from prune_assets.writing.layout_file import LayoutSource

_Class = TypeVar("_Class")


def _checking_arguments(cls: type[_Class]) -> type[_Class]:
    """Make the public methods of a class check the types of their arguments."""
    for name, method in [*vars(cls).items()]:
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(cls, name, public_function(method, cls.__module__, makers=examples, failure=explained_import))
    return cls


@_checking_arguments
@dataclass(frozen=True, init=False)
class LayoutTable:
    """A table with a layout. Its methods return Dagster definitions.

    >>> import dagster as dg
    >>> import prune_assets as pr
    >>> from prune_assets.dagster import LayoutTable, PrunedTableIOManager, SparkSessionResource
    >>> orders = LayoutTable(
    ...     "sales/orders",
    ...     "lake/orders",
    ...     layout=pr.LayoutSpec(partition_by=["day"], sort_by=["user"]),
    ...     partitions_def=dg.DailyPartitionsDefinition(start_date="2024-01-01"),
    ...     partition_expr="day",
    ...     predicates={"one_user": "user = 17"},
    ... )
    >>> @orders.asset(owners=["team:sales"])
    ... def write_orders(context: dg.AssetExecutionContext, spark: SparkSessionResource):
    ...     return spark.session.read.parquet("raw/orders").where(f"day = DATE '{context.partition_key}'")
    >>> spark = SparkSessionResource()
    >>> resources = {"spark": spark, "tables": PrunedTableIOManager(spark=spark)}
    >>> defs = dg.Definitions.merge(orders.definitions(write_orders), dg.Definitions(resources=resources))
    >>> [job.name for job in defs.jobs]
    ['optimize_sales__orders']

    `key`: the key of the asset; slashes in a string separate its parts.
    `table`: a path, an address or a name in a catalog.
    `layout`: as in `prune_assets.write`; by default no order is required.
    `format`: "parquet", "delta" or "iceberg", for writes and for the label in Dagster's UI. By default the format of
    the IO manager; Parquet in `asset_from`.
    `partitions_def`: the partitions of the asset.
    `partition_expr`: the partition column of the layout that holds the asset's partition, or one column for each
    dimension.
    `predicates`: SQL conditions of the table's queries, by name.
    `allow`: addresses outside the table under which a Delta log may name files.
    `workload`: the queries that ran on the table: the folder that `build_workload_asset` fills, a JSON file of `prune
    workload`, event logs, or a list of predicates.
    `latest`: number of most recent files to use from a folder with a file for each day.
    `optimize_where`: condition on the partitions that `optimize_job` considers, all by default.
    `budget`: maximum bytes of files that a run of the job rewrites.
    `automatic`: True to let `optimize_job` change the layout to the one that the workload needs, if the advice is
    certain, saves half of the bytes and fits the budget; at most once in 30 days. The change is recorded in the table's
    directory (`_layout_changes`); the recorded layout then applies until another layout is declared here.

    Raises LayoutError if the partitions and the layout do not match, PredicateSyntaxError for a predicate that is not
    valid SQL, and WrongUse for an unknown format, and for `automatic` without a workload or a budget, or with
    `optimize_where`.
    """

    key: dg.AssetKey
    table: str | Path
    layout: LayoutSpec
    format: str | None
    partitions_def: dg.PartitionsDefinition[Any] | None
    partition_expr: str | Mapping[str, str] | None
    predicates: Mapping[str, str]
    allow: "Sequence[str]"
    workload: "WorkloadSource | None"
    latest: int | None
    optimize_where: str | None
    budget: int | None
    automatic: bool

    def __init__(
        self,
        key: AssetName,
        table: str | Path,
        *,
        layout: "LayoutSource | None" = None,
        format: str | None = None,  # noqa: A002 - the name in DataFrameWriter
        partitions_def: dg.PartitionsDefinition[Any] | None = None,
        partition_expr: str | Mapping[str, str] | None = None,
        predicates: Mapping[str, str] | None = None,
        allow: "Sequence[str]" = (),
        workload: "Workload | Sequence[str] | str | Path | None" = None,
        latest: int | None = None,
        optimize_where: str | None = None,
        budget: int | None = None,
        automatic: bool = False,
    ) -> None:
        given = {name: value for name, value in locals().items() if name != "self"}
        check_arguments(LayoutTable, (), given, makers=examples)
        given["key"] = asset_key_of(key)
        given["layout"] = LayoutSpec() if layout is None else load_layout(layout)
        given["predicates"] = dict(predicates or {})
        for name, value in given.items():
            object.__setattr__(self, name, value)
        if format is not None:
            check_written(format)
        check_partitions(partitions_def, partition_expr, self.layout)
        for name, where in self.predicates.items():
            skipping.parse_named(f"predicates.{name}", where)
        if automatic and (workload is None or budget is None or optimize_where is not None):
            raise WrongUse(
                f"{self.key.to_user_string()}: automatic=True follows a workload within a budget, in the whole table; "
                "give workload=.. and budget=.., e.g. 200 << 30, and no optimize_where"
            )

    asset = assets.asset
    asset_from = assets.asset_from
    asset_spec = assets.asset_spec
    merge_asset = merging.merge_asset
    merge_check = merging.merge_check
    checks = layout_checks.checks
    check_specs = layout_checks.check_specs
    skipping_checks = skipping.skipping_checks
    statistics_truth_check = metadata_checks.statistics_truth_check
    file_health_check = health_checks.file_health_check
    log_health_check = health_checks.log_health_check
    delete_debt_check = health_checks.delete_debt_check
    sensor = sensors.sensor
    partition_sensor = partition_sensors.partition_sensor
    optimize_job = optimizing.optimize_job
    drift_sensor = optimizing.drift_sensor
    skip_report = skip_reports.skip_report
    advice = layout_advice.advice
    advice_check = layout_advice.advice_check

    def definitions(
        self,
        source: "dg.AssetsDefinition | str | Path | Callable[..., DataFrame] | None" = None,
        *,
        blocking: bool = False,
        severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
        when_empty: WhenEmpty = "pass",
        min_skipped: float | str = 0.9,
        reports: str | Path | None = None,
        **options: Unpack[AssetOptions],
    ) -> dg.Definitions:
        """Return the table's asset with its checks, sensors, job, and reports.

        >>> import prune_assets as pr
        >>> from prune_assets.dagster import LayoutTable
        >>> table = LayoutTable("ids", "lake/ids", layout=pr.LayoutSpec(sort_by=["id"]), predicates={"one": "id = 7"})
        >>> defs = table.definitions(group_name="numbers")
        >>> [asset.key.to_user_string() for asset in defs.assets], [sensor.name for sensor in defs.sensors]
        (['ids'], ['ids_changed'])

        `source`: what writes the table: an asset of `asset`, a function for `asset`, or a SQL query or Path for
        `asset_from`. None if the table is written elsewhere: the definitions then have an `AssetSpec`, no job and no
        drift sensor.
        `blocking`, `severity`, `when_empty`, `min_skipped`: for the checks, as in `checks` and `skipping_checks`.
        `reports`: folder for reports, None for no reports. Each predicate gets a `skip_report` asset, whose key and
        folder are below those of the table. A table with a `workload` also gets `advice` and `advice_check`.
        All other options are passed to Dagster's `asset` or `AssetSpec`.

        Sensors are stopped until you start them in Dagster's UI. Merge several tables, and the resources, by
        `dagster.Definitions.merge`.
        """
        judged: Any = {"blocking": blocking, "severity": severity, "when_empty": when_empty}
        found = [self.checks(**judged)]
        if self.predicates:
            found.append(self.skipping_checks(min_skipped=min_skipped, **judged))
        assets: list[dg.AssetsDefinition | dg.AssetSpec] = [self._written_by(source, options)]
        sensors, jobs = [self.sensor(checks=found, observe=source is None)], []
        if source is not None:
            jobs = [self.optimize_job()]
            sensors.append(self.drift_sensor())
        if reports is not None:
            folder, prefix = "/".join([str(reports), *self.key.path]), ["skip_reports", *self.key.path]
            assets += [self.skip_report(name, reports=folder, key_prefix=prefix) for name in self.predicates]
        if self.workload is not None:
            assets.append(self.advice(reports=reports))
            found.append(self.advice_check())
        return dg.Definitions(assets=assets, asset_checks=found, sensors=sensors, jobs=jobs)

    def _written_by(self, source: Any, options: Any) -> dg.AssetsDefinition | dg.AssetSpec:
        if source is None:
            return self.asset_spec(**options)
        if isinstance(source, dg.AssetsDefinition):
            if options or self.key not in source.keys:
                wrong = "pass its options to `asset`" if options else "it does not write this table"
                raise WrongUse(f"{self.key.to_user_string()}: source is an asset already; {wrong}")
            return source
        if isinstance(source, str | Path):
            return self.asset_from(source, **options)
        made: dg.AssetsDefinition = self.asset(**options)(source)
        return made
