"""Maintain layouts: a job that optimizes a table, and a sensor that starts the job."""
# No `from __future__ import annotations`: Dagster compares the annotation of `context` itself, not its source text.

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

from parquet_core.argument_types import check_arguments
from parquet_core.errors import PruneError, WrongUse
from parquet_core.quantities import bytes_text, counted, refuse_no_share
from prune_assets.dagster.arguments import examples
from prune_assets.dagster.asset_keys import AssetName, asset_key_of
from prune_assets.dagster.metadata import place_metadata
from prune_assets.dagster.resources import session_of
from prune_assets.dagster.workload import load_materialized
from prune_assets.tables.changes import table_fingerprint
from prune_assets.writing.layout_file import load_layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
    from pyspark.sql import SparkSession

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.advisor.automatic import Followed
    from prune_assets.advisor.workload.query_shapes import Workload
    from prune_assets.writing.layout_file import LayoutSource
    from prune_assets.writing.result import OptimizeResult


@dataclass(frozen=True)
class MaintainedTable:
    """A table for `build_optimize_job` to maintain; `predicates`: SQL conditions of its queries.

    >>> import prune_assets as pr
    >>> from prune_assets.dagster import MaintainedTable
    >>> layout = pr.LayoutSpec(sort_by=["day"])
    >>> orders = MaintainedTable("sales/orders", "lake/orders", layout, ["day = DATE '2024-01-01'"])
    >>> orders.key.to_user_string()
    'sales/orders'

    `layout`, `where`: as in `prune_assets.optimize`; `where` selects the partitions to consider, all by default.
    `workload`, `latest`: queries that ran on the table, as in `build_layout_advice_asset`. `budget`: maximum bytes of
    files that a run of the job rewrites.

    `automatic`: True to change the layout to the one that the workload needs, if the advice is certain, saves half of
    the bytes and fits the budget; at most once in 30 days. The change is recorded in the table's directory
    (`_layout_changes`); the recorded layout then applies until another layout is declared here.

    Raises WrongUse for `automatic` without a workload or a budget, or with `where`.
    """

    asset: AssetName
    table: str | Path
    layout: "LayoutSource"
    predicates: "Sequence[str]" = ()
    where: str | None = None
    workload: "Workload | Sequence[str] | str | Path | None" = None
    latest: int | None = None
    budget: int | None = None
    automatic: bool = False

    def __post_init__(self) -> None:
        check_arguments(type(self), (), vars(self), makers=examples)
        object.__setattr__(self, "layout", load_layout(self.layout))
        if self.automatic and (self.workload is None or self.budget is None or self.where is not None):
            raise WrongUse(
                f"{self.key.to_user_string()}: automatic=True follows a workload within a budget, in the whole table; "
                "give workload=.. and budget=.., e.g. 200 << 30, and no where"
            )

    @property
    def key(self) -> dg.AssetKey:
        """The key of the table's asset."""
        return asset_key_of(self.asset)

    def layout_now(self, spark: "SparkSession | None" = None) -> "LayoutSpec":
        """Return the declared layout, or the layout that advice replaced it with."""
        declared = load_layout(self.layout)
        if not self.automatic:
            return declared
        from prune_assets.advisor.layout_changes import layout_now, location_of

        return layout_now(location_of(self.table, spark), declared)

    def optimize(self, spark: "SparkSession | None", *, rows: bool = False, dry_run: bool = False) -> "OptimizeResult":
        """Rewrite the files that do not match the layout."""
        from prune_assets.writing.optimize import optimize

        return optimize(
            self.table,
            layout=self.layout_now(spark),
            session=spark,
            where=self.where,
            predicates=self.predicates,
            dry_run=dry_run,
            rows=rows,
            budget=self.budget,
        )

    def forecast(self) -> "OptimizeResult":
        """Return the forecast of an optimize, from metadata alone."""
        return self.optimize(None, dry_run=True)

    def ran(self) -> "Workload | Sequence[str]":
        """Return the queries that ran on the table; empty without a workload."""
        return load_materialized(self.workload or (), self.table, self.latest)

    def follow_advice(self, spark: "SparkSession") -> "Followed | None":
        """Change the layout if the workload needs it.

        None if the table is not `automatic`.
        """
        if not self.automatic or self.budget is None:
            return None
        from prune_assets.advisor.automatic import follow_advice

        declared = load_layout(self.layout)
        return follow_advice(spark, self.table, workload=self.ran(), declared=declared, budget=self.budget)


def build_optimize_job(kept: MaintainedTable, *, name: str | None = None, rows: bool = False) -> dg.JobDefinition:
    """Build a job that rewrites files that do not match a table's layout, through Spark.

    >>> import prune_assets as pr
    >>> from prune_assets.dagster import MaintainedTable, build_optimize_job
    >>> orders = MaintainedTable("orders", "lake/orders", pr.LayoutSpec(sort_by=["day"]))
    >>> build_optimize_job(orders).name
    'optimize_orders'

    `rows`: as in `prune_assets.optimize`. The job needs a resource `spark`. It reports an observation on the asset's
    page: files and bytes rewritten, overlap depth, and the bytes that the predicates keep before, as predicted, and
    after. For an `automatic` table it first changes the layout if a change is due, and reports the change or why none
    was made.
    """
    title = name or f"optimize_{kept.key.to_python_identifier()}"

    # Dagster refuses a job and an op of the same name if a sensor names the job.
    @dg.op(name=f"{title}_files", required_resource_keys={"spark"}, out=dg.Out(dg.Nothing))
    def optimize_table(context: dg.OpExecutionContext) -> None:
        from prune_assets.step_words import DAGSTER

        spark = session_of(context.resources.spark)
        followed = kept.follow_advice(spark)
        if followed is not None:
            context.log.info("%s: %s", kept.key.to_user_string(), followed.why)
        applied = None if followed is None else followed.applied
        done = kept.optimize(spark, rows=rows) if applied is None else applied.optimized
        context.log.info(done.text(DAGSTER))
        of_advice = {} if followed is None else _of_advice(followed)
        context.log_event(dg.AssetObservation(kept.key, metadata=_metadata(done) | of_advice))

    @dg.job(name=title, description=f"Rewrites the files of {kept.key.to_user_string()} that break its layout.")
    def optimize_job() -> None:
        optimize_table()

    return optimize_job


def build_layout_drift_sensor(
    kept: MaintainedTable,
    *,
    job: "dg.JobDefinition | UnresolvedAssetJobDefinition",
    min_files_share: float = 0.1,
    name: str | None = None,
    minimum_interval_seconds: int = 3600,
) -> dg.SensorDefinition:
    """Build a sensor that starts an optimize job if files no longer match the layout.

    >>> import prune_assets as pr
    >>> from prune_assets.dagster import MaintainedTable, build_layout_drift_sensor, build_optimize_job
    >>> orders = MaintainedTable("orders", "lake/orders", pr.LayoutSpec(sort_by=["day"]))
    >>> build_layout_drift_sensor(orders, job=build_optimize_job(orders)).name
    'orders_layout_drift'

    A tick reads metadata and does not start Spark; if the table is unchanged since the last tick, it costs one listing.
    `job`: the job of `build_optimize_job`. `min_files_share`: share of the files, from 0 to 1, that must need an
    optimize. If the table cannot be read, the skip reason names it.
    """
    refuse_no_share("min_files_share", min_files_share, "the files", example=0.1, or_zero=True)

    @dg.sensor(
        name=name or f"{kept.key.to_python_identifier()}_layout_drift",
        job=job,
        minimum_interval_seconds=minimum_interval_seconds,
        description=f"Optimizes {kept.key.to_user_string()} when {min_files_share:.0%} of its files need it.",
    )
    def layout_drift(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        try:
            now = table_fingerprint(kept.table)
            if now == context.cursor:
                return dg.SensorResult(skip_reason=f"{kept.key.to_user_string()}: not changed", cursor=now)
            forecast = kept.forecast()
        except PruneError as error:
            return dg.SensorResult(skip_reason=str(error), cursor=context.cursor)
        share = len(forecast.picked) / max(1, forecast.considered)
        message = (
            f"{len(forecast.picked):,} of {counted(forecast.considered, 'file')} "
            f"({bytes_text(forecast.picked_bytes)}) need it"
        )
        if not forecast.picked or share < min_files_share:
            return dg.SensorResult(skip_reason=f"{kept.key.to_user_string()}: {message}", cursor=now)
        return dg.SensorResult(run_requests=[dg.RunRequest(run_key=now, tags={"prune/drift": message})], cursor=now)

    return layout_drift


def _of_advice(followed: "Followed") -> dict[str, Any]:
    """Return the result of layout advice as metadata.

    Sizes are bytes that one run of the workload reads.
    """
    shown: dict[str, Any] = {"prune/advice": followed.why}
    if followed.applied is not None:
        for name in ("before", "promised", "now"):
            shown[f"prune/workload_{name}"] = getattr(followed.applied, name)
    return shown


def _metadata(done: "OptimizeResult") -> dict[str, Any]:
    """Return the metadata of an optimize."""
    sizes = ("bytes before", "predicted", "bytes after")
    rows = [
        (
            one.sql,
            one.before,
            "not predicted" if one.predicted is None else one.predicted,
            one.before if one.after is None else one.after,
        )
        for one in done.predicates
    ]
    return {
        **place_metadata(done.table),
        "prune/files_rewritten": len(done.picked),
        "prune/bytes_rewritten": done.picked_bytes,
        "prune/new_files": done.new_files,
        **({} if done.depth_after is None else {"prune/overlap": done.depth_after}),
        **({} if done.version is None else {"prune/version": done.version}),
        "prune/predicates": dg.MetadataValue.table(
            [dg.TableRecord(dict(zip(("predicate", *sizes), row, strict=True))) for row in rows],
            schema=dg.TableSchema([dg.TableColumn("predicate"), *(dg.TableColumn(title, "int") for title in sizes)]),
        ),
    }
