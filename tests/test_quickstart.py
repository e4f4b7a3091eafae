"""examples/quickstart does what its README says: a check that fails, then one that passes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from contextlib import chdir
from importlib import import_module
from pathlib import Path

import dagster as dg
import pytest
import yaml

from prune_assets.components.scaffolding import EXAMPLES

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
    with chdir(directory):
        exec(program, {})
    return directory / "orders"


def loaded_from(folder, monkeypatch):
    """Return the definitions of the project in a folder, imported from there."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "quickstart"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(folder)
    return import_module("quickstart.definitions").defs()


@pytest.fixture
def defs(orders, monkeypatch):
    monkeypatch.setenv("TABLE", f"{orders}/")
    return loaded_from(QUICKSTART, monkeypatch)


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


@pytest.fixture
def project(tmp_path):
    """A copy of the project, in which a user works on."""
    return shutil.copytree(QUICKSTART, tmp_path / "project", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))


def test_a_component_that_is_added_is_loaded(project, monkeypatch):
    """As `dg scaffold defs` adds it: a folder of `defs` with a file defs.yaml."""
    added = {"type": "prune_assets.components.LayoutChecksComponent", "attributes": EXAMPLES["LayoutChecksComponent"]}
    folder = project / "quickstart" / "defs" / "my_tables"
    folder.mkdir()
    (folder / "defs.yaml").write_text(yaml.safe_dump(added))
    keys = loaded_from(project, monkeypatch).resolve_asset_graph().get_all_asset_keys()
    assert sorted(key.to_user_string() for key in keys) == ["laid_out", "sales/orders", "table"]


def test_the_project_installs_with_its_yaml(project, tmp_path):
    program = "from setuptools import setup; setup()"
    command = [sys.executable, "-c", program, "-q", "install_lib", "--install-dir", str(tmp_path / "site")]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    installed = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*.*")}
    assert {"quickstart/definitions.py", "quickstart/defs/first_check/defs.yaml"} <= installed


def test_dg_scaffolds_and_checks_components_of_the_project(project):
    pytest.importorskip("dagster_dg_cli", reason="no dg; install dagster-dg-cli")
    lake = {"type": "prune_assets.components.LakeComponent", "attributes": {"root": str(project)}}

    def dg_cli(*arguments):
        command = [sys.executable, "-c", "from dagster_dg_cli.cli import main; main()", *arguments]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    dg_cli("scaffold", "defs", "prune_assets.components.LayoutChecksComponent", "my_tables")
    dg_cli("scaffold", "defs", "prune_assets.components.LakeComponent", "lake")
    (project / "quickstart" / "defs" / "lake" / "defs.yaml").write_text(yaml.safe_dump(lake))
    dg_cli("check", "defs")
    assert "sales/orders" in dg_cli("list", "defs", "--json")
