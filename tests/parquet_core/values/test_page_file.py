"""Chosen rows of single pages: the values that pyarrow gives for the same rows of the whole file."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import MalformedFile, StaleTable, UnsupportedFeature, WrongUse
from prune_assets.reading.arrow_scan import scan_of

ROWS = 3_000
FORMS = {
    "plain": {"use_dictionary": False, "compression": "none"},
    "dictionary": {"compression": "snappy"},
    "version 2": {"data_page_version": "2.0", "compression": "zstd"},
    "checksums": {"write_page_checksum": True, "compression": "gzip"},
    "brotli": {"compression": "brotli"},
    "without page index": {"write_page_index": False},
}


@cache
def table():
    chance = random.Random(5)

    def some(value):
        return [None if chance.random() < 0.2 else value(i) for i in range(ROWS)]

    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "small": pa.array(some(lambda i: i % 100), pa.int8()),
            "half": pa.array(some(lambda i: i / 2), pa.float64()),
            "flag": some(lambda i: i % 3 == 0),
            "text": some(lambda i: f"text {i % 50}" * (i % 4)),
            "bytes": pa.array(some(lambda i: bytes([i % 256])), pa.binary()),
            "day": some(lambda i: dt.date(2020, 1, 1) + dt.timedelta(i)),
            "at": pa.array(some(lambda i: i * 1_000_003), pa.timestamp("us", "UTC")),
            "local": pa.array(some(lambda i: i * 1_003), pa.timestamp("ms")),
            "price": pa.array(some(lambda i: Decimal(i) / 100), pa.decimal128(9, 2)),
            "total": pa.array(some(lambda i: Decimal(-i) / 100), pa.decimal128(30, 2)),
            "list": some(lambda i: list(range(i % 5))),
            "pair": some(lambda i: {"a": i, "b": None if i % 7 == 0 else str(i)}),
            "map": pa.array(some(lambda i: [(str(i), i)] * (i % 3)), pa.map_(pa.string(), pa.int64())),
            "deep": some(lambda i: [{"x": i, "y": [str(i)] * (i % 3)}] * (i % 4)),
        }
    )


@pytest.fixture(scope="module", params=FORMS)
def written(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "t.parquet"
    options = {"write_page_index": True, "row_group_size": 1_100, "data_page_size": 600, "write_batch_size": 64}
    pq.write_table(table(), path, **{**options, **FORMS[request.param]})
    return str(path)


@cache
def rows_of_table():
    """The rows, once as values that predicates are evaluated on."""
    return table().to_pylist()


@pytest.fixture(scope="module")
def rows_of_pyarrow(written):
    rows = pq.read_table(written)
    assert rows == table()
    return rows


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "where",
    [
        "true",
        "id = 1234",
        "id BETWEEN 1090 AND 1110 OR id = 2999 OR id < 3",
        "small = 7 AND id > 500",
        "text = 'text 9' AND half > 100",
        "pair.a = 600",
        "flag IS NULL",
        "id > 5000",
    ],
)
def test_rows_are_those_that_pyarrow_reads_and_filters(written, rows_of_pyarrow, where):
    found = pr.read_arrow(written, where=where)
    tests = {
        "true": lambda row: True,
        "id = 1234": lambda row: row["id"] == 1234,
        "id BETWEEN 1090 AND 1110 OR id = 2999 OR id < 3": lambda row: (
            1090 <= row["id"] <= 1110 or row["id"] == 2999 or row["id"] < 3
        ),
        "small = 7 AND id > 500": lambda row: row["small"] == 7 and row["id"] > 500,
        "text = 'text 9' AND half > 100": lambda row: (
            row["text"] == "text 9" and row["half"] is not None and row["half"] > 100
        ),
        "pair.a = 600": lambda row: row["pair"] is not None and row["pair"]["a"] == 600,
        "flag IS NULL": lambda row: row["flag"] is None,
        "id > 5000": lambda row: False,
    }
    numbers = pa.array([i for i, row in enumerate(rows_of_table()) if tests[where](row)], pa.int64())
    wanted = rows_of_pyarrow.take(numbers).cast(found.schema)
    assert found == wanted
    assert pr.count(written, where=where) == len(wanted)
    assert pr.count(written, where=where, limit=1) == min(1, len(wanted))
    assert pr.read_arrow(written, where=where, limit=4) == wanted[:4]


def test_columns_are_read_alone_in_the_order_of_their_names(written):
    found = pr.read_arrow(written, where="id = 40", columns=["deep", "ID"])
    assert (found.column_names, found["id"].to_pylist()) == (["deep", "id"], [40])


def test_a_damaged_page_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": range(5_000)}), path, write_page_checksum=True, use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[5_000] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(MalformedFile, match=r"t\.parquet"):
        pr.read_arrow(path)


def test_fewer_bytes_are_read_than_the_row_group_has(tmp_path):
    path = tmp_path / "t.parquet"
    rows = pa.table({"id": range(200_000), "text": [f"{i:064d}" for i in range(200_000)]})
    pq.write_table(rows, path, write_page_index=True, use_dictionary=False, compression="none", data_page_size=20_000)
    planned = pr.plan(path, where="id = 150000")
    scan = scan_of(planned, ("text",))
    assert [one.to_pylist() for one in scan.tables(scan.kept())] == [[{"text": f"{150_000:064d}"}]]
    assert 0 < planned.index.groups.traffic.bytes["rows"] < 150_000


def test_a_file_that_changed_since_the_plan_is_noticed(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": range(50)}), path)
    planned = pr.plan(path, where="id = 5")
    pq.write_table(pa.table({"id": range(60, 70)}), path)
    scan = scan_of(planned, ("id",))
    with pytest.raises(StaleTable, match=r"t\.parquet: changed since it was planned"):
        list(scan.tables(scan.kept()))


FIRST = pa.table({"id": [1], "list": [[1, 2]], "pair": [{"a": 1}]})


@pytest.mark.parametrize(
    ("second", "options", "column"),
    [
        (pa.table({"id": [2], "list": [["3"]], "pair": [{"a": 2}]}), {"use_compliant_nested_type": False}, "list"),
        (pa.table({"id": [2], "list": [[3]], "pair": [{"c": 2}]}), {}, "pair"),
    ],
    ids=["other entries of a list", "other fields of a struct"],
)
def test_a_nested_column_in_another_shape_is_refused_not_null(tmp_path, second, options, column):
    pq.write_table(FIRST, tmp_path / "0.parquet")
    pq.write_table(second, tmp_path / "1.parquet", **options)
    with pytest.raises(UnsupportedFeature, match=f"column '{column}'.*let Spark read it"):
        pr.read_arrow(tmp_path)
    assert pr.read_arrow(tmp_path, columns=["id"])["id"].to_pylist() == [1, 2]


def test_a_nested_column_that_a_file_lacks_is_null(tmp_path):
    pq.write_table(FIRST, tmp_path / "0.parquet")
    pq.write_table(FIRST.select(["id"]), tmp_path / "1.parquet")
    assert pr.read_arrow(tmp_path)["list"].to_pylist() == [[1, 2], None]


@pytest.mark.parametrize(("arguments", "said"), [({"limit": 1.5}, "limit=1.5"), ({"columns": []}, "pr.count")])
def test_wrong_arguments_are_named(tmp_path, arguments, said):
    pq.write_table(FIRST, tmp_path / "0.parquet")
    with pytest.raises(WrongUse, match=said):
        pr.read_arrow(tmp_path, **arguments)


def test_an_offset_index_that_counts_rows_wrongly_is_noticed(tmp_path):
    path = str(tmp_path / "t.parquet")
    rows = pa.table({"id": range(2_000), "text": [f"{i:04d}" for i in range(2_000)]})
    pq.write_table(rows, path, write_page_index=True, use_dictionary=False, data_page_size=500, write_batch_size=50)
    planned = pr.plan(path, where="id = 700")
    text = next(column for column in planned.index.groups.columns if column.path == ("text",))
    (offsets,) = planned.index.page_indexes.locations([text], np.array([0]))
    # Pages of 124 rows and 126 where each has 125: their sum is right.
    offsets.first_row[1::2] -= 1
    scan = scan_of(planned, ("text",))
    with pytest.raises(MalformedFile, match="rows, not the"):
        list(scan.tables(scan.kept()))
