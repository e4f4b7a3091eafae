"""Every public name shows how it is used: its docstring has an example, which runs where the doctests do.

Sources are parsed rather than imported, so that names for Airflow are tested where Airflow is not installed.
"""

from __future__ import annotations

import ast
from doctest import SKIP, DocTestParser
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

# Examples that need packages of Maven; tests of the matrix run these functions.
NEED_PACKAGES = {"merge"}
PACKAGES = ["prune_assets", "prune_assets.dagster", "prune_assets.airflow", "deltalog", "parquet_core.inspection"]


@cache
def _tree(module):
    return ast.parse(Path(find_spec(module).origin).read_text())


def _homes(package):
    """Return the module that each name is imported from, under TYPE_CHECKING or not."""
    imports = [node for node in ast.walk(_tree(package)) if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module for node in imports for alias in node.names}


def _public_names(package):
    homes = _homes(package)
    names = [name for name in import_module(package).__all__ if name not in NEED_PACKAGES]
    return [pytest.param(homes[name], name, id=f"{package}.{name}") for name in names]


@pytest.mark.parametrize(("home", "name"), [case for package in PACKAGES for case in _public_names(package)])
def test_a_public_name_has_an_example_that_runs(home, name):
    (definition,) = [node for node in _tree(home).body if getattr(node, "name", None) == name]
    examples = DocTestParser().get_examples(ast.get_docstring(definition) or "")
    assert any(not example.options.get(SKIP) for example in examples), f"{home}.{name} has no example"
