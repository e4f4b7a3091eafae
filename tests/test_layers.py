"""Imports point one way only."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# The rooms of parquet_core, lowest first, and which of those before it each may import. The modules beside the rooms
# (predicate, outcomes, errors, ...) may be imported by all, and import none.
ROOMS = {
    "storage": set(),
    "format": {"storage"},
    "bloom": {"format"},
    "spark_rules": {"format", "storage"},
    "trust": {"bloom", "format", "spark_rules"},
    "evidence": {"bloom", "format", "spark_rules", "trust"},
    "values": {"format", "storage"},
    "dataset": {"bloom", "format", "spark_rules", "storage", "trust"},
    "layout": {"dataset", "format", "storage", "trust", "values"},
    "inspection": {"bloom", "dataset", "format", "layout", "spark_rules", "trust"},
}
UPPER = {"airflow", "dagster", "prune_assets", "pyspark", "sqlglot"}
# The rooms of the Delta log, and which others each may import: those above it.
LOG_ROOMS = {
    "errors": (),
    "log": ("errors",),
    "table": ("errors", "log"),
    "snapshot": ("errors", "log", "table"),
    "stats": ("log", "table", "snapshot"),
    "maintenance": ("errors", "log", "table", "stats"),
    "transaction": ("errors", "log", "table", "snapshot", "stats", "maintenance"),
    "inspection": ("log", "table", "snapshot", "stats", "maintenance"),
}


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


def test_every_room_is_in_the_table_above_those_that_import_it():
    assert set(ROOMS) == {path.parent.name for path in (ROOT / "parquet_core").glob("*/__init__.py")}
    for number, (room, allowed) in enumerate(ROOMS.items()):
        assert allowed <= set(list(ROOMS)[:number]), room


@pytest.mark.parametrize("path", sorted((ROOT / "parquet_core").rglob("*.py")), ids=lambda path: path.stem)
def test_rooms_of_parquet_core_import_those_below_them(path):
    room = path.relative_to(ROOT / "parquet_core").parts[0]
    imported = {name.split(".")[1] for name in imports_of(path) if name.startswith("parquet_core.")}
    assert (imported & set(ROOMS)) - {room} <= ROOMS.get(room, set())


@pytest.mark.parametrize("path", sorted((ROOT / "deltalog").rglob("*.py")), ids=lambda path: path.stem)
def test_the_log_knows_nothing_above_it(path):
    found = {name.split(".")[0] for name in imports_of(path)}
    assert not found & UPPER
    assert not any(name.startswith(".") for name in imports_of(path)), "imports are absolute"


def rooms_of(path):
    """The rooms of the log that a file imports, for the type checker too."""
    names = (name for name in imports_of(path) if name.split(".")[0] == "deltalog")
    return {name.partition(".")[2].split(".")[0] for name in names}


def modules_of(room):
    place = ROOT / "deltalog" / room
    return sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]


@pytest.mark.parametrize("room", LOG_ROOMS)
def test_rooms_of_the_log_import_those_above_them_alone(room):
    found = {other for path in modules_of(room) for other in rooms_of(path)} - {room}
    assert found == set(LOG_ROOMS[room])


def test_rooms_of_the_log_are_in_no_circle():
    before = set()
    for room, others in LOG_ROOMS.items():
        assert before.issuperset(others), f"{room} comes after what it imports"
        before.add(room)
    entries = (ROOT / "deltalog").iterdir()
    there = {entry.stem for entry in entries if entry.suffix == ".py" or (entry / "__init__.py").is_file()}
    assert there == {*LOG_ROOMS, "__init__"}


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
