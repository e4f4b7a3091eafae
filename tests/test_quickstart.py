"""examples/quickstart does what its README says: a check that fails, then one that passes."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import dagster as dg
import pytest

# Dagster's own, where it loads any component.
pytestmark = [
    pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated"),
    pytest.mark.filterwarnings("ignore:.* is currently in beta"),
]
QUICKSTART = Path(__file__).parents[1] / "examples" / "quickstart"


@pytest.fixture(scope="module")
def orders(tmp_path_factory):
    """The folder that the README makes for those who have none."""
    directory = tmp_path_factory.mktemp("quickstart")
    (program,) = re.findall(r'(?ms)^python -c "\n(.*?)"\n```', (QUICKSTART / "README.md").read_text())
    subprocess.run([sys.executable, "-c", program], cwd=directory, check=True)
    return directory / "orders"


@pytest.fixture
def defs(orders, monkeypatch):
    monkeypatch.setenv("TABLE", f"{orders}/")
    monkeypatch.syspath_prepend(QUICKSTART)
    return import_module("quickstart.definitions").defs()


def results_of(run):
    return {evaluation.check_name: evaluation.passed for evaluation in run.get_asset_check_evaluations()}


def run(defs, selection):
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(
            [*defs.assets, *defs.asset_checks], selection=selection, resources=defs.resources, instance=instance
        )


def test_the_checks_of_the_folder_fail(defs):
    found = results_of(run(defs, dg.AssetSelection.checks_for_assets("table")))
    assert [name for name, passed in found.items() if passed] == ["sizes_within_limits"]
    assert len(found) == 5


@pytest.mark.spark
def test_those_of_the_copy_pass(defs, spark):
    found = results_of(run(defs, dg.AssetSelection.assets("laid_out")))
    assert len(found) == 5
    assert all(found.values())
