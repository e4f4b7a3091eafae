from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

import prune_assets as pr
from prune_assets import Finding, Severity
from prune_assets.cli import main
from prune_assets.cli.audit import audit_text
from tests.corrupt_metadata.corrupt_file import planted, write_correct
from tests.corrupt_metadata.corruptions import UNSEEN


@pytest.fixture
def correct(tmp_path):
    path = tmp_path / "correct.parquet"
    write_correct(path)
    return path


@pytest.fixture
def corrupt(correct, tmp_path):
    planted(correct, tmp_path / "corrupt.parquet", UNSEEN["bounds_of_another_row_group"], "n")
    return tmp_path / "corrupt.parquet"


def prune(*arguments):
    return CliRunner().invoke(main, ["audit", *map(str, arguments)])


def test_what_is_true_ends_in_0_and_says_what_was_looked_at(correct):
    result = prune(correct)
    assert result.exit_code == 0
    first, _, read, held = result.output.splitlines()
    assert first == f"{correct}: all verified metadata is correct"
    assert read.startswith("read: 4 of 4 row groups in 1 of 1 file, 400 rows, ")
    assert "32 row group bounds" in held


def test_a_wrong_claim_ends_in_1_and_is_shown(corrupt):
    result = prune(corrupt)
    assert result.exit_code == 1
    assert "row_group_bounds" in result.output
    assert "error (1)" in result.output


def test_json_has_every_finding(corrupt):
    result = prune(corrupt, "--json")
    report = json.loads(result.output)
    assert (result.exit_code, report["schema"], report["findings"][0]["severity"]) == (1, "audit/1", "error")
    assert report["claims"]["page_rows"] == 80


@pytest.mark.parametrize(("fail_on", "code"), [("warn", 1), ("error", 0)])
def test_what_is_wrong_and_not_relied_on_fails_where_it_is_asked_for(correct, tmp_path, fail_on, code):
    from tests.corrupt_metadata.corruptions import CONTRADICTIONS

    planted(correct, tmp_path / "t.parquet", CONTRADICTIONS["min_above_max"], "n")
    assert prune(tmp_path / "t.parquet", "--fail-on", fail_on).exit_code == code


def test_a_part_of_a_table_is_read_when_it_is_asked_for(corrupt):
    assert prune(corrupt, "--sample", "0.25").exit_code == 0, "the first row group tells the truth"
    assert prune(corrupt, "--columns", "a, d").exit_code == 0
    assert prune(corrupt, "--columns", "a,n", "--files", "1").exit_code == 1


@pytest.mark.parametrize("arguments", [["--files", "0"], ["--columns", "no_such"]])
def test_wrong_use_ends_in_2(correct, arguments):
    result = prune(correct, *arguments)
    assert (result.exit_code, result.output.startswith("error: ")) == (2, True)


def test_a_share_is_a_fraction_or_in_percent(corrupt):
    result = prune(corrupt, "--sample", "2")
    assert (result.exit_code, result.output.endswith("'2' is no share from 0 to 1; for 90 % write 0.9 or 90%\n")) == (
        2,
        True,
    )
    assert prune(corrupt, "--sample", "25%").exit_code == 0, "the first row group tells the truth"


def test_notes_alone_leave_the_metadata_correct(tmp_path):
    table = pa.table({"x": pa.array([1.0, 2.0, None]), "s": ["a", "b", "c"]})
    pq.write_table(table, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    report = pr.audit(tmp_path / "t.parquet")
    noted = replace(report, findings=(Finding("unreadable", Severity.INFO, "t.parquet", "a note"),))
    lines = audit_text(noted).splitlines()
    assert lines[0] == f"{tmp_path / 't.parquet'}: all verified metadata is correct"
    assert "a note" in audit_text(noted)
    wrong = replace(report, findings=(Finding("dictionary", Severity.WARN, "t.parquet", "wrong", "rewrite"),))
    assert "is correct" not in audit_text(wrong)
