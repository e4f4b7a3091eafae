from __future__ import annotations

import datetime as dt

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq

from parquet_core.layout.checks import CHECKS as LAYOUT_CHECKS
from parquet_core.layout.spec import LayoutSpec
from prune_assets.dagster import LayoutTable
from prune_assets.dagster.schedules import build_layout_validation_job, build_layout_validation_schedule

CHECKS = {check.name for check in LAYOUT_CHECKS}

KEY = dg.AssetKey(["lake", "events"])


def test_the_schedule_asks_for_the_job_that_runs_checks_only(tmp_path):
    (tmp_path / "t").mkdir()
    pq.write_table(
        pa.table({"x": range(30)}), tmp_path / "t" / "1.parquet", write_page_index=True, max_rows_per_page=10
    )
    checks = LayoutTable(KEY, tmp_path / "t", layout=LayoutSpec(sort_by=("x",))).checks()
    job = build_layout_validation_job([checks], name="validate")
    schedule = build_layout_validation_schedule(job)
    defs = dg.Definitions(assets=[dg.AssetSpec(KEY)], asset_checks=[checks], jobs=[job], schedules=[schedule])
    when = dt.datetime(2026, 11, 21, 3, tzinfo=dt.UTC)
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_schedule_context(
            instance, scheduled_execution_time=when, repository_def=defs.get_repository_def()
        )
        (request,) = schedule.evaluate_tick(context).run_requests
        assert (schedule.name, schedule.cron_schedule) == ("validate_schedule", "0 3 * * *")
        assert request.asset_selection in (None, [])
        result = defs.resolve_job_def("validate").execute_in_process(instance=instance)
    assert result.get_asset_materialization_events() == []
    assert {
        evaluation.check_name: evaluation.passed for evaluation in result.get_asset_check_evaluations()
    } == dict.fromkeys(CHECKS, True)
