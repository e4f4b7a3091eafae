"""A remedy in the words of a shell, of Dagster and of Airflow."""

from __future__ import annotations

from parquet_core.layout.spec import OPTIMIZE_ROWS, Finding, Severity
from prune_assets.checks.remedies import remedy_in, remedy_in_shell


def test_a_longer_command_is_not_taken_for_the_shorter_one():
    found = Finding("order.rows", Severity.ERROR, "t", "unsorted", f"sort: {OPTIMIZE_ROWS}")
    assert remedy_in("dagster", found) == "sort: the job of `build_optimize_job` with rows=True"
    assert remedy_in("airflow", found) == "sort: a task of OptimizeTableOperator with rows=True"
    assert remedy_in_shell(found, "lake/t", "l.yaml") == "sort: prune optimize lake/t --layout l.yaml --rows"
