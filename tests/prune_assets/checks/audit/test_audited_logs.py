"""Compare the claims of a Delta log about files with their rows."""

from __future__ import annotations

import datetime as dt
import json

import pyarrow as pa
import pytest
from delta_tables import delete_rows, write_table

import deltalog
import prune_assets as pr

ROWS = 10
VECTORS = {"delta.enableDeletionVectors": "true"}


@pytest.fixture
def table(tmp_path):
    moment = dt.datetime(2024, 1, 2, 3, 4, 5, 678_999, tzinfo=dt.UTC)
    rows = {
        "id": pa.array(range(ROWS), pa.int64()),
        "name": [f"name {i}" * 20 for i in range(ROWS)],
        "at": pa.array([moment + dt.timedelta(hours=i) for i in range(ROWS)], pa.timestamp("us", "UTC")),
        "x": [float(i) for i in range(ROWS)],
        "n": [None, *range(1, ROWS)],
        "day": pa.array([dt.date(2024, 1, 1)] * ROWS),
    }
    write_table(str(tmp_path / "t"), pa.table(rows), partition_by=["day"], properties=VECTORS)
    return tmp_path / "t"


def edit(table, change):
    """Let `change` edit the statistics of the adds in the first commit."""
    log = table / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            stats = json.loads(action["add"]["stats"])
            change(stats, action["add"])
            action["add"]["stats"] = json.dumps(stats)
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))


def found(table, **options):
    return {finding.code: finding for finding in pr.audit(table, **options).findings}


def test_correct_metadata_pass(table):
    report = pr.audit(table)
    assert not report.findings
    assert report.claims["log_rows"] == 1
    assert report.claims["log_bounds"] == 10
    assert report.claims["log_counts"] == 5


LIES = {
    "min": (lambda stats, _: stats["minValues"].update(id=3), "log_bounds", "`id = 0` and `id < 3`"),
    "max": (lambda stats, _: stats["maxValues"].update(x=8.5), "log_bounds", "`x = 9.0` and `x > 8.5`"),
    "max_of_text": (lambda stats, _: stats["maxValues"].update(name="name 5"), "log_bounds", "claims max 'name 5'"),
    "max_of_time": (
        lambda stats, _: stats["maxValues"].update(at="2024-01-02T12:04:05.677Z"),
        "log_bounds",
        "row 9 holds TIMESTAMP '2024-01-02 12:04:05.678999Z'",
    ),
    "no_nulls": (lambda stats, _: stats["nullCount"].update(n=0), "log_null_count", "`n IS NULL` loses rows"),
    "all_null": (
        lambda stats, _: [stats["nullCount"].update(n=ROWS), stats["minValues"].pop("n"), stats["maxValues"].pop("n")],
        "log_null_count",
        "`n IS NOT NULL` loses rows",
    ),
    "records": (lambda stats, _: stats.update(numRecords=ROWS + 1), "log_rows", "gives it 11 rows, there are 10"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_of_the_log_is_found(table, name):
    lie, code, said = LIES[name]
    edit(table, lie)
    finding = found(table)[code]
    assert finding.severity == "error"
    assert said in finding.message


def test_a_count_that_is_wrong_and_loses_no_row_is_a_warning(table):
    edit(table, lambda stats, _: stats["nullCount"].update(n=4))
    finding = found(table)["log_null_count"]
    assert (finding.severity, "counts 4 null, there are 1" in finding.message) == ("warn", True)
    assert pr.audit(table).is_true


def wider(stats, _):
    stats["minValues"].update(id=-5, name="a", at="2024-01-01T00:00:00.000Z")
    stats["maxValues"].update(id=99, name="zzz", at="2025-01-01T00:00:00.000Z")


def test_bounds_that_are_wider_are_true(table):
    edit(table, wider)
    assert not found(table)


def cut_to_milliseconds(stats, _):
    stats["maxValues"]["at"] = "2024-01-02T12:04:05.678Z"


def test_a_time_that_is_cut_to_milliseconds_is_true(table):
    edit(table, cut_to_milliseconds)
    assert not found(table)


@pytest.mark.parametrize("tight", [True, False])
def test_deleted_rows_count_for_the_file_and_not_for_the_log(table, tight):
    """Bounds may stay those of the whole file, or be tightened to the remaining rows."""
    delete_rows(table, {deltalog.open_snapshot(table).paths()[0]: [0, 9]})
    assert not found(table)
    log = table / "_delta_log" / f"{1:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            stats = json.loads(action["add"]["stats"])
            stats["tightBounds"] = tight
            if tight:
                stats["minValues"].update(id=1, x=1.0)
                stats["maxValues"].update(id=8, x=8.0)
                stats["nullCount"].update(n=0)
            action["add"]["stats"] = json.dumps(stats)
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))
    assert not found(table)


def test_a_live_row_outside_of_the_log_is_found_beside_deleted_ones(table):
    delete_rows(table, {deltalog.open_snapshot(table).paths()[0]: [0, 9]})
    log = table / "_delta_log" / f"{1:020}.json"
    log.write_text(log.read_text().replace('\\"id\\":9', '\\"id\\":7'))
    assert "row 8 holds 8" in found(table)["log_bounds"].message


def test_a_sample_of_row_groups_finds_what_it_can(tmp_path):
    """A sample does not know the row counts of a file, but a null where the log claims none is a contradiction."""
    write_table(str(tmp_path / "t"), pa.table({"n": [None, *range(1, ROWS)]}))
    edit(tmp_path / "t", lambda stats, _: stats["nullCount"].update(n=0))
    assert "log_null_count" in found(tmp_path / "t", sample=0.01)
