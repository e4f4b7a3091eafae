"""The code location of the tests in a real UI: a good table, a broken one, one that others write, and their jobs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import dagster as dg

import prune_assets as pr
from prune_assets.dagster import (
    SparkSessionResource,
    build_layout_checks,
    build_layout_validation_job,
    build_layout_validation_schedule,
    build_new_files_sensor,
    build_skip_report_asset,
    build_table_asset,
)

ROOT = Path(os.environ.get("E2E_ROOT", "."))
REPORTS_URL = os.environ.get("E2E_REPORTS_URL")
LAYOUT = pr.LayoutSpec(sort_by=["id"], files=4, row_group_rows=5_000, page_rows=1_000)
UNSORTED = replace(LAYOUT, sort_by=())
ROWS, MANY_ROWS = 40_000, 2_000_000
# While this file exists, writing the table takes long.
SLOW = ROOT / "slow"
GOOD, BROKEN, ARRIVALS, KILLED = (ROOT / name for name in ("good", "broken", "arrivals", "killed"))
SNAPSHOTS = ROOT / "lake" / "db" / "snapshots"


def rows(spark):
    count = MANY_ROWS if SLOW.exists() else ROWS
    return spark.sql(f"SELECT id, sha2(CAST(id AS STRING), 512) AS word FROM range({count}) ORDER BY hash(id)")


@dg.asset(deps=["good"], description="Comes after a table whose checks pass.")
def after_good() -> None: ...


@dg.asset(deps=["broken"], description="Comes after a table whose checks fail, so never.")
def after_broken() -> None: ...


@dg.asset(description="Costs nothing, for a click.")
def clicked() -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata={"dagster/row_count": 7})


checks = {
    "good": build_layout_checks("good", GOOD, LAYOUT, blocking=True),
    "broken": build_layout_checks("broken", BROKEN, LAYOUT, blocking=True),
    "arrivals": build_layout_checks("arrivals", ARRIVALS, LAYOUT),
    "snapshots": build_layout_checks("snapshots", SNAPSHOTS, pr.LayoutSpec(sort_by=["id"])),
}
validation = build_layout_validation_job("validate", checks=[checks["good"]])

defs = dg.Definitions(
    assets=[
        build_table_asset("good", table=GOOD, layout=LAYOUT, source=rows, description="Sorted, as it should be."),
        build_table_asset(
            "broken",
            table=BROKEN,
            layout=LAYOUT,
            written_as=UNSORTED,
            source=rows,
            description="Claims an order that it has not.",
        ),
        build_table_asset("killed", table=KILLED, layout=LAYOUT, source=rows),
        build_skip_report_asset(
            "first_ids", "good", "id < 700", table=GOOD, reports=ROOT / "reports", reports_url=REPORTS_URL
        ),
        dg.AssetSpec("arrivals", description="Written by somebody else."),
        dg.AssetSpec("snapshots", description="Written by pyiceberg."),
        after_good,
        after_broken,
        clicked,
    ],
    asset_checks=list(checks.values()),
    jobs=[validation],
    schedules=[build_layout_validation_schedule(validation, cron_schedule="* * * * *")],
    sensors=[
        build_new_files_sensor(
            "new_files", tables={"arrivals": ARRIVALS}, checks=[checks["arrivals"]], minimum_interval_seconds=1
        ),
        build_new_files_sensor(
            "new_snapshots", tables={"snapshots": SNAPSHOTS}, checks=[checks["snapshots"]], minimum_interval_seconds=1
        ),
    ],
    resources={"spark": SparkSessionResource(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"})},
    executor=dg.in_process_executor,
)
