"""Imports point one way only."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# The rooms of each package, and which others each imports: those before it. What lies beside the rooms of parquet_core
# (predicate, outcomes, ...) may be imported by all of them.
ROOMS = {
    "parquet_core": {
        "storage": (),
        "trees": (),
        "format": ("storage",),
        "bloom": ("format",),
        "spark_rules": ("format", "storage"),
        "trust": ("bloom", "format", "spark_rules"),
        "evidence": ("bloom", "format", "spark_rules", "trust"),
        "values": ("format", "storage"),
        "dataset": ("bloom", "format", "spark_rules", "storage", "trust"),
        "layout": ("dataset", "format", "storage", "trust", "values"),
        "inspection": ("bloom", "dataset", "format", "layout", "spark_rules", "trust"),
    },
    "deltalog": {
        "errors": (),
        "log": ("errors",),
        "table": ("errors", "log"),
        "snapshot": ("errors", "log", "table"),
        "stats": ("log", "table", "snapshot"),
        "maintenance": ("errors", "log", "table", "stats"),
        "transaction": ("errors", "log", "table", "snapshot", "stats", "maintenance"),
        "inspection": ("log", "table", "snapshot", "stats", "maintenance"),
    },
    "prune_assets": {
        "report": (),
        "sql": (),
        "spark": ("sql",),
        "spark.asking": ("sql",),
        "spark.writing": ("spark",),
        "tables": ("report", "spark.asking"),
        "planner": ("report", "sql", "spark.asking", "tables"),
        "spark.reading": ("planner", "spark", "spark.asking", "sql", "tables"),
        "commands": ("planner", "report", "spark.writing", "tables"),
        "dagster": ("planner", "report", "spark", "spark.reading", "spark.writing"),
        "demo": ("dagster", "planner", "report"),
    },
}
UPPER = {"airflow", "dagster", "prune_assets", "pyspark", "sqlglot"}


def imports_of(path):
    """Every module that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


@pytest.mark.parametrize("path", sorted((ROOT / "parquet_core").rglob("*.py")), ids=lambda path: path.stem)
def test_parquet_core_knows_nothing_above_it(path):
    found = {name.split(".")[0] for name in imports_of(path)}
    assert not found & {*UPPER, "deltalog"}
    assert not any(name.startswith(".") for name in imports_of(path)), "imports are absolute"


@pytest.mark.parametrize("path", sorted((ROOT / "deltalog").rglob("*.py")), ids=lambda path: path.stem)
def test_the_log_knows_nothing_above_it(path):
    found = {name.split(".")[0] for name in imports_of(path)}
    assert not found & UPPER
    assert not any(name.startswith(".") for name in imports_of(path)), "imports are absolute"


def rooms_of(package, path):
    """The rooms of a package that a file imports, for the type checker too."""
    names = (name.partition(".")[2] for name in imports_of(path) if name.split(".")[0] == package)
    return {room for name in names if (room := room_of(package, name))}


def room_of(package, name):
    """The innermost room that a module is or lies in; None for what lies beside them."""
    around = [room for room in ROOMS[package] if name == room or name.startswith(f"{room}.")]
    return max(around, key=len, default=None)


def modules_of(package, room):
    place = ROOT / package / room.replace(".", "/")
    found = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    named = {path: ".".join(path.relative_to(ROOT / package).with_suffix("").parts) for path in found}
    return [path for path, name in named.items() if room_of(package, name) == room]


@pytest.mark.parametrize(("package", "room"), [(package, room) for package in ROOMS for room in ROOMS[package]])
def test_a_room_imports_those_of_the_table_alone(package, room):
    found = {other for path in modules_of(package, room) for other in rooms_of(package, path)} - {room}
    assert found == set(ROOMS[package][room])


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_are_in_no_circle(package):
    before = set()
    for room, others in ROOMS[package].items():
        assert before.issuperset(others), f"{room} comes after what it imports"
        before.add(room)
    assert before >= {entry.parent.name for entry in (ROOT / package).glob("*/__init__.py")}


def test_what_lies_beside_the_rooms_imports_none():
    beside = [path for path in (ROOT / "parquet_core").glob("*.py") if path.stem not in ROOMS["parquet_core"]]
    assert {path.name: rooms_of("parquet_core", path) for path in beside} == {path.name: set() for path in beside}
    assert {path.stem for path in (ROOT / "deltalog").glob("*.py")} <= {"__init__", *ROOMS["deltalog"]}


@pytest.mark.parametrize("path", sorted((ROOT / "prune_assets").rglob("*.py")), ids=lambda path: str(path.name))
def test_one_file_knows_sqlglot(path):
    if path.name not in {"doctor.py", "sqlglot_nodes.py"}:
        assert "sqlglot" not in {name.split(".")[0] for name in imports_of(path)}


@pytest.mark.parametrize("path", sorted((ROOT / "prune_assets").rglob("*.py")), ids=lambda path: str(path.name))
def test_dagster_has_a_room_of_its_own(path):
    if not {"dagster", "demo"} & set(path.relative_to(ROOT / "prune_assets").parts):
        assert "dagster" not in {name.split(".")[0] for name in imports_of(path)}


def test_planning_needs_neither_spark_nor_dagster():
    script = (
        "import sys, prune_assets as pr; pr.plan; pr.check; print(*sorted({'pyspark', 'dagster'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
