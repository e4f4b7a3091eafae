"""Events by day in a Delta table: written sorted, checked, pruned, and optimized when their layout drifts."""

import os
from pathlib import Path

import dagster as dg

from prune_assets import LayoutSpec
from prune_assets.dagster import (
    MaintainedTable,
    PrunedTableIOManager,
    SparkSessionResource,
    build_fleet_asset,
    build_layout_checks,
    build_layout_drift_sensor,
    build_layout_validation_job,
    build_layout_validation_schedule,
    build_log_health_check,
    build_optimize_job,
    build_skipping_checks,
    build_statistics_truth_check,
    pruned_asset,
)

LAKE = Path(os.environ.get("LAKE", "lake")).absolute()
EVENTS = LAKE / "events"
DAYS = dg.DailyPartitionsDefinition(start_date="2024-01-01", end_date="2024-01-08")
LAYOUT = LayoutSpec(partition_by=["day"], sort_by=["user"], bloom={"session": 0.01}, page_rows=1_000)
ONE_USER = "day = DATE '2024-01-02' AND user = 17"

spark = SparkSessionResource()


@pruned_asset(layout=LAYOUT, format="delta", table=str(EVENTS), partitions_def=DAYS, partition_expr="day")
def events(context: dg.AssetExecutionContext, spark: SparkSessionResource):  # noqa: ANN201 - a DataFrame of Spark
    """The events of one day, randomly generated here; replace them with your own source."""
    return spark.session.range(100_000).selectExpr(
        f"DATE '{context.partition_key}' AS day", "id * 7919 % 5000 AS user", "uuid() AS session", "rand() AS amount"
    )


@dg.asset(partitions_def=DAYS, ins={"events": dg.AssetIn(metadata={"where": "user < 50"})})
def first_users(events) -> dg.MaterializeResult:  # noqa: ANN001 - a DataFrame of Spark
    """The number of distinct users below 50; Dagster reads only row groups and pages that may contain them."""
    return dg.MaterializeResult(metadata={"users": events.select("user").distinct().count()})


checks = [
    build_layout_checks("events", EVENTS, LAYOUT, blocking=True),
    build_skipping_checks("events", EVENTS, {"one_user": ONE_USER}, min_skipped=0.8),
    build_statistics_truth_check("events", EVENTS),
    build_log_health_check("events", EVENTS),
]
kept = MaintainedTable("events", EVENTS, LAYOUT, [ONE_USER])
optimize_events = build_optimize_job(kept)
validate = build_layout_validation_job("validate", checks=checks)

defs = dg.Definitions(
    assets=[events, first_users, build_fleet_asset([kept])],
    asset_checks=checks,
    jobs=[optimize_events, validate],
    schedules=[build_layout_validation_schedule(validate)],
    sensors=[build_layout_drift_sensor(kept, job=optimize_events)],
    resources={"spark": spark, "tables": PrunedTableIOManager(root=str(LAKE), spark=spark)},
    executor=dg.in_process_executor,  # one JVM for the whole run
)
