"""The code location of the tests in a real UI: a good table, a broken one, one that others write, and their jobs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import dagster as dg

import prune_assets as pr
from prune_assets.dagster import (
    LayoutTable,
    SparkSessionResource,
    build_layout_validation_job,
    build_layout_validation_schedule,
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


good = LayoutTable("good", GOOD, layout=LAYOUT, predicates={"first_ids": "id < 700"})
broken = LayoutTable("broken", BROKEN, layout=LAYOUT)
killed = LayoutTable("killed", KILLED, layout=LAYOUT)
arrivals = LayoutTable("arrivals", ARRIVALS, layout=LAYOUT)
snapshots = LayoutTable("snapshots", SNAPSHOTS, layout=pr.LayoutSpec(sort_by=["id"]))
checks = {
    "good": good.checks(blocking=True),
    "broken": broken.checks(blocking=True),
    "arrivals": arrivals.checks(),
    "snapshots": snapshots.checks(),
}
validation = build_layout_validation_job([checks["good"]], name="validate")

defs = dg.Definitions(
    assets=[
        good.asset_from(rows, description="Sorted, as it should be."),
        broken.asset_from(rows, written_as=UNSORTED, description="Claims an order that it has not."),
        killed.asset_from(rows),
        good.skip_report("first_ids", reports=ROOT / "reports", reports_url=REPORTS_URL),
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
        arrivals.sensor(name="new_files", minimum_interval_seconds=1),
        snapshots.sensor(name="new_snapshots", minimum_interval_seconds=1),
    ],
    resources={"spark": SparkSessionResource(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"})},
    executor=dg.in_process_executor,
)
