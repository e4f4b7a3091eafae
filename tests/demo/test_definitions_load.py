from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from examples.demo.jobs import DEMO_JOB, demo_definitions
from examples.demo.settings import DemoSettings
from parquet_core.errors import WrongUse

ROOT = Path(__file__).parents[2]


def test_loading_the_definitions_starts_no_spark_and_needs_no_data(tmp_path):
    program = (
        "import json, sys, examples.demo.definitions as d;"
        "print(json.dumps(sorted(m for m in sys.modules if m.split('.')[0] in ('pyspark', 'py4j'))))"
    )
    environment = {**os.environ, "PRUNE_DEMO_DIR": str(tmp_path / "none"), "SF": "0.1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []
    assert not (tmp_path / "none").exists()


def test_workspace_and_pyproject_load_the_same_module():
    import tomllib

    import yaml

    workspace = yaml.safe_load((ROOT / "workspace.yaml").read_text())
    named = workspace["load_from"][0]["python_module"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dagster"]
    assert (named["module_name"], named["location_name"]) == (project["module_name"], project["code_location_name"])


def test_the_definitions_are_whole(tmp_path):
    defs = demo_definitions(DemoSettings(tmp_path, 0.1))
    graph = defs.resolve_asset_graph()
    keys = {key.to_user_string() for key in graph.get_all_asset_keys()}
    assert keys == {
        "tpch/lineitem_raw",
        "tpch/orders_raw",
        "tpch/lineitem",
        "tpch/lineitem_default",
        "tpch/orders",
        "broken/lineitem_unsorted",
        "broken/long_strings",
        "skip_reports/narrow_range",
        "skip_reports/point_lookup",
        "skip_reports/q6",
        "skip_reports/or_columns",
    }
    assert len(graph.asset_check_keys) == 4 * 5
    blocking = {key.asset_key.to_user_string() for key in graph.asset_check_keys if graph.get_check_spec(key).blocking}
    assert blocking == {"tpch/lineitem", "tpch/orders"}
    assert {defs.resolve_job_def(name).name for name in (DEMO_JOB, "validate_layouts")} == {
        DEMO_JOB,
        "validate_layouts",
    }
    assert [sensor.name for sensor in defs.sensors] == ["new_files"]
    assert [schedule.name for schedule in defs.schedules] == ["validate_layouts_schedule"]


def test_a_layout_change_changes_the_code_version(tmp_path):
    def version(scale):
        graph = demo_definitions(DemoSettings(tmp_path, scale)).resolve_asset_graph()
        return {key.to_user_string(): graph.get(key).code_version for key in graph.get_all_asset_keys()}

    assert version(0.1)["tpch/lineitem"] == version(0.1)["tpch/lineitem"]
    assert version(0.1)["tpch/lineitem"] != version(1)["tpch/lineitem"]


def test_settings_come_from_the_environment():
    settings = DemoSettings.of({"PRUNE_DEMO_DIR": "/x/y", "SF": "1"})
    assert (settings.directory, settings.scale) == (Path("/x/y"), 1.0)
    assert DemoSettings.of({}) == DemoSettings(Path(".demo").absolute(), 0.1)


@pytest.mark.parametrize("scale", ["", "big", "-1", "0", "nan", "inf", "1e9"])
def test_a_scale_that_is_none_is_refused(scale):
    with pytest.raises(WrongUse, match="the scale is a number from"):
        DemoSettings.of({"SF": scale})
