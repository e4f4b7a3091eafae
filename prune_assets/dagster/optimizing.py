"""Maintain layouts: a job that optimizes a table, and a sensor that starts the job."""
# No `from __future__ import annotations`: Dagster needs the annotation of `context` as a class, not as a string.

from typing import TYPE_CHECKING, Any

import dagster as dg

from parquet_core.errors import PruneError
from parquet_core.quantities import bytes_text, counted, refuse_no_share
from prune_assets.dagster.metadata import place_metadata
from prune_assets.dagster.resources import session_of
from prune_assets.dagster.workload import load_materialized
from prune_assets.tables.changes import table_fingerprint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.advisor.automatic import Followed
    from prune_assets.dagster.layout_table import LayoutTable
    from prune_assets.writing.result import OptimizeResult


def layout_now(table: "LayoutTable", spark: "SparkSession | None" = None) -> "LayoutSpec":
    """Return the declared layout, or the layout that advice replaced it with."""
    if not table.automatic:
        return table.layout
    from prune_assets.advisor.layout_changes import layout_now, location_of

    return layout_now(location_of(table.table, spark), table.layout)


def forecast(table: "LayoutTable") -> "OptimizeResult":
    """Return the forecast of an optimize, from metadata alone."""
    return _optimize(table, None, dry_run=True)


def _optimize(
    table: "LayoutTable", spark: "SparkSession | None", *, rows: bool = False, dry_run: bool = False
) -> "OptimizeResult":
    """Rewrite the files that do not match the layout."""
    from prune_assets.writing.optimize import optimize

    return optimize(
        table.table,
        layout=layout_now(table, spark),
        session=spark,
        where=table.optimize_where,
        predicates=[*table.predicates.values()],
        dry_run=dry_run,
        rows=rows,
        budget=table.budget,
    )


def _follow_advice(table: "LayoutTable", spark: "SparkSession") -> "Followed | None":
    """Change the layout if the workload needs another layout.

    None if the table is not `automatic`.
    """
    if not table.automatic or table.budget is None:
        return None
    from prune_assets.advisor.automatic import follow_advice

    ran = load_materialized(table)
    return follow_advice(spark, table.table, workload=ran, declared=table.layout, budget=table.budget)


def optimize_job(self: "LayoutTable", *, name: str | None = None, rows: bool = False) -> dg.JobDefinition:
    """Return a job that rewrites files that do not match the table's layout, through Spark.

    >>> import prune_assets as pr
    >>> from prune_assets.dagster import LayoutTable
    >>> LayoutTable("orders", "lake/orders", layout=pr.LayoutSpec(sort_by=["day"])).optimize_job().name
    'optimize_orders'

    `rows`: as in `prune_assets.optimize`. The job needs a resource `spark`. It reports an observation on the asset's
    page: files and bytes rewritten, overlap depth, and the bytes that the predicates keep: before the rewrite, as
    predicted, and after it. For an `automatic` table it first changes the layout if a change is due, and reports the
    change or why none was made.
    """
    title = name or _job_name(self)

    # Dagster refuses a job and an op of the same name if a sensor refers to the job by name.
    @dg.op(name=f"{title}_files", required_resource_keys={"spark"}, out=dg.Out(dg.Nothing))
    def optimize_table(context: dg.OpExecutionContext) -> None:
        from prune_assets.step_words import DAGSTER

        spark = session_of(context.resources.spark)
        followed = _follow_advice(self, spark)
        if followed is not None:
            context.log.info("%s: %s", self.key.to_user_string(), followed.why)
        applied = None if followed is None else followed.applied
        done = _optimize(self, spark, rows=rows) if applied is None else applied.optimized
        context.log.info(done.text(DAGSTER))
        of_advice = {} if followed is None else _advice_metadata(followed)
        context.log_event(dg.AssetObservation(self.key, metadata=_metadata(done) | of_advice))

    @dg.job(name=title, description=f"Rewrites the files of {self.key.to_user_string()} that break its layout.")
    def rewriting() -> None:
        optimize_table()

    return rewriting


def _job_name(table: "LayoutTable") -> str:
    return f"optimize_{table.key.to_python_identifier()}"


def drift_sensor(
    self: "LayoutTable",
    *,
    job_name: str | None = None,
    min_files_share: float = 0.1,
    name: str | None = None,
    minimum_interval_seconds: int = 3600,
) -> dg.SensorDefinition:
    """Return a sensor that starts the job of `optimize_job` if files no longer match the layout.

    >>> import prune_assets as pr
    >>> from prune_assets.dagster import LayoutTable
    >>> orders = LayoutTable("orders", "lake/orders", layout=pr.LayoutSpec(sort_by=["day"]))
    >>> sensor = orders.drift_sensor()
    >>> sensor.name, sensor.job_name
    ('orders_layout_drift', 'optimize_orders')

    A tick reads metadata and does not start Spark. A tick on an unchanged table costs one listing.
    `job_name`: the name that was passed to `optimize_job`, if any; the definitions must contain this job.
    `min_files_share`: share of the files, from 0 to 1, that must need an optimize before the job starts.

    If the table cannot be read, the tick starts nothing and shows the error as its skip reason.
    """
    refuse_no_share("min_files_share", min_files_share, "the files", example=0.1, or_zero=True)

    @dg.sensor(
        name=name or f"{self.key.to_python_identifier()}_layout_drift",
        # With `job`, Dagster warns of a beta option that it sets itself.
        job_name=job_name or _job_name(self),
        minimum_interval_seconds=minimum_interval_seconds,
        description=f"Optimizes {self.key.to_user_string()} when {min_files_share:.0%} of its files need it.",
    )
    def layout_drift(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        try:
            now = table_fingerprint(self.table)
            if now == context.cursor:
                return dg.SensorResult(skip_reason=f"{self.key.to_user_string()}: not changed", cursor=now)
            found = forecast(self)
        except PruneError as error:
            return dg.SensorResult(skip_reason=str(error), cursor=context.cursor)
        share = len(found.picked) / max(1, found.considered)
        message = (
            f"{len(found.picked):,} of {counted(found.considered, 'file')} ({bytes_text(found.picked_bytes)}) need it"
        )
        if not found.picked or share < min_files_share:
            return dg.SensorResult(skip_reason=f"{self.key.to_user_string()}: {message}", cursor=now)
        return dg.SensorResult(run_requests=[dg.RunRequest(run_key=now, tags={"prune/drift": message})], cursor=now)

    return layout_drift


def _advice_metadata(followed: "Followed") -> dict[str, Any]:
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
