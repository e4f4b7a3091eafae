"""The example of a dbt project: its files, and where dagster-dbt and dbt-duckdb are installed, a run of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml

from prune_assets.dagster import build_dbt_checks
from prune_assets.writing.layout_file import load_layout

EXAMPLE = Path(__file__).parents[1] / "examples" / "dbt"
SHOP = EXAMPLE / "shop"

# Materializes the project in a process of its own, because dbt warns about its own deprecated calls.
MATERIALIZED = """
import json
import dagster as dg
from definitions import defs
with dg.DagsterInstance.ephemeral() as instance:
    run = dg.materialize([*defs.assets, *defs.asset_checks], resources=defs.resources, instance=instance)
found = {result.check_name: result.passed for result in run.get_asset_check_evaluations()}
(made,) = [asset for asset in defs.assets]
columns = made.metadata_by_key[dg.AssetKey("events")]["dagster/column_schema"].columns
print("RESULT", json.dumps([run.success, found, {column.name: column.description for column in columns}]))
"""


def test_its_model_asks_for_checks():
    (model,) = yaml.safe_load((SHOP / "models" / "events.yml").read_text())["models"]
    prune = model["config"]["meta"]["prune"]
    assert load_layout(SHOP / prune["layout"]).sort_by == ("user_id", "day")
    node = {"resource_type": "model", "name": "events", "config": {**model["config"], "location_root": "/lake"}}
    checks = build_dbt_checks({"nodes": {"model.shop.events": node}}, project_dir=SHOP)
    names = {key.name for check in checks for key in check.check_keys}
    assert {"skips_one_user", "skips_some_users", "sorted_order"} <= names
    assert all(key.asset_key == dg.AssetKey("events") for check in checks for key in check.check_keys)


def test_dbt_writes_the_model_and_its_checks_run(tmp_path):
    for package in ("dagster_dbt", "dbt.adapters.duckdb"):
        pytest.importorskip(package, reason="no dagster-dbt or dbt-duckdb; install prune-assets[dbt]")
    shutil.copytree(EXAMPLE, tmp_path / "dbt", ignore=shutil.ignore_patterns("target", "logs"))
    env = os.environ | {"DAGSTER_IS_DEV_CLI": "1", "DO_NOT_TRACK": "1"}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    done = subprocess.run(
        [sys.executable, "-c", MATERIALIZED], cwd=tmp_path / "dbt", env=env, capture_output=True, text=True, check=False
    )
    results = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert results, done.stderr[-2000:]
    success, checks, columns = yaml.safe_load(results[0])
    assert success
    # DuckDB writes no page indexes.
    assert {name for name, passed in checks.items() if not passed} == {"column_index_present", "sorted_order"}
    assert {"skips_one_user", "skips_some_users", "files_do_not_overlap"} <= checks.keys()
    assert columns == {"user_id": "Who did it.", "day": "The day in UTC."}
