from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.errors import UnknownColumn
from parquet_core.layout.spec import Severity
from prune_assets.tables.file_health import check_files

ROWS = pa.table({"id": range(2_000), "name": [f"n{i}" for i in range(2_000)], "none": pa.nulls(2_000, pa.int32())})


def faults(place, **options):
    return [finding for finding in check_files(place, **options) if finding.severity is not Severity.INFO]


def found(place, **options):
    return {(finding.code, column) for finding in faults(place, **options) for column in finding.columns}


def test_files_with_statistics_are_fine_whatever_is_null_in_them(tmp_path):
    pq.write_table(ROWS, tmp_path / "0.parquet", row_group_size=500)
    assert found(tmp_path) == set()


def test_statistics_that_are_missing_are_counted_by_row_group(tmp_path):
    pq.write_table(ROWS, tmp_path / "0.parquet", row_group_size=500)
    pq.write_table(ROWS, tmp_path / "1.parquet", row_group_size=500, write_statistics=["id", "none"])
    (finding,) = faults(tmp_path)
    assert (finding.code, finding.message) == (
        "statistics.missing",
        "4 of 8 row groups have no bounds, and are not skipped by it",
    )
    assert found(tmp_path, columns=["id"]) == set()


def test_timestamps_as_int96_are_named(tmp_path):
    times = pa.table({"at": pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.UTC)], pa.timestamp("ns"))})
    pq.write_table(times, tmp_path / "0.parquet", use_deprecated_int96_timestamps=True)
    assert found(tmp_path) == {("statistics.int96", "at")}


def test_a_bloom_filter_that_is_too_small_is_told_by_how_often_it_errs(tmp_path):
    for name, ndv in (("small", 30), ("right", 2_000)):
        (tmp_path / name).mkdir()
        options = {"name": {"ndv": ndv, "fpp": 0.01}}
        pq.write_table(ROWS, tmp_path / name / "0.parquet", bloom_filter_options=options)
    assert found(tmp_path / "small") == {("bloom_filter.full", "name")}
    assert found(tmp_path / "right") == set()


def test_small_files_are_counted_of_plain_tables_too(tmp_path):
    for i in range(3):
        pq.write_table(ROWS, tmp_path / f"{i}.parquet")
    (finding,) = faults(tmp_path, max_small_files=2)
    assert finding.message.startswith("3 of 3 files are smaller than 32.0 MiB")


def test_a_column_that_is_not_there_is_refused(tmp_path):
    pq.write_table(ROWS, tmp_path / "0.parquet")
    with pytest.raises(UnknownColumn, match="ids"):
        check_files(tmp_path, columns=["ids"])
