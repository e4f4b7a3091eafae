from __future__ import annotations

import json

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_tables import delete_rows, write_table

import deltalog
from prune_assets.dagster import LayoutTable
from tests.deltalog.merge_logs import MERGE, add, log_of, remove


@pytest.fixture
def table(tmp_path):
    for first in range(0, 50, 10):
        write_table(str(tmp_path / "t"), pa.table({"id": range(first, first + 10)}), mode="append")
    return tmp_path / "t"


def evaluate(table, **options):
    """The result of `log_is_healthy`."""
    return LayoutTable("lake/ids", table).log_health_check(**options)()[0]


def test_a_log_that_stands_well_passes(table):
    result = evaluate(table)
    assert (result.passed, result.description) == (True, None)


def test_too_many_commits_fail_it_until_there_is_a_checkpoint(table):
    result = evaluate(table, max_commits=3)
    assert not result.passed
    assert result.description.endswith("each reader replays 5 commits and there is no checkpoint, above the limit of 3")
    deltalog.write_checkpoint(str(table))
    assert evaluate(table, max_commits=3).passed


def test_too_many_small_files_fail_it(table):
    result = evaluate(table, max_small_files=4)
    assert "5 of 5 files are smaller than 32.0 MiB" in result.description
    assert result.metadata["findings"].records[0].data["code"] == "log.small_files"


def test_files_without_statistics_fail_it(table):
    log = table / "_delta_log" / f"{1:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        action.get("add", {}).pop("stats", None)
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))
    assert "1 of 5 files have no statistics" in evaluate(table).description


def test_what_is_no_delta_table_or_gone_fails_it_and_is_named(tmp_path):
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    assert "not a Delta table" in evaluate(tmp_path).description
    assert str(tmp_path / "gone") in evaluate(tmp_path / "gone").description


def test_it_is_a_check_of_the_asset_with_its_severity(table):
    check = LayoutTable("lake/ids", table).log_health_check(
        max_commits=1, blocking=True, severity=dg.AssetCheckSeverity.WARN
    )
    key = dg.AssetKey(["lake", "ids"])
    specs = [(spec.asset_key, spec.name, spec.blocking) for spec in check.check_specs]
    assert specs == [(key, "log_is_healthy", True), (key, "merges_open_few_files", True)]
    assert check()[0].severity is dg.AssetCheckSeverity.WARN


def test_merges_that_open_many_files_are_a_check_of_their_own(tmp_path):
    place = log_of(tmp_path / "t", [MERGE, remove(3), add(20)])
    _, merges = LayoutTable("lake/ids", place).log_health_check()()
    assert (merges.passed, merges.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "1 of the last 1 MERGE on k opened 2.0 KiB and rewrote 100 B: 20 times more" in merges.description


@pytest.fixture
def deleted(tmp_path):
    """A table with 20 rows, two of them deleted."""
    place, enabled = str(tmp_path / "deleted"), {"delta.enableDeletionVectors": "true"}
    for first in (0, 10):
        rows = pa.table({"id": range(first, first + 10)})
        write_table(place, rows, mode="append", properties=None if first else enabled)
    delete_rows(place, {deltalog.open_snapshot(place).paths()[0]: [0, 1]})
    return place


def test_deleted_rows_are_counted_from_the_log(deleted):
    result = LayoutTable("lake/ids", deleted).delete_debt_check(blocking=True)()
    assert (result.passed, result.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "2 of 20 rows (10.0%) are deleted" in result.description
    assert "the job of `LayoutTable.optimize_job`" in result.metadata["remedy"].text
    shown = {key: entry.value for key, entry in result.metadata.items() if key.startswith("prune/")}
    assert shown == {
        "prune/deleted_rows": 2,
        "prune/deleted_share": 0.1,
        "prune/files_with_deletes": 1,
        "prune/files_with_equality_deletes": 0,
        "prune/most_delete_files": 1,
    }


def test_deleted_rows_of_a_table_that_is_gone_or_has_none(table, tmp_path):
    assert LayoutTable("ids", table).delete_debt_check()().passed
    gone = LayoutTable("ids", tmp_path / "gone").delete_debt_check()()
    assert (gone.passed, str(tmp_path / "gone") in gone.description) == (False, True)


def test_files_are_checked_from_their_footers(tmp_path):
    pq.write_table(pa.table({"id": range(9)}), tmp_path / "0.parquet")
    good = LayoutTable("ids", tmp_path).file_health_check()
    few = LayoutTable("ids", tmp_path).file_health_check(max_small_files=0)
    gone = LayoutTable("ids", tmp_path / "gone").file_health_check()
    results = [check() for check in (good, few, gone)]
    assert [result.passed for result in results] == [True, False, False]
    assert "1 of 1 files are smaller" in results[1].description
    assert str(tmp_path / "gone") in results[2].description
