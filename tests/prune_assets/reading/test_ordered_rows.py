"""Sorted and limited reads return the same rows as sorting everything, but read few row groups."""

from __future__ import annotations

import functools
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_tables import write_table

import prune_assets as pr
from parquet_core.errors import LayoutError, UnknownColumn, UnsupportedFeature, WrongUse
from parquet_core.layout.sort_key import parse_sort_key
from prune_assets.reading import row_pages

ROWS, FILES = 150, 8


@pytest.fixture(scope="module")
def rows():
    """Rows with ties, nulls, NaN and both zeros."""
    rng = np.random.default_rng(7)
    numbers = rng.normal(size=ROWS * FILES).round(2)
    numbers[rng.random(len(numbers)) < 0.03] = np.nan
    numbers[rng.random(len(numbers)) < 0.03] = -0.0

    def with_nulls(values):
        return [None if gone else value for value, gone in zip(values, rng.random(len(values)) < 0.03, strict=True)]

    return pa.table(
        {
            "id": rng.permutation(len(numbers)),
            "at": pa.array(with_nulls(np.sort(rng.integers(0, 10**15, len(numbers))).tolist()), pa.timestamp("us")),
            "x": with_nulls(numbers.tolist()),
            "name": with_nulls([f"é{i % 37}" for i in range(len(numbers))]),
            "flag": with_nulls([bool(i % 2) for i in range(len(numbers))]),
            "list": [[i] for i in range(len(numbers))],
            "empty": pa.nulls(len(numbers), pa.int32()),
        }
    )


@pytest.fixture(scope="module")
def table(rows, tmp_path_factory):
    place = tmp_path_factory.mktemp("ordered")
    for i in range(FILES):
        part = rows.slice(i * ROWS, ROWS)
        pq.write_table(part, place / f"{i:02}.parquet", row_group_size=60, write_page_index=True, data_page_size=256)
    return str(place)


def _before(key, one, other):
    """Compare two values as Spark sorts: below, at or above 0."""

    def level(value):
        if value is None:
            return 2 if key.nulls_last else -2
        return (-1 if key.descending else 1) if isinstance(value, float) and math.isnan(value) else 0

    levels = level(one) - level(other)
    if levels or level(one):
        return levels
    one, other = (value.encode() if isinstance(value, str) else value for value in (one, other))
    return ((one > other) - (one < other)) * (-1 if key.descending else 1)


def _sorted(rows, order):
    keys = [parse_sort_key(one) for one in order]

    def compare(one, other):
        return next((step for key in keys if (step := _before(key, one[key.column], other[key.column]))), 0)

    return sorted(rows, key=functools.cmp_to_key(compare)), [key.column for key in keys]


ORDERS = [
    ["id"],
    ["id DESC"],
    ["at DESC NULLS FIRST"],
    ["x"],
    ["x DESC"],
    ["x ASC NULLS LAST"],
    ["name", "id DESC"],
    ["flag DESC", "x", "id"],
    ["empty", "id"],
]


@pytest.mark.sampled(9)
@pytest.mark.parametrize("limit", [0, 1, 9, 300, None])
@pytest.mark.parametrize("order", ORDERS, ids=",".join)
@pytest.mark.parametrize("where", ["true", "id % 3 <> 0 OR id > 0 AND name = 'é7'", "at IS NOT NULL AND id < 400"])
def test_rows_come_as_sorting_all_gives_them(table, rows, order, limit, where):
    if "%" in where:
        where = where.replace("id % 3 <> 0", "x > 0.5")
    selected = {
        "true": lambda row: True,
        "x": lambda row: (row["x"] is not None and not row["x"] <= 0.5) or (row["id"] > 0 and row["name"] == "é7"),
        "a": lambda row: row["at"] is not None and row["id"] < 400,
    }[where if where == "true" else where[0]]
    wanted, names = _sorted([row for row in rows.to_pylist() if selected(row)], order)
    found = pr.read_arrow(table, where=where, order_by=order, limit=limit)
    keys = [[_text(row[name]) for name in names] for row in found.to_pylist()]
    assert keys == [[_text(row[name]) for name in names] for row in wanted[:limit]]
    # Rows are complete, and each is returned once.
    by_id = {row["id"]: row for row in rows.to_pylist()}
    assert all(repr(row) == repr(by_id[row["id"]]) for row in found.to_pylist())
    assert len(set(found.column("id").to_pylist())) == len(found)


def _text(value):
    return repr(value + 0.0 if isinstance(value, float) else value)


def test_columns_beside_the_keys_are_those_that_were_asked_for(table):
    assert pr.read_arrow(table, columns=["NAME"], order_by="id", limit=1).column_names == ["name"]


def test_few_row_groups_are_read(table, monkeypatch):
    read = set()
    fetched = row_pages._fetched

    def counting(parts, index):
        read.update(part.file.path for part in parts)
        return fetched(parts, index)

    monkeypatch.setattr(row_pages, "_fetched", counting)
    assert len(pr.read_arrow(table, order_by="at DESC", limit=10)) == 10
    assert len(read) <= 2
    read.clear()
    assert pr.min_max(table, "at", where="at IS NOT NULL")[0] is not None
    assert len(read) <= 2


@pytest.mark.parametrize("column", ["id", "at", "x", "name", "flag", "empty"])
def test_least_and_greatest(table, rows, column):
    values = [row[column] for row in rows.to_pylist() if row["id"] < 600]
    wanted, _ = _sorted([{column: value} for value in values if value is not None], [column])
    least, greatest = pr.min_max(table, column.upper(), where="id < 600")
    ends = (wanted[0][column], wanted[-1][column]) if wanted else (None, None)
    assert (_text(least), _text(greatest)) == tuple(map(_text, ends))


def test_no_row_has_no_least_value(table):
    assert pr.min_max(table, "id", where="id < 0") == (None, None)


def test_partition_columns_and_versions_of_a_delta_table(tmp_path):
    data = pa.table({"day": ["b", "a", None, "a", "c"], "n": [1, 2, 3, 4, 5]})
    write_table(tmp_path / "t", data, partition_by=["day"])
    path = str(tmp_path / "t")
    assert pr.read_arrow(path, order_by=["day DESC", "n"]).column("n").to_pylist() == [5, 1, 2, 4, 3]
    assert pr.read_arrow(path, order_by=["day", "n DESC"], limit=2).column("n").to_pylist() == [3, 4]
    assert pr.min_max(path, "day") == ("a", "c")


def test_stream_has_the_rows_of_the_table(table):
    stream = pr.read_batches(table, where="x > 0", columns=["id", "x"])
    assert stream.schema.names == ["id", "x"]
    batches = list(stream)
    assert len(batches) == FILES * 3, "one for each row group"
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert repr(rows) == repr(pr.read_arrow(table, where="x > 0", columns=["id", "x"]).to_pylist())


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"order_by": "nix"}, UnknownColumn, "nix"),
        ({"order_by": "id NULLS DESC"}, LayoutError, "order_by = 'id NULLS DESC'"),
        ({"order_by": "list"}, UnsupportedFeature, "list"),
        ({"columns": "id", "order_by": "x"}, WrongUse, "give a list"),
        ({"columns": [], "order_by": "x"}, WrongUse, "at least one column"),
    ],
)
def test_wrong_use_is_one_line(table, given, error, text):
    with pytest.raises(error, match=text):
        pr.read_arrow(table, **given)


def test_a_key_of_another_kind_is_refused_by_name(table):
    with pytest.raises(WrongUse, match="order_by is a list of tuple; give a str or a list of str"):
        pr.read_arrow(table, order_by=[("id", "descending")], limit=1)
