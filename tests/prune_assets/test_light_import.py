"""`import prune_assets` costs next to nothing: people import it in Airflow's and Dagster's own processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIMIT_SECONDS = 0.1
HEAVY = ("pyspark", "dagster", "airflow", "sqlglot", "pyarrow", "numpy")

TIMED = """
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("module", ["prune_assets", "prune_assets.cli", "prune_assets.spark.session"])
def test_brings_in_nothing_heavy(module):
    # A .pth file may import before us, so what counts is what this import adds.
    code = f"import sys; before = set(sys.modules); import {module}; print(*sorted(set(sys.modules) - before))"
    brought = {name.partition(".")[0] for name in python(code).split()}
    assert "prune_assets" in brought
    assert brought.isdisjoint(HEAVY)


def test_takes_less_than_a_tenth_of_a_second():
    """The best of several runs, the first of which may still write byte code."""
    best = LIMIT_SECONDS
    for _ in range(8):
        best = min(best, float(python(TIMED.format(module="prune_assets"))))
        if best < LIMIT_SECONDS:
            return
    pytest.fail(f"the best of 8 imports took {LIMIT_SECONDS} s or longer")
