"""Code for a single table format is in its package below `tables/`; other modules never test the format of a table."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PRODUCT = Path(__file__).parents[3] / "prune_assets"
CLASSES = {"DeltaTable", "IcebergTable", "ParquetTable"}
PACKAGES = {f"prune_assets.tables.{path.parent.name}" for path in (PRODUCT / "tables").glob("*/table.py")}
# How directories without a log list their files to Spark is a rule of Spark's, which levels and predictions follow.
OF_SPARK = {"answers_of_directories"}
NAMES = {"parquet", "delta", "iceberg"}
# Allowed: names of writable formats, which import no format; catalogs, one of which is called iceberg; path suffixes;
# and the names that Spark and Hive use for formats that they read.
NAMING = {
    "tables/writes/format_names.py",
    "tables/catalogs/glue.py",
    "tables/catalogs/names.py",
    "tables/catalogs/resolve.py",
    "advisor/workload/event_logs/table_of.py",
    "advisor/workload/select.py",
    "sql/merge_statement.py",
}
FILES = [path for path in sorted(PRODUCT.rglob("*.py")) if path.relative_to(PRODUCT).parts[0] != "tables"]


def branches(tree):
    """Yield every place where a source tests a format or imports a module of one."""
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


def named_formats(tree):
    """Yield every place where a source compares with a format name, selects by it, or lists the names."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others):
                named = [left, *others]
            case ast.Dict(keys=named) | ast.Set(elts=named) | ast.List(elts=named):
                pass
            case ast.Tuple(elts=named) | ast.MatchOr(patterns=named):
                pass
            case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join")):
                continue
            case _:
                continue
        if any(isinstance(each, ast.Constant) and each.value in NAMES for each in named):
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
    assert {"prune_assets.tables.delta", "prune_assets.tables.iceberg", "prune_assets.tables.parquet"} == PACKAGES


@pytest.mark.parametrize(
    "source",
    [
        "kind == 'delta'",
        "kind in {'delta', 'iceberg'}",
        "{'delta': 1}[kind]",
        "Literal['parquet', 'delta']",
        "['iceberg']",
    ],
)
def test_each_list_of_formats_is_found(source):
    assert list(named_formats(ast.parse(source)))


def test_a_format_is_named_by_its_entry_alone():
    of_formats = [PRODUCT / "tables" / package.rpartition(".")[2] for package in PACKAGES]
    others = [path for path in sorted(PRODUCT.rglob("*.py")) if not any(map(path.is_relative_to, of_formats))]
    formats_by_path = {str(path.relative_to(PRODUCT)): [*named_formats(ast.parse(path.read_text()))] for path in others}
    assert {path for path, places in formats_by_path.items() if places} == NAMING


def test_nothing_asks_which_format_a_table_has():
    assert len(FILES) > 200
    branches_by_path = {str(path.relative_to(PRODUCT)): list(branches(ast.parse(path.read_text()))) for path in FILES}
    assert {path: lines for path, lines in branches_by_path.items() if lines} == {}
