"""Metadata compared with values: files of several writers, whose values are read by pyarrow."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from functools import cache

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chunk_facts import chunk_at

from parquet_core.bloom import hash_values, may_contain
from parquet_core.dataset.opening import read_dataset

ROWS = 3_000


@cache
def sample(seed=1):
    """Return a table with every supported type, with nulls, extremes and odd strings."""
    chance = random.Random(seed)

    def column(make, arrow_type):
        return pa.array([None if chance.random() < 0.1 else make() for _ in range(ROWS)], arrow_type)

    words = ["", "a", "zebra", "é", "\U0001f680", "x" * 200, "\x00"]
    return pa.table(
        {
            "tiny": column(lambda: chance.randint(-128, 127), pa.int8()),
            "small": column(lambda: chance.randint(-(2**15), 2**15 - 1), pa.int16()),
            "int": column(lambda: chance.choice([-(2**31), 2**31 - 1, chance.randint(-99, 99)]), pa.int32()),
            "long": column(lambda: chance.choice([-(2**63), 2**63 - 1, chance.randint(-(10**6), 10**6)]), pa.int64()),
            "uint": column(lambda: chance.choice([0, 2**32 - 1, chance.randint(0, 99)]), pa.uint32()),
            "ulong": column(lambda: chance.choice([0, 2**64 - 1, chance.randint(0, 99)]), pa.uint64()),
            "day": column(lambda: dt.date(1970, 1, 1) + dt.timedelta(chance.randint(-30_000, 30_000)), pa.date32()),
            "price": column(lambda: Decimal(chance.randint(-(10**6), 10**6)).scaleb(-2), pa.decimal128(9, 2)),
            "total": column(lambda: Decimal(chance.randint(-(10**16), 10**16)).scaleb(-4), pa.decimal128(18, 4)),
            "huge": column(lambda: Decimal(chance.randint(-(10**27), 10**27)).scaleb(-3), pa.decimal128(30, 3)),
            "word": column(lambda: chance.choice(words) + str(chance.randint(0, 50)), pa.string()),
            "none": pa.nulls(ROWS, pa.int32()),
            "sorted": pa.array(range(ROWS), pa.int64()),
        }
    )


def by_pyarrow(table, path, **options):
    pq.write_table(table, path, write_page_index=True, row_group_size=1000, max_rows_per_page=100, **options)


def by_pyarrow_with_integers_as_decimals(table, path):
    by_pyarrow(table, path, store_decimal_as_integer=True, data_page_version="2.0")


def by_pyarrow_without_dictionary(table, path):
    by_pyarrow(table, path, use_dictionary=False, compression="none")


def by_duckdb(table, path):
    duckdb.from_arrow(table).write_parquet(str(path), row_group_size=2048)


@pytest.fixture(params=[by_pyarrow, by_pyarrow_with_integers_as_decimals, by_pyarrow_without_dictionary, by_duckdb])
def written(request, tmp_path):
    request.param(sample(), tmp_path / "sample.parquet")
    return tmp_path / "sample.parquet"


@pytest.fixture
def written_by_spark(spark, tmp_path):
    rows = tmp_path / "rows.parquet"
    pq.write_table(sample().drop_columns(["uint", "ulong"]), rows)
    options = {"parquet.block.row.count.limit": "1000", "parquet.page.row.count.limit": "100"}
    spark.read.parquet(str(rows)).coalesce(1).write.options(**options).parquet(str(tmp_path / "spark"))
    return next((tmp_path / "spark").glob("part-*.parquet"))


def assert_bounds_hold(path):
    """Check that every bound encloses its values, and that every null count is correct."""
    index = read_dataset(path)
    claims = 0
    with pq.ParquetFile(path) as file:
        groups = [file.read_row_group(i) for i in range(file.num_row_groups)]
    for column in index.groups.columns:
        assert not column.unsupported, column
        bounds = index.footers.bounds(column)
        positions = np.arange(len(index))
        pages = index.page_indexes.read(column, positions)
        edges = [*np.flatnonzero(np.diff(pages.row_group, prepend=-1)), len(pages.row_group)]
        for position, group in enumerate(groups):
            values = group.column(column.path[0]).combine_chunks()
            claims += holds(bounds.take(np.array([position])), 0, values)
            of_group = pages.bounds.take(np.arange(edges[position], edges[position + 1]))
            first = pages.first_row[edges[position] : edges[position + 1]]
            for i, (start, stop) in enumerate(zip(first, [*first[1:], len(values)], strict=True)):
                claims += holds(of_group, i, values[int(start) : int(stop)])
    return claims


def holds(bounds, i, values):
    """Check one container; return how many of its three claims exist."""
    plain = [value for value in values.to_pylist() if value is not None]
    plain = [value.encode() if isinstance(value, str) else value for value in plain]
    low, high, nulls = (array[i].as_py() for array in (bounds.lower, bounds.upper, bounds.null_count))
    assert bounds.row_count[i] == len(values)
    assert low is None or all(low <= value for value in plain)
    assert high is None or all(value <= high for value in plain)
    assert nulls is None or nulls == values.null_count
    return sum(claim is not None for claim in (low, high, nulls))


def test_bounds_and_null_counts_hold(written):
    columns = len(sample().column_names)
    # Three claims a row group and column are usual; the all-null column has no bounds.
    assert assert_bounds_hold(written) >= 3 * (columns - 2)


@pytest.mark.spark
def test_bounds_and_null_counts_of_spark_hold(written_by_spark):
    # 3 row groups of 10 pages: three claims each, but for the column that is null throughout.
    columns = len(sample().column_names) - 2
    assert assert_bounds_hold(written_by_spark) == (3 + 30) * (3 * columns - 2)


def test_footers_agree_with_pyarrow(written):
    index = read_dataset(written)
    theirs = pq.read_metadata(written)
    assert index.groups.row_count.tolist() == [theirs.row_group(i).num_rows for i in range(theirs.num_row_groups)]
    for i in range(theirs.num_row_groups):
        for column in index.groups.columns:
            other = theirs.row_group(i).column(column.index)
            chunk = chunk_at(index.footers.chunks(column), i)
            assert other.path_in_schema == column.name
            assert (chunk.num_values, chunk.compressed_bytes) == (other.num_values, other.total_compressed_size)
            assert (chunk.column_index is not None) == other.has_column_index
            assert (chunk.bloom_filter and chunk.bloom_filter[0]) == other.bloom_filter_offset


@pytest.mark.parametrize("column", ["tiny", "int", "long", "uint", "ulong", "day", "price", "total", "huge", "word"])
@pytest.mark.parametrize("integers", [True, False])
def test_filters_of_pyarrow_know_every_value(tmp_path, column, integers):
    path = tmp_path / "bloom.parquet"
    # The name of a decimal's physical type changes with the option: both encodings are hashed.
    filters = {column: {"ndv": 1000, "fpp": 0.01}}
    by_pyarrow(sample().select([column]), path, bloom_filter_options=filters, store_decimal_as_integer=integers)
    index = read_dataset(path)
    leaf = next(leaf for leaf in index.groups.columns if leaf.path == (column,))
    filters = index.bloom_filters.read(leaf, np.arange(len(index)))
    assert not [blocks for blocks in filters if isinstance(blocks, str)]
    with pq.ParquetFile(path) as file:
        for i, blocks in enumerate(filters):
            values = file.read_row_group(i, columns=[column]).column(0).combine_chunks().drop_null().unique()
            assert may_contain([blocks], hash_values(leaf, values)).all()
    others = sample(seed=2).column(column).combine_chunks().drop_null().unique()
    absent = pa.array(sorted(set(others.to_pylist()) - set(sample().column(column).to_pylist())), others.type)
    if len(absent) > 200:
        false_positives = may_contain(filters, hash_values(leaf, absent)).mean()
        assert false_positives < 0.015, "more than 1.5 times the 1 % asked for"


def test_a_filter_that_may_be_of_another_column_of_its_file_is_not_asked(tmp_path):
    """parquet-java keys filters by the dotted path; the columns that share a path differ from file to file."""
    alone = pa.table({"a.b": [1, 2]})
    clashing = alone.append_column("a", pa.array([{"b": 7}, {"b": 8}]))
    for name, table in (("0", alone), ("1", clashing)):
        pq.write_table(table, tmp_path / name, bloom_filter_options={"a.b": {"ndv": 9}}, use_dictionary=False)
    index = read_dataset(tmp_path)
    (column,) = index.groups.columns
    first, second = index.bloom_filters.read(column, np.arange(2))
    assert not isinstance(first, str)
    assert "dotted path" in second


@pytest.mark.spark
def test_filters_of_spark_know_every_value(spark, tmp_path):
    names = ["int", "long", "day", "price", "total", "huge", "word"]
    rows = tmp_path / "rows.parquet"
    pq.write_table(sample().select(names), rows)
    options = {f"parquet.bloom.filter.enabled#{name}": "true" for name in names}
    options |= {f"parquet.enable.dictionary#{name}": "false" for name in names}
    options |= {f"parquet.bloom.filter.expected.ndv#{name}": "3000" for name in names}
    spark.read.parquet(str(rows)).coalesce(1).write.options(**options).parquet(str(tmp_path / "spark"))
    index = read_dataset(tmp_path / "spark")
    for leaf in index.groups.columns:
        (blocks,) = index.bloom_filters.read(leaf, np.array([0]))
        assert not isinstance(blocks, str), f"{leaf.name}: {blocks}"
        values = sample().column(leaf.name).combine_chunks().drop_null().unique()
        assert may_contain([blocks], hash_values(leaf, values)).all(), leaf.name


def test_a_file_without_page_index_has_none(tmp_path):
    pq.write_table(sample(), tmp_path / "plain.parquet")
    index = read_dataset(tmp_path / "plain.parquet")
    positions = np.arange(len(index))
    for column, offsets in zip(
        index.groups.columns, index.page_indexes.locations(index.groups.columns, positions), strict=True
    ):
        pages = index.page_indexes.read(column, positions)
        assert (pages.reason != "").all()
        assert (offsets.reason != "").all()
        assert len(pages.bounds) == len(index), "a row group counts as one page"


def test_neighbouring_indexes_come_in_one_request(tmp_path):
    by_pyarrow(sample(), tmp_path / "a.parquet")
    index = read_dataset(tmp_path / "a.parquet")
    assert index.groups.traffic.requests == 1
    index.page_indexes.fetch(index.groups.columns[:2], np.arange(len(index)))
    assert index.groups.traffic.requests == 2
    index.page_indexes.fetch(index.groups.columns[:2], np.arange(len(index)))
    assert index.groups.traffic.requests == 2, "what was read is kept"


def test_a_row_group_asked_for_twice_is_read_once(tmp_path):
    by_pyarrow(sample(), tmp_path / "a.parquet", bloom_filter_options={"word": {"ndv": 1000}})
    once, twice = read_dataset(tmp_path), read_dataset(tmp_path)
    column = next(leaf for leaf in once.groups.columns if leaf.path == ("word",))
    repeated = np.array([1, 0, 1])
    assert (twice.page_indexes.read(column, repeated).reason == "").all()
    expected = once.page_indexes.read(column, np.arange(2)).take(repeated)
    assert twice.page_indexes.read(column, repeated).bounds.lower.equals(expected.bounds.lower)
    assert not [blocks for blocks in twice.bloom_filters.read(column, repeated) if isinstance(blocks, str)]


def test_an_offset_index_of_another_column_says_nothing(tmp_path):
    """It may have as many pages, but with other rows; using it would skip selected rows."""
    by_pyarrow(sample(), tmp_path / "a.parquet")
    index = read_dataset(tmp_path)
    column, other, *_ = index.groups.columns
    positions = np.arange(len(index))
    index.footers.chunks(column).offset_index[:] = index.footers.chunks(other).offset_index
    (offsets,) = index.page_indexes.locations([column], positions)
    assert all("outside of the column chunk" in reason for reason in offsets.reason)
    assert all("outside of the column chunk" in reason for reason in index.page_indexes.read(column, positions).reason)
