"""Remedies in the wording of the shell, of Dagster and of Airflow."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from parquet_core.errors import PruneError, UnfinishedWrite, WrongUse
from parquet_core.fix import Fix, Step
from parquet_core.layout.spec import Finding, Severity
from parquet_core.storage.listing import files_below
from prune_assets.checks.remedies import error_in, finding_json, remedy_in, remedy_in_shell
from prune_assets.step_words import AIRFLOW, DAGSTER
from prune_assets.writing.result import OptimizeResult


def test_a_finding_has_the_words_of_the_shell_until_a_tool_shows_it():
    found = Finding("order.rows", Severity.ERROR, "t", "unsorted", fix=Fix("sort: ", Step.OPTIMIZE_ROWS))
    assert found.remedy == "sort: prune optimize TABLE --layout layout.yaml --rows"
    assert remedy_in("dagster", found) == "sort: the job of `LayoutTable.optimize_job` with rows=True"
    assert remedy_in("airflow", found) == "sort: a task of OptimizeTableOperator with rows=True"
    assert remedy_in_shell(found, "lake/t", "l.yaml") == "sort: prune optimize lake/t --layout l.yaml --rows"


def test_an_option_of_a_command_is_named_as_an_argument():
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
    for words in (DAGSTER, AIRFLOW):
        assert done.text(words).endswith("was not read: rows=True reads the sort key")


def test_json_has_no_value_that_only_tools_need():
    found = Finding("files.small", Severity.WARN, "t", "many", fix=Fix("merge them: ", Step.OPTIMIZE))
    assert list(finding_json(found)) == ["code", "severity", "location", "message", "remedy", "columns"]


def test_an_error_of_a_layer_below_names_the_command(tmp_path):
    (tmp_path / "_prune_journal.json").write_text("{}")
    with pytest.raises(UnfinishedWrite) as raised:
        files_below(tmp_path)
    text = f"{tmp_path}: a write of it was interrupted; finish it first with `prune doctor {tmp_path}`"
    assert str(raised.value) == text
    assert str(pickle.loads(pickle.dumps(raised.value))) == text


def test_an_error_in_dagster_has_its_class_and_the_words_of_dagster():
    error = WrongUse("t: a row of another partition", Fix(step=Step.STAY_IN_PARTITIONS))
    assert str(error).startswith("t: a row of another partition; filter its rows out, or ")
    in_dagster = error_in("dagster", error)
    assert type(in_dagster) is WrongUse
    assert str(in_dagster) == "t: a row of another partition; return only rows of the partitions of the run"
    assert str(error_in("dagster", WrongUse("t: no step"))) == "t: no step"


def test_a_remedy_hides_the_secrets_of_an_address():
    error = PruneError("a write was interrupted", Fix("see ", Step.FINISH_WRITE, place="s3://KEY:SECRET@bucket/t"))
    assert str(error) == "a write was interrupted; see `prune doctor s3://***@bucket/t`"


def test_without_a_layer_above_a_step_describes_itself():
    script = "from parquet_core.errors import PruneError as E; from parquet_core.fix import Fix, Step; "
    script += "print(E('t: it is so', Fix(step=Step.EVALUATE_IN_SPARK)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "t: it is so; let Spark evaluate it\n"
