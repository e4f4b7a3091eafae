"""Deleted rows of Delta tables and Iceberg manifests: shares, thresholds, and the metadata that is read."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pytest
from delta_tables import delete_rows, write_table

import deltalog
import parquet_core.dataset.opening as footers
import prune_assets as pr
from prune_assets.checks.health.deletes import check_debt
from prune_assets.checks.health.health import check_deletes
from prune_assets.tables.delete_debt import DeleteDebt
from tests.deltalog.golden import GOLDEN, MISSING

ENABLED = {"delta.enableDeletionVectors": "true"}


def delta(place, deleted, rows=100):
    """Create a table with one file per entry of `deleted`, with that many rows deleted by a deletion vector."""
    for i in range(len(deleted)):
        ids = pa.table({"id": range(i * rows, (i + 1) * rows)})
        write_table(place, ids, mode="append", properties=None if i else ENABLED)
    snapshot = deltalog.open_snapshot(place)
    by_first = sorted(snapshot.paths(), key=lambda path: int(pr.read_arrow(place / path)["id"][0].as_py()))
    gone = {path: range(count) for path, count in zip(by_first, deleted, strict=True) if count}
    delete_rows(place, gone)
    return place


def found(place):
    return [(each.code, each.severity.value) for each in check_deletes(place)[1]]


@pytest.mark.parametrize(
    ("deleted", "severity"),
    [([5, 0], "info"), ([5, 5], "info"), ([12, 0], "warn"), ([30, 30], "warn"), ([31, 31], "error")],
)
def test_the_share_of_deleted_rows_decides_the_severity(tmp_path, deleted, severity):
    assert found(delta(tmp_path, deleted)) == [("deletes.rows", severity)]


def test_the_finding_names_the_files_with_the_most_deleted_rows(tmp_path):
    delta(tmp_path, [50, 20, 3, 0])
    debt, (finding,) = check_deletes(tmp_path)
    assert (debt.deleted_rows, debt.all_rows, sorted(debt.shares().tolist())) == (73, 400, [0, 0.03, 0.2, 0.5])
    assert finding.message.startswith(
        "73 of 400 rows (18.2%) are deleted, in 3 of 4 files, 2 of them with more than 5%"
    )
    worst = [debt.path(int(i)) for i in debt.shares().argsort()[::-1][:2]]
    assert f"(most: {worst[0]} 50%, {worst[1]} 20%)" in finding.message
    assert "prune optimize TABLE --layout layout.yaml" in finding.remedy


def test_a_table_without_deletes_has_no_finding(tmp_path):
    write_table(tmp_path, pa.table({"id": range(10)}))
    assert found(tmp_path) == []


def test_plain_files_have_no_deletes(tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": [1]}), tmp_path / "0.parquet")
    assert check_deletes(tmp_path) == (None, [])


def test_no_data_file_is_opened(tmp_path, monkeypatch):
    delta(tmp_path, [50])
    monkeypatch.setattr(footers, "read_logged", None)
    for path in tmp_path.glob("*.parquet"):
        path.unlink()
    assert found(tmp_path) == [("deletes.rows", "error")]


def test_the_check_without_a_layout_reports_it_and_optimize_applies_what_it_names(tmp_path):
    delta(tmp_path, [40, 6, 3])
    (finding,) = (each for each in pr.check(tmp_path) if each.code == "deletes.rows")
    assert finding.severity.value == "warn"
    forecast = pr.optimize(tmp_path, layout=pr.LayoutSpec(files=3), dry_run=True)
    assert "2 of them with more than 5%" in finding.message
    assert forecast.reasons["deleted rows"] == 2


@pytest.mark.skipif(not GOLDEN.is_dir(), reason=MISSING)
@pytest.mark.parametrize(
    ("name", "deleted", "rows", "files"),
    [("table-with-dv-small", 2, 10, 1), ("dv-partitioned-with-checkpoint", 2, 37, 15), ("table_a", 0, None, None)],
)
def test_tables_of_delta_spark(tmp_path, name, deleted, rows, files):
    shutil.copytree(GOLDEN / name, tmp_path / name)
    debt, findings = check_deletes(tmp_path / name)
    assert debt.deleted_rows == deleted
    assert [each.code for each in findings] == ["deletes.rows"] * bool(deleted)
    if rows is not None:
        assert (debt.all_rows, len(debt.rows)) == (rows, files)


def debt(**numbers):
    """The debt of two files of 100 rows."""
    import numpy as np

    arrays = dict.fromkeys(("deleted", "delete_files", "equality_files"), (0, 0)) | {"rows": (100, 100)}
    options = {name: numbers.pop(name) for name in ("shared", "is_exact") if name in numbers}
    found = {name: np.array(values, np.int64) for name, values in (arrays | numbers).items()}
    return DeleteDebt(**found, **options, path=["a.parquet", "b.parquet"].__getitem__)


@pytest.mark.parametrize(("count", "severity"), [(9, None), (10, "warn"), (99, "warn"), (100, "error")])
def test_delete_files_of_one_data_file_are_counted(count, severity):
    findings = list(check_debt("t", debt(delete_files=(count, 1))))
    assert [(each.code, each.severity.value) for each in findings] == [("deletes.files", severity)] * bool(severity)


def test_equality_deletes_are_always_reported():
    (finding,) = check_debt("t", debt(equality_files=(0, 3)))
    assert (finding.code, finding.severity.value) == ("deletes.equality", "warn")
    assert "1 of 2 files have equality deletes, up to 3 a file" in finding.message


def test_rows_that_delete_files_may_repeat_are_an_upper_bound():
    counted = debt(delete_files=(1, 1), deleted=(7, 0), shared=20, is_exact=False)
    (finding,) = check_debt("t", counted)
    assert finding.message.startswith("at most 27 of 200 rows (13.5%) are deleted, in 2 of 2 files; ")


def test_counts_beyond_the_rows_are_all_rows_and_unknown_rows_are_no_share():
    (finding,) = check_debt("t", debt(delete_files=(1, 1), shared=9_999, is_exact=False))
    assert "at most 200 of 200 rows (100.0%)" in finding.message
    unknown = debt(delete_files=(1, 0), deleted=(7, 0), rows=(-1, -1))
    (finding,) = check_debt("t", unknown)
    assert (unknown.share, unknown.shares().tolist(), finding.severity.value) == (0.0, [0, 0], "info")
    assert finding.message.startswith("7 rows are deleted, in 1 of 2 files")
    assert list(check_debt("t", None)) == []
