"""Inspections of files, compared with pyarrow's metadata and with the values."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import UnknownColumn, WrongUse
from parquet_core.format.page_index import boundary_order
from parquet_core.inspection import choose_columns, inspect_file, inspect_table, read_row_groups
from parquet_core.inspection.facts import Hex, SortingColumn
from parquet_core.inspection.pages import recomputed_orders

ROWS = 1_000


def sample():
    day = dt.date(2024, 1, 1)
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "down": pa.array(range(ROWS, 0, -1), pa.int32()),
            "day": pa.array([day + dt.timedelta(i // 10) for i in range(ROWS)]),
            "price": pa.array([Decimal(i % 7).scaleb(-2) for i in range(ROWS)], pa.decimal128(9, 2)),
            "word": pa.array([None if i % 5 == 0 else f"w{i % 13}" for i in range(ROWS)]),
            "at": pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=i) for i in range(ROWS)]),
            "flag": pa.array([i % 2 == 0 for i in range(ROWS)]),
            "share": pa.array([i / 7 for i in range(ROWS)], pa.float64()),
            "none": pa.nulls(ROWS, pa.int32()),
            "list": pa.array([[i, i + 1] for i in range(ROWS)], pa.list_(pa.int32())),
            "inner": pa.array([{"a": i, "b": str(i)} for i in range(ROWS)]),
        }
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("inspected") / "sample.parquet"
    pq.write_table(
        sample(),
        path,
        row_group_size=250,
        max_rows_per_page=50,
        write_batch_size=10,
        write_page_index=True,
        sorting_columns=[pq.SortingColumn(0, descending=False, nulls_first=True)],
        bloom_filter_options={"id": {"ndv": 250, "fpp": 0.01}, "word": {"ndv": 13, "fpp": 0.05}},
        compression="zstd",
    )
    return path


@pytest.fixture(scope="module")
def index(path):
    return read_dataset(path)


def row_groups(index, *, pages=True):
    return list(read_row_groups(index, index.groups.columns, np.arange(len(index)), pages=pages))


def test_the_footer_agrees_with_pyarrow(path, index):
    found, by_pyarrow = inspect_file(index, index.groups.columns), pq.read_metadata(path)
    assert (found.path, found.bytes) == (str(path), path.stat().st_size)
    assert (found.rows, found.footer_rows) == (by_pyarrow.num_rows, by_pyarrow.num_rows)
    assert found.created_by == by_pyarrow.created_by
    assert {entry.key: entry.value for entry in found.key_values} == {
        key.decode(): value.decode() for key, value in by_pyarrow.metadata.items()
    }
    assert all(entry.bytes == len(entry.value.encode()) for entry in found.key_values)
    # pyarrow counts its own serialization of the footer, which has its length.
    assert found.footer_bytes == int.from_bytes(path.read_bytes()[-8:-4], "little")
    assert found.row_group_count == by_pyarrow.num_row_groups
    assert (found.row_group_rows.min, found.row_group_rows.median, found.row_group_rows.max) == (250, 250, 250)


def test_the_schema_agrees_with_pyarrow(path, index):
    found, schema = inspect_file(index, index.groups.columns), pq.ParquetFile(path).schema
    assert found.all_columns == len(found.columns) == len(schema)
    for i, facts in enumerate(found.columns):
        assert (facts.name, facts.physical) == (schema.column(i).path, schema.column(i).physical_type)
        assert facts.max_definition_level == schema.column(i).max_definition_level
        assert facts.max_repetition_level == schema.column(i).max_repetition_level
        assert facts.column_order == "TYPE_ORDER"


def test_chunks_agree_with_pyarrow(path, index):
    by_pyarrow = pq.read_metadata(path)
    groups = row_groups(index)
    assert [group.rows for group in groups] == [by_pyarrow.row_group(i).num_rows for i in range(len(groups))]
    for group in groups:
        assert group.sorting_columns == (SortingColumn("id", descending=False, nulls_first=True),)
        theirs = [by_pyarrow.row_group(group.index).column(i) for i in range(by_pyarrow.num_columns)]
        assert group.compressed_bytes == sum(chunk.total_compressed_size for chunk in theirs)
        for ours, other in zip(group.chunks, theirs, strict=True):
            assert ours.column == other.path_in_schema
            assert (ours.values, ours.compressed_bytes) == (other.num_values, other.total_compressed_size)
            assert ours.uncompressed_bytes == other.total_uncompressed_size
            assert ours.codec == other.compression
            assert set(ours.encodings) == set(other.encodings)
            assert ours.page_index.reason == ""
            assert (ours.page_index.column_index_bytes is not None) == other.has_column_index
            if ours.null_count is not None:
                assert ours.null_count == other.statistics.null_count


def test_bounds_are_values_of_json(index):
    last = {chunk.column: chunk for chunk in row_groups(index)[3].chunks}
    assert (last["id"].lower, last["id"].upper) == (750, 999)
    assert (last["day"].lower, last["day"].upper) == ("2024-03-16", "2024-04-09")
    assert (last["price"].lower, last["price"].upper) == ("0.00", "0.06")
    assert (last["word"].lower, last["word"].upper) == ("w0", "w9")
    assert (last["at"].lower, last["at"].upper) == ("2024-02-01 06:00:00.000000Z", "2024-02-11 15:00:00.000000Z")
    assert (last["flag"].lower, last["flag"].upper) == (False, True)
    assert (last["share"].lower, last["share"].upper) == (750 / 7, 999 / 7)
    assert (last["none"].lower, last["none"].upper, last["none"].null_count) == (None, None, 250)
    assert (last["inner.b"].lower, last["inner.b"].upper) == ("750", "999")
    assert (last["list.list.element"].lower, last["list.list.element"].upper) == (750, 1000)


def test_columns_sum_their_chunks_up(index):
    found = {facts.name: facts for facts in inspect_file(index, index.groups.columns).columns}
    assert (found["id"].lower, found["id"].upper, found["id"].null_count) == (0, 999, 0)
    assert found["word"].null_count == 200
    assert found["none"].null_count == found["none"].values == ROWS
    assert found["id"].overlap_depth == 1
    assert found["price"].overlap_depth == 4
    assert found["none"].overlap_depth is None
    assert (found["id"].with_bloom_filter, found["day"].with_bloom_filter) == (4, 0)
    assert all(facts.with_column_index == facts.row_groups == 4 for facts in found.values())
    assert found["id"].codecs == ("ZSTD",)
    assert found["id"].pages.count == 20
    assert (found["id"].pages.rows.min, found["id"].pages.rows.max) == (50, 50)


def test_pages_tile_their_row_group_and_bound_their_values(path, index):
    values = pq.read_table(path).column("id").to_pylist()
    for group in row_groups(index):
        pages = group.chunks[0].page_index.pages
        first = 0
        for page in pages:
            assert page.first_row == first
            part = values[250 * group.index + first : 250 * group.index + first + page.rows]
            assert (page.lower, page.upper, page.null_count) == (min(part), max(part), 0)
            first += page.rows
        assert first == group.rows
        assert sum(page.compressed_bytes for page in pages) <= group.chunks[0].compressed_bytes
        offsets = [page.offset for page in pages]
        assert offsets == sorted(offsets)


def test_pages_are_not_listed_unasked(index):
    assert {chunk.page_index.pages for group in row_groups(index, pages=False) for chunk in group.chunks} == {None}


def test_boundary_orders_are_recomputed_as_for_a_single_chunk(index):
    orders = {}
    for column in index.groups.columns:
        batch = index.page_indexes.read(column, np.arange(len(index)))
        for i, order in enumerate(recomputed_orders(batch).tolist()):
            pages = batch.bounds.take(np.arange(batch.first[i], batch.first[i + 1]))
            assert order == boundary_order(pages.lower, pages.upper)
            orders.setdefault(column.name, set()).add(order)
    assert (orders["id"], orders["down"], orders["share"]) == ({1}, {2}, {1})
    assert {0, 1, 2} == set.union(*orders.values())


def test_filters_tell_about_how_many_values_they_hold(index):
    for group in row_groups(index):
        chunks = {chunk.column: chunk for chunk in group.chunks}
        bloom = chunks["id"].bloom_filter
        assert bloom.reason == ""
        assert bloom.bytes == 32 * bloom.blocks
        assert abs(bloom.estimated_distinct - 250) < 25
        assert 0 < bloom.fill < 0.5
        assert 0 < bloom.estimated_fpp < 0.02
        assert chunks["day"].bloom_filter.reason == "the file lacks it for this column"
        assert chunks["day"].bloom_filter.bytes is None


@pytest.mark.parametrize(("name", "value", "holder"), [("id", "300", 1), ("id", "5000", None), ("word", "w1", None)])
def test_a_value_is_asked_of_every_filter(index, name, value, holder):
    probe = inspect_file(index, choose_columns(index, [name]), bloom=value).probe
    verdicts = [fact.verdict for fact in probe.row_groups]
    assert (probe.column, probe.value, len(verdicts)) == (name, value, 4)
    if name == "word":
        assert verdicts == ["maybe"] * 4
    elif holder is not None:
        assert verdicts[holder] == "maybe"
    assert "unknown" not in verdicts


def test_every_value_that_is_there_may_be_there(index):
    column = choose_columns(index, ["id"])
    for value in range(0, ROWS, 37):
        probe = inspect_file(index, column, bloom=str(value)).probe
        assert probe.row_groups[value // 250].verdict == "maybe"
    absent = [inspect_file(index, column, bloom=str(value)).probe.row_groups[0].verdict for value in range(5000, 5100)]
    assert absent.count("absent") > 90


def test_without_a_filter_the_answer_is_unknown_and_says_why(index):
    probe = inspect_file(index, choose_columns(index, ["day"]), bloom="2024-01-01").probe
    assert {(fact.verdict, fact.reason) for fact in probe.row_groups} == {
        ("unknown", "the file lacks it for this column")
    }


def test_a_column_to_ask_must_be_clear(index, tmp_path):
    with pytest.raises(WrongUse, match=r"2 columns have bloom filters \(id, word\); choose one with --columns"):
        inspect_file(index, index.groups.columns, bloom="1")
    with pytest.raises(WrongUse, match="'x' is not a value of column id"):
        inspect_file(index, choose_columns(index, ["id"]), bloom="x")
    with pytest.raises(WrongUse, match=r"values of flag \(bool, stored as BOOLEAN\) have no hash"):
        inspect_file(index, choose_columns(index, ["flag"]), bloom="true")
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "bare.parquet")
    bare = read_dataset(tmp_path / "bare.parquet")
    with pytest.raises(WrongUse, match="no column has a bloom filter"):
        inspect_file(bare, bare.groups.columns, bloom="1")


def test_columns_are_chosen_by_name_by_struct_and_in_any_case(index):
    names = [[column.name for column in choose_columns(index, [name])] for name in ("id", "inner", "WORD", "inner.b")]
    assert names == [["id"], ["inner.a", "inner.b"], ["word"], ["inner.b"]]
    assert choose_columns(index, []) == index.groups.columns
    with pytest.raises(UnknownColumn, match="did you mean word"):
        choose_columns(index, ["wrod"])


def test_what_is_no_text_is_told_as_hex(tmp_path):
    path = tmp_path / "bytes.parquet"
    pq.write_table(pa.table({"b": pa.array([b"\xff\x00", b"a"]), "u": ["é", "z"]}), path)
    index = read_dataset(path)
    found = {facts.name: facts for facts in inspect_file(index, index.groups.columns).columns}
    assert (found["b"].lower, found["b"].upper) == (Hex("61"), Hex("ff00"))
    assert (found["u"].lower, found["u"].upper) == ("z", "é")


def test_a_file_of_duckdb(tmp_path):
    path = tmp_path / "duck.parquet"
    duckdb.sql(
        f"COPY (SELECT i, 'w' || (i % 3) AS w FROM range(3000) t(i)) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)"
    )
    index = read_dataset(path)
    found = inspect_file(index, index.groups.columns)
    assert "DuckDB" in found.created_by
    assert found.rows == 3000
    for group in row_groups(index):
        for chunk in group.chunks:
            assert chunk.page_index.reason == "the file lacks it for this column"
            assert chunk.page_index.count is None
            assert chunk.page_index.pages is None
    probe = inspect_file(index, choose_columns(index, ["w"]), bloom="w1").probe
    assert [fact.verdict for fact in probe.row_groups] == ["maybe"] * len(index)
    probe = inspect_file(index, choose_columns(index, ["w"]), bloom="nothing of the kind").probe
    assert [fact.verdict for fact in probe.row_groups] == ["absent"] * len(index)


@pytest.mark.spark
def test_files_of_spark(spark, tmp_path):
    table = tmp_path / "t"
    rows = spark.sql("SELECT id, cast(id % 3 AS string) AS w, timestamp_seconds(id) AS at FROM range(1000)")
    rows.repartition(2).write.option("parquet.bloom.filter.enabled#id", "true").parquet(str(table))
    index = read_dataset(table)
    found = inspect_table(str(table), index, index.groups.columns, bloom="77")
    assert [(writer.files, writer.created_by[:10]) for writer in found.writers] == [(2, "parquet-mr")]
    assert (found.rows, len(found.files), found.differences) == (1000, 2, ())
    assert {facts.name: facts.null_count for facts in found.columns} == {"id": 0, "w": 0, "at": 0}
    assert (found.columns[0].lower, found.columns[0].upper) == (0, 999)
    assert found.columns[0].overlap_depth > 1
    assert found.columns[2].untrusted == ("INT96 values do not sort like their timestamps",)
    assert (found.columns[2].upper, found.columns[2].overlap_depth) == (None, None)
    assert sorted(fact.verdict for fact in found.probe.row_groups) in (["absent", "maybe"], ["maybe", "maybe"])
    one = read_dataset(found.files[0].path)
    for group in row_groups(one):
        assert group.chunks[0].bloom_filter.reason == ""
        assert group.chunks[0].page_index.boundary_order is not None


def test_differences_of_schemas_are_told_with_their_files(tmp_path):
    pq.write_table(pa.table({"a": pa.array([1], pa.int64()), "b": ["x"]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": pa.array([1], pa.int32()), "c": [1.5]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": pa.array([2], pa.int64()), "b": ["y"]}), tmp_path / "2.parquet")
    index = read_dataset(tmp_path)
    found = inspect_table(str(tmp_path), index, index.groups.columns)
    assert found.differences == (
        "1 of 3 files: column a is int32 stored as INT32, in the table int64 stored as INT64",
        "1 of 3 files: column b is not there",
        "1 of 3 files: column c (double stored as DOUBLE) is not in the table's schema",
    )
    assert [(file.rows, file.row_groups) for file in found.files] == [(1, 1)] * 3
    assert (found.columns[0].lower, found.columns[0].upper) == (1, 2), "a narrower type is read as the table's"


def test_a_filter_of_another_type_is_not_asked(tmp_path):
    for name, kind in (("0", pa.int64()), ("1", pa.int32())):
        pq.write_table(
            pa.table({"a": pa.array([1, 2, 3], kind)}),
            tmp_path / f"{name}.parquet",
            bloom_filter_options={"a": {"ndv": 3, "fpp": 0.01}},
        )
    index = read_dataset(tmp_path)
    probe = inspect_table(str(tmp_path), index, index.groups.columns, bloom="2").probe
    assert [fact.verdict for fact in probe.row_groups] == ["maybe", "unknown"]


def test_filters_that_writers_may_have_mixed_up_are_not_asked(tmp_path):
    path = tmp_path / "clash.parquet"
    pq.write_table(
        pa.table({"a.b": [1], "a": pa.array([{"b": 7}])}),
        path,
        bloom_filter_options={"a.b": {"ndv": 1, "fpp": 0.01}},
    )
    index = read_dataset(path)
    probe = inspect_file(index, index.groups.columns[:1], bloom="99").probe
    assert [fact.verdict for fact in probe.row_groups] == ["unknown"]


def test_a_file_without_rows_is_told(tmp_path):
    path = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    index = read_dataset(path)
    found = inspect_file(index, index.groups.columns)
    assert found.rows == 0
    assert (found.columns[0].lower, found.columns[0].upper, found.columns[0].overlap_depth) == (None, None, None)
    assert len(row_groups(index)) == len(index)
