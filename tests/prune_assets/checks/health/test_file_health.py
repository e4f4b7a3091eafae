from __future__ import annotations

import datetime as dt
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.errors import UnknownColumn
from parquet_core.layout.spec import Severity
from prune_assets.checks.health.file_health import ExaminedFiles, check_footers
from prune_assets.checks.health.health import check_files
from prune_assets.tables.opening import open_as_written

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
        "4 of 8 row groups have no bounds, so no predicate on it skips them",
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


def test_a_column_that_is_null_in_a_whole_row_group_lacks_no_bounds(tmp_path):
    pq.write_table(pa.table({"x": [None] * 10 + list(range(10))}), tmp_path / "0.parquet", row_group_size=10)
    assert found(tmp_path) == set()


def test_floats_that_hold_nan_are_noted(tmp_path):
    pq.write_table(pa.table({"x": [math.nan] * 10 + [1.0] * 10}), tmp_path / "0.parquet", row_group_size=10)
    (finding,) = (finding for finding in check_files(tmp_path) if finding.code == "statistics.missing")
    assert (finding.severity, finding.columns) == (Severity.INFO, ("x",))
    assert finding.message.startswith("1 of 2 row groups have no bounds")
    assert "NaN" in finding.message
    assert "nullif(x" in finding.remedy


def test_nanoseconds_are_named_with_what_writes_microseconds(tmp_path):
    at = pa.array([1, 2], pa.timestamp("ns"))
    times = pa.table(
        {"at": at, "fine": at.cast(pa.timestamp("us"), safe=False), "zoned": at.cast(pa.timestamp("ns", "UTC"))}
    )
    pq.write_table(times, tmp_path / "0.parquet")
    (finding,) = faults(tmp_path)
    assert (finding.code, finding.severity, finding.columns) == (
        "statistics.nanoseconds",
        Severity.WARN,
        ("at", "zoned"),
    )
    by_writer = "coerce_timestamps='us', allow_truncated_timestamps=True in pandas and pyarrow"
    prune_write = "prune write TABLE NEW_TABLE --layout layout.yaml"
    assert finding.remedy == f"write microseconds: {prune_write}, or {by_writer}"
    nested = pa.table({"s": pa.array([{"at": 1}], pa.struct({"at": pa.timestamp("ns")}))})
    pq.write_table(nested, tmp_path / "0.parquet")
    (finding,) = faults(tmp_path)
    assert finding.remedy == f"write microseconds: {by_writer}", "Spark has no way to read it"
    pq.write_table(times, tmp_path / "0.parquet", coerce_timestamps="us", allow_truncated_timestamps=True)
    assert faults(tmp_path) == []


def test_small_files_that_are_alone_in_their_partitions_are_not_to_be_merged(tmp_path):
    for i in range(12):
        (tmp_path / f"p={i}").mkdir()
        pq.write_table(pa.table({"id": [i]}), tmp_path / f"p={i}" / "1.parquet")
    (finding,) = (one for one in faults(tmp_path, max_small_files=5) if one.code == "files.small")
    assert finding.remedy.startswith("partition by a column with fewer values, or do not partition: prune write ")


@pytest.mark.parametrize(
    ("files", "partitions", "severities"),
    [(10, 1, []), (11, 1, ["warn"]), (40, 1, ["warn"]), (30, 30, []), (39, 30, []), (40, 30, ["warn"])],
)
def test_many_small_files_are_a_warning_where_they_could_be_merged(tmp_path, files, partitions, severities):
    for i in range(files):
        place = tmp_path / f"p={i % partitions}"
        place.mkdir(exist_ok=True)
        pq.write_table(pa.table({"id": [i]}), place / f"{i}.parquet")
    small = [finding for finding in check_files(tmp_path) if finding.code == "files.small"]
    assert [finding.severity for finding in small] == severities
    merge = "merge them: prune optimize TABLE --layout layout.yaml"
    assert all(finding.remedy == (merge if finding.severity == "warn" else "") for finding in small)
    assert not [finding for finding in faults(tmp_path, max_small_files=files) if finding.code == "files.small"]


def test_a_missing_page_index_matters_where_a_row_group_has_several_pages(tmp_path):
    for part in range(2):
        rows = pa.table({"id": range(part * 20_001, (part + 1) * 20_001), "x": [1.5] * 20_001})
        pq.write_table(rows, tmp_path / f"{part}.parquet", row_group_size=20_000)
    (small,) = check_files(tmp_path)
    assert (small.code, small.severity) == ("page_index.absent", Severity.INFO)
    for part in range(2):
        rows = pq.read_table(tmp_path / f"{part}.parquet")
        pq.write_table(rows, tmp_path / f"{part}.parquet", row_group_size=20_001)
    (finding,) = faults(tmp_path)
    assert (finding.code, finding.severity) == ("page_index.absent", Severity.WARN)
    assert finding.message == "no page index in any of 2 files (2 columns: id, x)"
    pq.write_table(rows, tmp_path / "1.parquet", write_page_index=True)
    (finding,) = faults(tmp_path)
    assert finding.message.startswith("no page index in 1 of 2 files")


def scattered(count):
    return [i * 7919 % count for i in range(count)]


def test_a_table_that_no_column_clusters_is_told_by_its_best_column(tmp_path):
    rows = pa.table({"a": scattered(2_000), "b": scattered(2_000)[::-1]})
    pq.write_table(rows, tmp_path / "0.parquet", row_group_size=100)
    (finding,) = faults(tmp_path)
    assert (finding.code, finding.severity) == ("files.clustering", Severity.WARN)
    assert finding.message.startswith(
        "row groups overlap no less on a than on other columns: an equality on it reads 20.0"
    )
    assert "of 20 row groups on average" in finding.message
    pq.write_table(rows.sort_by("b"), tmp_path / "0.parquet", row_group_size=100)
    assert faults(tmp_path) == []
    (fine,) = (finding for finding in check_files(tmp_path) if finding.code == "files.clustering")
    assert fine.message == (
        "row groups overlap less on b than on other columns: an equality on it reads 1.0 of 20 row groups on average"
    )


def test_no_column_is_praised_that_overlaps_as_all_others_do(tmp_path):
    pq.write_table(pa.table({"a": range(2_000), "b": range(2_000)}), tmp_path / "0.parquet", row_group_size=100)
    assert [each for each in check_files(tmp_path) if each.code == "files.clustering"] == []


def test_columns_that_the_log_clusters_by_are_held_to_it(tmp_path):
    rows = pa.table({"a": scattered(2_000), "b": range(2_000)})
    pq.write_table(rows, tmp_path / "0.parquet", row_group_size=100)
    opened = open_as_written(tmp_path)
    index, partition = opened.format.examination().read_partitioned(opened)
    said = {
        column: [each for each in check_footers(files) if each.columns == ("a",)]
        for column in ("a", "b")
        for files in [ExaminedFiles(name="t", index=index, partition=partition, clustered_by=[column])]
    }
    assert [(each.code, each.severity) for each in said["a"] if each.severity is not Severity.INFO] == [
        ("files.clustering", Severity.WARN)
    ]
    assert [each for each in said["b"] if each.code == "files.clustering"] == []


@pytest.mark.parametrize("name", ["0.parquet", "9.parquet"])
def test_a_file_that_shares_no_column_with_the_others_is_named(tmp_path, name):
    """The first file decides on the schema; the others are the table all the same."""
    for i in (1, 2):
        pq.write_table(ROWS, tmp_path / f"{i}.parquet")
    pq.write_table(pa.table({"Name": ["a"], "more": [1]}), tmp_path / "3.parquet")
    pq.write_table(pa.table({"more": [1]}), tmp_path / "4.parquet")  # of the table by what 3 shares with it
    assert "files.foreign" not in {finding.code for finding in faults(tmp_path)}
    pq.write_table(pa.table({"other": [1]}), tmp_path / name)
    (finding,) = [finding for finding in faults(tmp_path) if finding.code == "files.foreign"]
    assert (finding.location, finding.message) == (name, "shares no column with the other 4 files")
    assert finding.severity is Severity.WARN


def test_columns_that_the_schema_lacks_are_named(tmp_path):
    one = {"id": range(9), "of": [{"a": 1}] * 9, "many": [[1]] * 9}
    more = {"ID": range(9), "of": [{"a": 1, "b": 2}] * 9, "many": [[1]] * 9, "new": ["x"] * 9, "pair": [{"p": 1}] * 9}
    pq.write_table(pa.table(one), tmp_path / "1.parquet")
    pq.write_table(pa.table(more).slice(0, 0), tmp_path / "2.parquet")
    assert "files.extra_column" not in {finding.code for finding in check_files(tmp_path)}, "no row has them"
    pq.write_table(pa.table(more), tmp_path / "3.parquet")
    pq.write_table(pa.table(more).drop_columns(["of"]), tmp_path / "4.parquet")
    found = [finding for finding in faults(tmp_path) if finding.code == "files.extra_column"]
    assert sorted((finding.location, *finding.columns) for finding in found) == [
        ("3.parquet", "of.b"),
        ("3.parquet (and 1 more file)", "new"),
        ("3.parquet (and 1 more file)", "pair"),
    ]
    assert {finding.severity for finding in found} == {Severity.WARN}


def test_files_that_a_log_names_are_of_its_table_whatever_they_share(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(str(tmp_path), pa.table({"a": [1]}))
    deltalake.write_deltalake(str(tmp_path), pa.table({"b": [1]}), mode="append", schema_mode="merge")
    assert not {"files.foreign", "files.extra_column"} & {finding.code for finding in check_files(tmp_path)}
