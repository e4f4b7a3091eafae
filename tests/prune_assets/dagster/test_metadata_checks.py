from __future__ import annotations

import dagster as dg
import pytest

from parquet_core.errors import WrongUse
from prune_assets.dagster import LayoutTable
from tests.corrupt_metadata.corrupt_file import planted, write_correct
from tests.corrupt_metadata.corruptions import CONTRADICTIONS, UNSEEN


@pytest.fixture
def correct(tmp_path):
    path = tmp_path / "correct.parquet"
    write_correct(path)
    return path


def evaluate(table, **options):
    (result,) = LayoutTable("lake/ids", table).statistics_truth_check(**{"sample": 1.0, **options})()
    return result


def test_a_table_that_tells_the_truth_passes_with_the_number_of_claims(correct):
    result = evaluate(correct)
    assert (result.passed, result.description) == (True, None)
    assert result.metadata["prune/claims"].value == 400
    assert result.metadata["prune/audited_rows"].value == 400


def test_a_wrong_claim_fails_the_check_and_is_shown(correct, tmp_path):
    planted(correct, tmp_path / "corrupt.parquet", UNSEEN["bounds_of_another_row_group"], "n")
    result = evaluate(tmp_path / "corrupt.parquet")
    assert (result.passed, result.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert result.description.startswith("corrupt.parquet, row group 1, column n: the row group claims ")
    assert result.metadata["prune/wrong_claims"].value == 1
    assert result.metadata["findings"].records[0].data["code"] == "row_group_bounds"


def test_what_is_wrong_and_not_relied_on_fails_nothing(correct, tmp_path):
    planted(correct, tmp_path / "t.parquet", CONTRADICTIONS["min_above_max"], "n")
    result = evaluate(tmp_path / "t.parquet")
    assert result.passed
    assert result.metadata["findings"].records[0].data["code"] == "not_relied_on.row_group_statistics"


def test_a_table_that_is_gone_fails_its_check_and_is_named(tmp_path):
    result = evaluate(tmp_path / "gone")
    assert not result.passed
    assert str(tmp_path / "gone") in result.description


def test_the_check_is_one_of_the_asset_and_may_block(correct):
    check = LayoutTable("lake/ids", correct).statistics_truth_check(blocking=True)
    (spec,) = check.check_specs
    assert (spec.asset_key, spec.name, spec.blocking) == (dg.AssetKey(["lake", "ids"]), "metadata_consistency", True)


def test_a_share_that_is_none_is_refused_at_once(correct):
    with pytest.raises(WrongUse, match="above 0 and up to 1"):
        LayoutTable("ids", correct).statistics_truth_check(sample=10)
