"""Dictionaries read through the index: complete ones have every value, others give a reason."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.opening import read_dataset
from parquet_core.format import dictionary
from parquet_core.format.comparable_values import bounds_type

ROWS = 600


@cache
def sample():
    days = [dt.date(2020, 1, 1) + dt.timedelta(i % 40) for i in range(ROWS)]
    return pa.table(
        {
            "int": pa.array([i % 37 - 18 for i in range(ROWS)], pa.int32()),
            "long": pa.array([None if i % 11 == 0 else (i % 23) << 40 for i in range(ROWS)], pa.int64()),
            "tiny": pa.array([i % 7 - 3 for i in range(ROWS)], pa.int8()),
            "uint": pa.array([2**32 - 1 - i % 5 for i in range(ROWS)], pa.uint32()),
            "double": pa.array([[0.0, -0.0, float("nan"), 1.5][i % 4] for i in range(ROWS)]),
            "word": [f"w{i % 31}" * (i % 3) for i in range(ROWS)],
            "day": pa.array(days, pa.date32()),
            "price": pa.array([Decimal(i % 50).scaleb(-2) for i in range(ROWS)], pa.decimal128(9, 2)),
            "stamp": pa.array(
                [dt.datetime(2021, 1, 1 + i % 9, tzinfo=dt.UTC).replace(tzinfo=None) for i in range(ROWS)],
                pa.timestamp("us"),
            ),
        }
    )


def columns_of(index):
    return {column.name: column for column in index.groups.columns}


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
@pytest.mark.parametrize("page_index", [True, False])
def test_complete_dictionaries_hold_every_value(tmp_path, compression, page_index):
    options = {"row_group_size": 250, "compression": compression, "write_page_index": page_index}
    pq.write_table(sample(), tmp_path / "t.parquet", **options)
    index = read_dataset(tmp_path / "t.parquet")
    positions = np.array([2, 0, 1])
    for name, column in columns_of(index).items():
        found = index.dictionaries.read(column, positions)
        for position, values in zip(positions, found, strict=True):
            assert not isinstance(values, str), (name, values)
            assert values.type == bounds_type(column)
            written = sample().column(name).slice(position * 250, 250).combine_chunks()
            expected = written.drop_null().cast(values.type).unique()
            missing = pc.invert(pc.is_in(expected, value_set=values))
            assert expected.filter(missing).to_pylist() == [], name


def test_neighbours_come_in_one_request(tmp_path):
    pq.write_table(sample().select(["int"]), tmp_path / "t.parquet", row_group_size=100, write_page_index=True)
    index = read_dataset(tmp_path / "t.parquet")
    column = index.groups.columns[0]
    index.page_indexes.locations([column], np.arange(6))
    before = index.groups.traffic.requests
    index.dictionaries.read(column, np.arange(6))
    assert index.groups.traffic.requests - before == 1


def test_a_guess_that_is_too_short_is_made_good(tmp_path, monkeypatch):
    monkeypatch.setattr(dictionary, "GUESS_BYTES", 60)
    words = pa.table({"w": [f"word number {i}" for i in range(100)] * 3})
    pq.write_table(words, tmp_path / "t.parquet", compression="none")
    index = read_dataset(tmp_path / "t.parquet")
    (values,) = index.dictionaries.read(index.groups.columns[0], np.array([0]))
    assert sorted(values.to_pylist()) == sorted({f"word number {i}".encode() for i in range(100)})


def test_what_is_incomplete_or_missing_is_a_reason(tmp_path):
    (tmp_path / "t").mkdir()
    many = pa.table({"a": pa.array(range(20_000), pa.int64())})
    pq.write_table(many, tmp_path / "t/0.parquet", dictionary_pagesize_limit=1000)
    pq.write_table(many, tmp_path / "t/1.parquet", use_dictionary=False)
    pq.write_table(pa.table({"a": ["x", "x"]}), tmp_path / "t/2.parquet")
    pq.write_table(pa.table({"b": [1]}), tmp_path / "t/3.parquet")
    index = read_dataset(tmp_path / "t")
    found = index.dictionaries.read(columns_of(index)["a"], np.arange(4))
    assert all("not dictionary-encoded" in reason for reason in found[:2])
    assert all("lacks the column or stores it as another type" in reason for reason in found[2:])


def test_entries_of_a_narrower_type_become_those_of_the_column(tmp_path):
    (tmp_path / "t").mkdir()
    for i, kind in enumerate((pa.int64(), pa.int8(), pa.int64(), pa.uint32())):
        pq.write_table(pa.table({"a": pa.array([i, i + 2], kind)}), tmp_path / f"t/{i}.parquet")
    index = read_dataset(tmp_path / "t")
    found = index.dictionaries.read(columns_of(index)["a"], np.arange(4))
    assert {values.type for values in found} == {pa.int64()}
    assert [values.to_pylist() for values in found] == [[0, 2], [1, 3], [2, 4], [3, 5]]


def test_values_beyond_the_type_are_not_believed(tmp_path):
    pq.write_table(pa.table({"a": pa.array([5, 300], pa.int32())}), tmp_path / "t.parquet", store_schema=False)
    index = read_dataset(tmp_path / "t.parquet")
    (column,) = index.groups.columns
    assert index.dictionaries.read(column, np.array([0]))[0].to_pylist() == [5, 300]
    narrow = pa.table({"a": pa.array([5, 44], pa.int8())})
    pq.write_table(narrow, tmp_path / "t.parquet", store_schema=False, compression="none")
    data = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(data.replace((44).to_bytes(4, "little"), (300).to_bytes(4, "little"), 1))
    index = read_dataset(tmp_path / "t.parquet")
    assert "its type cannot" in index.dictionaries.read(index.groups.columns[0], np.array([0]))[0]
