"""What is special to a format is in its package below `tables/`: others never ask which format a table has."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PRODUCT = Path(__file__).parents[3] / "prune_assets"
# Writing and rewriting are not behind the protocol yet.
NOT_YET = {"writing", "maintenance", "commands/write.py"}
CLASSES = {"DeltaTable", "ParquetTable"}
PACKAGES = {f"prune_assets.tables.{path.parent.name}" for path in (PRODUCT / "tables").glob("*/table.py")}
# How directories without a log list their files to Spark is a rule of Spark's, which levels and predictions follow.
OF_SPARK = {"answers_of_directories"}
FILES = [path for path in sorted(PRODUCT.rglob("*.py")) if path.relative_to(PRODUCT).parts[0] != "tables"]


def branches(tree):
    """Every place where a source asks for a format, or reaches into one."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr="is_plain" | "snapshot") | ast.Name(id="has_log" | "delta_table"):
                yield ast.unparse(node)
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
                if CLASSES & {name.id for name in ast.walk(kinds) if isinstance(name, ast.Name)}:
                    yield ast.unparse(node)
            case ast.ImportFrom(module=module, names=names) if module and _is_of_a_format(module):
                if not {alias.name for alias in names} <= OF_SPARK:
                    yield ast.unparse(node)


def _is_of_a_format(module):
    return any(module == package or module.startswith(f"{package}.") for package in PACKAGES)


@pytest.mark.parametrize(
    "source",
    [
        "if has_log(table): pass",
        "isinstance(table, (DeltaTable, list))",
        "plan.table.snapshot.version",
        "if not table.is_plain: pass",
        "from prune_assets.tables.delta.reading import live_files",
        "found = delta_table(place, version=None, timestamp=None)",
    ],
)
def test_each_kind_of_branch_is_found(source):
    assert list(branches(ast.parse(source)))


def test_the_packages_of_formats_are_known():
    assert {"prune_assets.tables.delta", "prune_assets.tables.parquet"} == PACKAGES


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PRODUCT)))
def test_nothing_asks_which_format_a_table_has(path):
    name = path.relative_to(PRODUCT).as_posix()
    if not any(name == each or name.startswith(f"{each}/") for each in NOT_YET):
        assert list(branches(ast.parse(path.read_text()))) == []


@pytest.mark.parametrize("name", sorted(NOT_YET))
def test_what_is_let_off_still_needs_it(name):
    place = PRODUCT / name
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    assert any(list(branches(ast.parse(path.read_text()))) for path in files)
