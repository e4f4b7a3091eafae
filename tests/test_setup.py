"""The setup of a fresh clone, as far as it goes without the package index."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def clone(tmp_path):
    for path in ("Makefile", "pyproject.toml", "setup.py"):
        shutil.copy(ROOT / path, tmp_path)
    for folder in (".ci", "locks"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def make(directory: Path, *arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed")
    hidden = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHON"}
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    if path is not None:
        env["PATH"] = f"{path}:/usr/bin:/bin"
    return subprocess.run([make, *arguments], cwd=directory, env=env, capture_output=True, text=True, check=False)


def fake_python(directory: Path, exit_code: int) -> Path:
    directory.mkdir()
    for name in ("python3.13", "python3.12", "python3.11", "python3"):
        (directory / name).write_text(f"#!/bin/sh\nexit {exit_code}\n")
        (directory / name).chmod(0o755)
    return directory


def test_make_alone_lists_the_targets(clone):
    done = make(clone)
    targets = [line.split()[1] for line in done.stdout.splitlines()]
    assert {"demo", "test", "lint", "types", "format", "lock", "dev"} <= set(targets)
    assert done.returncode == 0
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize(
    ("exit_code", "said"),
    [
        (1, "error: no Python 3.11 or newer; install one from python.org"),
        (2, "error: python3.13 has no venv module with ensurepip; install it"),
    ],
)
def test_says_in_a_line_which_python_is_missing(clone, exit_code, said):
    done = make(clone, "test", path=fake_python(clone / "bin", exit_code))
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert len(lines) == 1
    assert lines[0].startswith(said)


def test_names_the_python_that_was_asked_for(clone):
    done = make(clone, "test", "PYTHON=/no/such/python")
    assert "error: no Python 3.11 or newer at PYTHON=/no/such/python; install" in done.stderr


def test_dev_wants_a_demo_first(clone):
    (clone / ".venv").mkdir()
    (clone / ".venv" / ".ready").touch()
    done = make(clone, "dev", "PRUNE_DEMO_DIR=none")
    assert done.returncode != 0
    assert "none: no demo has run yet; run 'make demo' first" in done.stderr


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
NAMED = {
    # Airflow is large: only the tests in a browser need it. Only the example for dbt needs dbt.
    "locks/requirements.lock": [
        *PROJECT["project"]["dependencies"],
        *(name for extra, names in EXTRAS.items() if extra not in {"airflow", "dbt"} for name in names),
    ],
    "locks/e2e.lock": [*EXTRAS["airflow"], *PROJECT["dependency-groups"]["e2e"]],
    "locks/docs.lock": PROJECT["dependency-groups"]["docs"],
}


@pytest.mark.parametrize("name", NAMED)
def test_the_lock_pins_every_dependency_by_hash_and_holds_no_address(name):
    lock = (ROOT / name).read_text()
    assert "://" not in lock
    entries = [entry for entry in lock.split("\n") if entry[:1].strip() and not entry.startswith("#")]
    pinned = {entry.split("==")[0] for entry in entries}
    assert all("==" in entry and entry.endswith("\\") for entry in entries)
    plain = {found.split(">")[0].split("[")[0].lower() for found in NAMED[name]} - {PROJECT["project"]["name"]}
    assert plain <= pinned, "run `make lock`"


def test_spark_dagster_and_airflow_are_extras_that_bring_in_no_other():
    wanted = {
        "spark": {"pyspark"},
        "dagster": {"dagster"},
        "airflow": {"apache-airflow"},
        "java": set(),
        "iceberg": set(),
    }
    names = {name for found in wanted.values() for name in found}
    assert names.isdisjoint(map(_name, PROJECT["project"]["dependencies"]))
    assert {extra: names & {*map(_name, EXTRAS[extra])} for extra in wanted} == wanted
    assert EXTRAS["all"] == ["prune-assets[connect,dagster,glue,iceberg,java,spark]"]


def _name(requirement):
    return re.match(r"[\w-]+", requirement)[0]


def test_the_workspace_and_the_project_name_the_same_module():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    module = project["tool"]["dagster"]["module_name"]
    assert f"module_name: {module}\n" in (ROOT / "workspace.yaml").read_text()


PACKAGES = ("deltalog", "parquet_core", "prune_assets")
# Suffixes of compiled and generated files.
_MADE = {".c", ".pyc", ".so"}


@pytest.fixture
def sources(tmp_path):
    for path in ("CHANGELOG.md", "LICENSE", "MANIFEST.in", "README.md", "pyproject.toml", "setup.py"):
        shutil.copy(ROOT / path, tmp_path)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "*.c", "*.so"))
    return tmp_path


def build(sources: Path, what: str, before: str = "pass", **variables: str) -> Path:
    program = f"import sys; {before}; from setuptools import build_meta as b; b.build_{what}('out')"
    env = os.environ | variables
    subprocess.run([sys.executable, "-c", program], cwd=sources, env=env, check=True, capture_output=True)
    (built,) = (sources / "out").glob("prune_assets*")
    return built


def test_the_archive_of_the_sources_holds_all_that_is_compiled_and_read(sources):
    (sources / "tests").mkdir()
    (sources / "tests" / "test_of_the_top.py").touch()
    (sources / "parquet_core" / "format" / "compact.c").touch()
    # Without Cython, which would name its sources itself: an archive need not be made where it is.
    with tarfile.open(build(sources, "sdist", "sys.modules['Cython'] = None")) as files:
        held = {name.partition("/")[2] for name in files.getnames()}
    found = (path for package in PACKAGES for path in (ROOT / package).rglob("*"))
    wanted = {str(path.relative_to(ROOT)) for path in found if path.is_file() and path.suffix not in _MADE}
    assert {"parquet_core/storage/system_calls.pyx", "setup.py"} <= held
    assert wanted - held == set()
    assert [name for name in held if name.startswith("tests") or Path(name).suffix in _MADE] == []


def test_the_wheel_for_every_machine_has_no_machine_code(sources):
    wheel = build(sources, "wheel", PRUNE_ASSETS_PURE="1")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as files:
        held = files.namelist()
    assert {"parquet_core/format/compact.py", "prune_assets/report/templates/skip_report.css"} <= set(held)
    assert [name for name in held if Path(name).suffix in _MADE] == []


@pytest.mark.deep
def test_the_bare_package_plans_in_an_empty_environment(sources, tmp_path):
    """Dependencies are installed first, because a machine may have no package index; then no import may be missing."""
    if not (ROOT / ".venv/bin/python").exists():
        pytest.skip("no .venv, whose uv installs; `make` makes it")
    wheel = build(sources, "wheel", PRUNE_ASSETS_PURE="1")
    python = tmp_path / "environment/bin/python"
    uv("venv", "--quiet", "--python", sys.executable, str(python.parents[1])).check_returncode()
    install = ("pip", "install", "--quiet", "--python", str(python))
    dependencies = uv(*install, "--constraint", "locks/requirements.lock", *PROJECT["project"]["dependencies"])
    if dependencies.returncode:
        pytest.skip(f"the dependencies cannot be installed here: {dependencies.stderr.strip().splitlines()[-1]}")
    done = uv(*install, "--offline", str(wheel))
    assert done.returncode == 0, done.stderr
    program = [str(python), "-P", str(ROOT / "tests/installed.py"), "pure", "bare"]
    env = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "SPARK_HOME"}}
    done = subprocess.run(program, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Spark and Dagster named by their extras" in done.stdout


def uv(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([".ci/uv", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_tests_of_the_matrix_are_there():
    """`make matrix` takes minutes, and fails at once where a test was renamed."""
    named = [line.partition("::") for line in (ROOT / "tests/matrix/core.txt").read_text().split()]
    lost = [
        path + rest + name
        for path, rest, name in named
        if not (ROOT / path).exists()
        or (name and f"{name.rpartition('.')[2]}(" not in (ROOT / path).read_text(encoding="utf-8"))
    ]
    assert lost == []
