"""The public names of the Delta log are there, and cost nothing until they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import deltalog

HEAVY = {"airflow", "dagster", "msgspec", "numpy", "pyarrow", "pyroaring", "pyspark", "sqlglot"}


@pytest.mark.parametrize("name", deltalog.__all__)
def test_names_resolve_where_they_say(name):
    found = getattr(deltalog, name)
    assert found.__name__ == name
    # The home of a class is its module; the home of a function is the module it is imported from.
    assert found.__module__ == "deltalog" or found.__module__.startswith("deltalog.")


def test_all_names_are_listed():
    assert set(deltalog.__all__) <= set(dir(deltalog))


def test_a_name_that_is_none_is_missed():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        deltalog.nothing  # noqa: B018 - that it raises is the point


def test_the_import_brings_in_nothing_heavy():
    code = "import sys; before = set(sys.modules); import deltalog; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert "deltalog" in modules
    assert {name.partition(".")[0] for name in modules}.isdisjoint(HEAVY)
    assert [name for name in modules if name.startswith("parquet_core.")] == ["parquet_core.public_names"]
