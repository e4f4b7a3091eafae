from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import prune_assets.sql
from parquet_core.pruning.predicate import Compare, Op, Unsupported
from prune_assets.sql.functions import registry
from prune_assets.sql.functions.entry import SqlFunction
from prune_assets.sql.functions.registry import FAMILIES, REGISTRY, find
from prune_assets.sql.functions.texts import _entry
from prune_assets.sql.lower import lower
from prune_assets.sql.render import render
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.sql.types.spark_types import BIGINT, DOUBLE, FLOAT, INT, SMALLINT, TINYINT
from prune_assets.sql.types.spark_values import ValueKind
from tests.prune_assets.sql.table_columns import FIXTURE_COLUMNS

SQL = Path(prune_assets.sql.__file__).parent
# The grammar has functions with keyword syntax, and rendering has to write these functions.
MAY_NAME = {"syntax/grammar.py", "render.py"}


def literals_of(path):
    return {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}


def test_each_name_of_a_function_stands_in_one_module():
    found = Counter()
    for path in SQL.rglob("*.py"):
        if path.relative_to(SQL).as_posix() not in MAY_NAME:
            found.update(name for name in literals_of(path) if name in REGISTRY)
    # Type names are also the names of casts.
    types = {str(kind) for kind in ValueKind} | {str(to) for to in (TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE)}
    assert {name: times for name, times in found.items() if times > 1 and name not in types} == {}
    assert REGISTRY.keys() - found.keys() <= types


def test_no_name_is_that_of_two_functions():
    names = Counter(name for family in FAMILIES for function in family.FUNCTIONS for name in function.names)
    assert set(names.values()) == {1}


def lowered(sql):
    return lower(sql, FIXTURE_COLUMNS, semantics=SparkSemantics()).predicate


def test_a_function_is_one_entry(monkeypatch):
    """Evaluation, refusal, NULL and safety of a function are defined only by its registry entry."""
    monkeypatch.setattr(
        registry, "REGISTRY", {**REGISTRY, "chomp": _entry("chomp", compute=str.rstrip, refusal=("no", "do"))}
    )
    column, constant = lowered("chomp(s) = 'a'"), lowered("s = chomp('a ')")
    assert column == Unsupported("chomp(s) = 'a'", "no", "do", null_with=(("s",),), is_whole=True)
    assert constant == Compare(("s",), Op.EQ, pa.scalar("a"))


def test_a_function_with_a_preimage_is_one_entry(monkeypatch):
    absolute = find("abs")
    assert absolute is not None
    new = SqlFunction(names=("size_of",), bind=absolute.bind, null_strict=True)
    monkeypatch.setattr(registry, "REGISTRY", {**REGISTRY, "size_of": new})
    assert render(lowered("size_of(x) = 3")) == render(lowered("abs(x) = 3"))
    assert "x IN (-3, 3)" in render(lowered("size_of(x) = 3"))


@pytest.mark.parametrize(
    ("sql", "remedy"),
    [
        ("yearr(day) = 2024", "did you mean year()?"),
        ("lenght(s) = 3", "did you mean length()?"),
        ("nullif(x) = 3", "compare the column itself"),
        ("cbrt(x) = 3", "compare the column itself"),
    ],
)
def test_an_unknown_function_is_refused_with_the_one_that_may_be_meant(sql, remedy):
    found = lowered(sql)
    assert isinstance(found, Unsupported)
    assert found.remedy == remedy
