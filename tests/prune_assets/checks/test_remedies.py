"""A remedy in the words of a shell, of Dagster and of Airflow."""

from __future__ import annotations

import pytest

from parquet_core.layout.spec import OPTIMIZE_ROWS, Finding, Severity
from prune_assets.checks.remedies import in_words_of, remedy_in, remedy_in_shell
from prune_assets.maintenance.result import OptimizeResult


def test_a_longer_command_is_not_taken_for_the_shorter_one():
    found = Finding("order.rows", Severity.ERROR, "t", "unsorted", f"sort: {OPTIMIZE_ROWS}")
    assert remedy_in("dagster", found) == "sort: the job of `build_optimize_job` with rows=True"
    assert remedy_in("airflow", found) == "sort: a task of OptimizeTableOperator with rows=True"
    assert remedy_in_shell(found, "lake/t", "l.yaml") == "sort: prune optimize lake/t --layout l.yaml --rows"


@pytest.mark.parametrize("tool", ["dagster", "airflow"])
def test_an_option_of_a_command_is_named_as_an_argument(tool):
    done = OptimizeResult(
        table="t",
        dry_run=True,
        considered=1,
        picked=(),
        new_files=0,
        new_bytes=0,
        depth_before=None,
        depth_predicted=None,
        rows_read=False,
    )
    assert str(done).endswith("was not read: --rows (rows=True) reads the sort key")
    assert in_words_of(tool, str(done)).endswith("was not read: rows=True reads the sort key")
