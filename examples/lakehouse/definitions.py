"""Events by day in a Delta table: written sorted, checked, pruned, and optimized when their layout drifts."""

import os
from pathlib import Path

import dagster as dg

from prune_assets import LayoutSpec
from prune_assets.dagster import (
    LayoutTable,
    PrunedTableIOManager,
    SparkSessionResource,
    build_fleet_asset,
    build_layout_validation_job,
    build_layout_validation_schedule,
)

LAKE = Path(os.environ.get("LAKE", "lake")).absolute()
DAYS = dg.DailyPartitionsDefinition(start_date="2024-01-01", end_date="2024-01-08")

events = LayoutTable(
    "events",
    LAKE / "events",
    layout=LayoutSpec(partition_by=["day"], sort_by=["user"], bloom={"session": 0.01}, page_rows=1_000),
    format="delta",
    partitions_def=DAYS,
    partition_expr="day",
    predicates={"one_user": "day = DATE '2024-01-02' AND user = 17"},
)


@events.asset
def write_events(context: dg.AssetExecutionContext, spark: SparkSessionResource):  # noqa: ANN201 - a DataFrame of Spark
    """The events of one day, randomly generated here; replace them with your own source."""
    return spark.session.range(100_000).selectExpr(
        f"DATE '{context.partition_key}' AS day", "id * 7919 % 5000 AS user", "uuid() AS session", "rand() AS amount"
    )


@dg.asset(partitions_def=DAYS, ins={"events": dg.AssetIn(metadata={"where": "user < 50", "columns": ["user"]})})
def first_users(events) -> dg.MaterializeResult:  # noqa: ANN001 - a DataFrame of Spark
    """The number of distinct users below 50; Dagster reads only row groups and pages that may contain them."""
    return dg.MaterializeResult(metadata={"users": events.distinct().count()})


checks = [
    events.checks(blocking=True),
    events.skipping_checks(min_skipped=0.8),
    events.statistics_truth_check(),
    events.log_health_check(),
]
validate = build_layout_validation_job(checks, name="validate")
spark = SparkSessionResource()

defs = dg.Definitions(
    assets=[write_events, first_users, build_fleet_asset([events])],
    asset_checks=checks,
    jobs=[events.optimize_job(), validate],
    schedules=[build_layout_validation_schedule(validate)],
    sensors=[events.drift_sensor()],
    resources={"spark": spark, "tables": PrunedTableIOManager(spark=spark)},
    executor=dg.in_process_executor,  # one JVM for the whole run
)
