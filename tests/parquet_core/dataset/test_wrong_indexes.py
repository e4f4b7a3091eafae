"""Wrong page indexes and counts of known writers lose no rows, and their files are not reported as damaged."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import slow_thrift
from slow_thrift import I32, I64, LIST, STRUCT

import prune_assets as pr
from tests.corrupt_metadata.raw_metadata import RawMetadata
from tests.numbered_cases.cases import CREATED_BY, drop, put, value_of

NULL_COUNT = 3
ROWS = pa.table(
    {
        "id": range(1_000),
        "none": pa.nulls(1_000, pa.int32()),
        "some": [None if i % 10 == 0 else i for i in range(1_000)],
        "name": [f"n{i:04}" for i in range(1_000)],
    }
)
WHERES = {
    "id = 333": [333],
    "some = 501": [501],
    "some IS NULL AND id < 25": [0, 10, 20],
    "none IS NULL AND id = 999": [999],
    "none = 5": [],
    "none IS NOT NULL": [],
    "name IN ('n0007', 'n0998')": [7, 998],
    "id BETWEEN 498 AND 502": [498, 499, 500, 501, 502],
}


@pytest.fixture(params=[True, False], ids=["dictionary", "plain"])
def path(tmp_path, request):
    found = tmp_path / "0.parquet"
    options = {"write_page_index": True, "data_page_size": 200, "write_batch_size": 50, "compression": "snappy"}
    pq.write_table(ROWS, found, row_group_size=500, use_dictionary=request.param, **options)
    return found


def changed(path, change):
    """Apply `change` to the metadata of each chunk."""
    raw = RawMetadata(path.read_bytes())
    for group in range(len(raw.groups)):
        for column in range(raw.width):
            change(raw, group, column)
    path.write_bytes(raw.bytes())


def without_headers(raw, group, column):
    """Make offset indexes omit page headers from sizes, as xitongsys/parquet-go does (its pull request 623)."""
    for page in raw.pages(group, column):
        position = value_of(page, 1)
        header, stop = slow_thrift.parse(raw.body[position : position + 4096])
        assert value_of(page, 2) == stop + value_of(header, 3)
        put(page, 2, I32, value_of(header, 3))


def without_pages(raw, group, column):
    """Have the offset index of the column of nulls list no page, as arrow-rs 42.0.0 did (arrow-rs#4459)."""
    index = raw.offset_index(group, column)
    if column == 1:
        put(index, 1, LIST, (STRUCT, []))


def without_any_pages(raw, group, column):
    without_pages(raw, group, column)
    if column == 1:
        index = raw.column_index(group, column)
        for number, wire in ((1, slow_thrift.TRUE), (2, slow_thrift.BINARY), (3, slow_thrift.BINARY), (5, I64)):
            put(index, number, LIST, (wire, []))


def unknown_counts(raw, group, column):
    """Set unknown null counts to -1, as arrow-go does (arrow-go#489)."""
    put(raw.statistics(group, column), NULL_COUNT, I64, -1)


def unknown_counts_of_pages(raw, group, column):
    unknown_counts(raw, group, column)
    index = raw.column_index(group, column)
    put(index, 5, LIST, (I64, [-1] * len(value_of(index, 1)[1])))


@pytest.mark.parametrize(
    "change", [without_headers, without_pages, without_any_pages, unknown_counts, unknown_counts_of_pages]
)
def test_no_row_is_lost_and_no_file_is_damaged(path, change):
    changed(path, change)
    table = str(path)
    for where, expected in WHERES.items():
        # The other columns are read where pages of both row groups are.
        names = None if "BETWEEN" in where else ["id"]
        assert pr.read_arrow(table, where=where, columns=names)["id"].to_pylist() == expected, where
        assert pr.count(table, where=where) == len(expected), where
    assert pr.read_arrow(table, where="id >= 0") == ROWS
    audited = pr.audit(table).findings
    assert [finding for finding in audited if finding.severity == "error"] == []
    assert not any("damaged" in finding.message for finding in (*audited, *pr.check(table)))


def test_row_groups_are_still_skipped(path):
    changed(path, unknown_counts)
    (file,) = pr.plan(str(path), where="id = 333").files
    assert [group.verdict for group in file.row_groups] == ["selection", "skip"]
    changed(path, without_headers)
    (file,) = pr.plan(str(path), where="id = 333").files
    assert [group.verdict for group in file.row_groups] == ["selection", "skip"]


def test_a_null_that_the_writer_left_out_of_its_count_is_found(path):
    """xitongsys/parquet-go 1.6.2 omits a null from the count if it is the first value of a page."""

    def change(raw, group, column):
        put(raw.footer, CREATED_BY, slow_thrift.BINARY, b"parquet-go version latest")
        statistics = raw.statistics(group, column)
        put(statistics, NULL_COUNT, I64, max(0, value_of(statistics, NULL_COUNT) - 50))
        drop(raw.column_index(group, column), 5)

    changed(path, change)
    assert pr.count(str(path), where="some IS NULL") == 100
    assert pr.count(str(path), where="some IS NOT NULL") == 900
    (file,) = pr.plan(str(path), where="some = 501").files
    assert [group.verdict for group in file.row_groups] == ["skip", "selection"]
