"""The example of a lakehouse, as its README goes through it."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner

from prune_assets.cli import main
from prune_assets.writing.layout_file import load_layout

PLACE = Path(__file__).parents[1] / "examples" / "lakehouse"


def definitions(monkeypatch, lake):
    monkeypatch.setenv("LAKE", str(lake))
    spec = importlib.util.spec_from_file_location("lakehouse_definitions", PLACE / "definitions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_loads_and_its_layout_is_that_of_the_file(monkeypatch, tmp_path):
    module = definitions(monkeypatch, tmp_path)
    dg.Definitions.validate_loadable(module.defs)
    assert load_layout(PLACE / "layout.yaml") == module.events.layout


@pytest.mark.spark
@pytest.mark.deep
def test_days_are_written_proven_drift_and_are_optimized(spark, monkeypatch, tmp_path):
    module = definitions(monkeypatch, tmp_path)
    defs, instance = module.defs, dg.DagsterInstance.ephemeral()
    job = defs.resolve_implicit_global_asset_job_def()
    chosen = [dg.AssetKey("events"), dg.AssetKey("first_users")]
    for day in ("2024-01-01", "2024-01-02"):
        done = job.execute_in_process(instance=instance, partition_key=day, asset_selection=chosen)
        assert done.success
    validated = defs.resolve_job_def("validate").execute_in_process(instance=instance)
    assert [found.check_name for found in validated.get_asset_check_evaluations() if not found.passed] == []
    tick = defs.resolve_sensor_def("events_layout_drift")
    assert tick(dg.build_sensor_context()).run_requests == []

    arguments = [
        str(module.events.table),
        str(module.events.table),
        "--layout",
        str(PLACE / "layout.yaml"),
        "--mode",
        "append",
    ]
    select = "day = DATE '2024-01-02' AND user % 2 = 0"
    for _ in range(2):
        assert CliRunner().invoke(main, ["write", *arguments, "--select", select]).exit_code == 0
    assert len(tick(dg.build_sensor_context()).run_requests) == 1
    assert defs.resolve_job_def("optimize_events").execute_in_process(instance=instance).success
    assert tick(dg.build_sensor_context()).run_requests == []
    fleet = job.execute_in_process(instance=instance, asset_selection=[dg.AssetKey("fleet")])
    (row,) = fleet.asset_materializations_for_node("fleet")[0].metadata["prune/fleet"].records
    assert row.data["files to rewrite"] == 0


@pytest.mark.spark
@pytest.mark.deep
def test_the_circle_from_queries_to_a_layout_keeps_its_promise(tmp_path):
    command = [sys.executable, str(PLACE / "circle.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "sort by shop" in lines[0]
    promised, now = map(float, re.findall(r"\(([0-9.]+) % less\)", lines[-2]))
    assert promised > 90
    assert now > promised - 5
    before, after = (int(count.replace(",", "")) for count in re.findall(r"([0-9,]+) (?:before|after)", lines[-1]))
    assert after < before / 20
