"""Metadata claims hold for files of every installed writer: codecs, pages, nesting, filters, and odd sizes."""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from written_statistics import assert_file_holds

from parquet_core.bloom import hash_values, may_contain
from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import PruneError
from parquet_core.format.dictionary import dictionary_range, is_complete, read_dictionary

ROWS = 300
GROUP = 100


def flat(rows=ROWS):
    """Return a table of columns with few values, which are dictionary-encoded, and columns with many values."""
    chance = random.Random(rows)

    def column(make, kind):
        return pa.array([None if chance.random() < 0.1 else make() for _ in range(rows)], kind)

    return pa.table(
        {
            "few": column(lambda: chance.randint(-3, 3), pa.int32()),
            "many": column(lambda: chance.randint(-(2**62), 2**62), pa.int64()),
            "word": column(lambda: chance.choice(["", "a", "é", "zebra" * 9]), pa.string()),
            "text": column(lambda: chance.randbytes(chance.randint(0, 9)).hex(), pa.string()),
            "real": column(lambda: chance.choice([-1.5, 0.0, 9.25]), pa.float64()),
            "flag": column(lambda: chance.random() < 0.5, pa.bool_()),
        }
    )


def nested(rows=ROWS):
    """Return a table of structs, lists and maps inside each other, including empty and null ones."""
    chance = random.Random(rows)
    inner = pa.struct({"a": pa.int64(), "b": pa.list_(pa.string())})

    def struct():
        return {"a": chance.choice([None, chance.randint(0, 9)]), "b": chance.choice([None, [], ["x", None]])}

    def some(make):
        return None if chance.random() < 0.2 else make()

    def pairs():
        return [(f"k{i}", some(lambda: chance.randint(0, 99))) for i in range(chance.randint(0, 2))]

    def structs():
        return [some(struct) for _ in range(chance.randint(0, 2))]

    columns = {
        "struct": (lambda: {"s": some(struct), "n": chance.randint(0, 9)}, pa.struct({"s": inner, "n": pa.int32()})),
        "list": (structs, pa.list_(inner)),
        "map": (pairs, pa.map_(pa.string(), pa.int32())),
        "lists": (lambda: [[1, None], [], None][: chance.randint(0, 3)], pa.list_(pa.list_(pa.int32()))),
    }
    return pa.table({name: pa.array([some(make) for _ in range(rows)], kind) for name, (make, kind) in columns.items()})


def by_pyarrow(table, path):
    pq.write_table(table, path, write_page_index=True, row_group_size=GROUP, max_rows_per_page=10)


def by_duckdb(table, path):
    with duckdb.connect() as connection:
        connection.register("rows", table)
        connection.sql(f"copy rows to '{path}' (format parquet)")


def by_polars(table, path):
    pl.from_arrow(table).write_parquet(path, row_group_size=GROUP, data_page_size=100, statistics="full")


def by_datafusion(table, path):
    datafusion = pytest.importorskip("datafusion", reason="DataFusion is not installed: pip install datafusion")
    options = datafusion.ParquetWriterOptions(
        max_row_group_size=GROUP, data_page_row_count_limit=10, write_batch_size=10, bloom_filter_on_write=True
    )
    frame = datafusion.SessionContext().from_arrow(table)
    frame.write_parquet_with_options(path, options)


def by_fastparquet(table, path):
    fastparquet = pytest.importorskip("fastparquet", reason="fastparquet is not installed: pip install fastparquet")
    frame = table.to_pandas(integer_object_nulls=True).convert_dtypes()
    fastparquet.write(str(path), frame, row_group_offsets=GROUP, stats=True, write_index=False)


WRITERS = [by_pyarrow, by_duckdb, by_polars, by_datafusion, by_fastparquet]
# Columns whose bounds are not trusted: fastparquet does not record how it compares strings.
SILENT = {by_fastparquet: {"word", "text"}}


@pytest.mark.parametrize("write", WRITERS)
def test_flat_columns(write, tmp_path):
    write(flat(), tmp_path / "t.parquet")
    claims = assert_file_holds(tmp_path / "t.parquet")
    assert claims.keys() == set(flat().column_names)
    assert all(found["null_count"] for found in claims.values())
    assert {name for name, found in claims.items() if not found["lower"]} == SILENT.get(write, set())
    if write in {by_pyarrow, by_datafusion}:
        assert all(found["page lower"] == ROWS // 10 for found in claims.values())


@pytest.mark.parametrize("write", [writer for writer in WRITERS if writer is not by_fastparquet])
def test_nested_columns(write, tmp_path):
    table = nested().drop_columns(["map"]) if write is by_polars else nested()  # polars has no maps
    write(table, tmp_path / "t.parquet")
    claims = assert_file_holds(tmp_path / "t.parquet")
    total = sum(claims.values(), Counter())
    assert len(claims) == (6 if write is by_polars else 8)
    assert total["lower"] >= len(claims)
    assert not any(found["null_count"] for name, found in claims.items() if name.startswith(("list", "map")))


@pytest.mark.parametrize("write", WRITERS)
def test_no_rows(write, tmp_path):
    write(flat(0), tmp_path / "t.parquet")
    index = read_dataset(tmp_path / "t.parquet")
    assert index.groups.row_count.sum() == 0
    for column in index.groups.columns:
        positions = np.arange(len(index))
        assert index.footers.bounds(column).lower.null_count == len(index)
        index.page_indexes.read(column, positions)
        index.bloom_filters.read(column, positions)


@pytest.mark.parametrize("rows", [0, 3])
def test_no_columns(tmp_path, rows):
    table = pa.table({"a": range(rows)}).select([])
    with pq.ParquetWriter(tmp_path / "t.parquet", table.schema, write_page_index=True) as writer:
        writer.write_table(table)
    index = read_dataset(tmp_path / "t.parquet")
    assert index.groups.columns == ()
    index.page_indexes.fetch([], np.arange(len(index)))
    assert index.groups.traffic.requests == 1


@pytest.mark.parametrize(("rows", "of_a_page"), [(5_000, 5_000), (40_000, 1)])
def test_one_page_and_very_many(tmp_path, rows, of_a_page):
    values = pa.array([None if i % 7 == 3 else i * 7919 % rows for i in range(rows)], pa.int64())
    options = {"max_rows_per_page": of_a_page, "write_batch_size": min(1024, of_a_page), "use_dictionary": False}
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": values}), path, write_page_index=True, row_group_size=rows, **options)
    index = read_dataset(path)
    (column,) = index.groups.columns
    pages = index.page_indexes.read(column, np.array([0]))
    assert len(pages.bounds) == rows // of_a_page
    assert pages.bounds.row_count.tolist() == [of_a_page] * (rows // of_a_page)
    assert_file_holds(path)
    if of_a_page == 1:
        assert pages.bounds.lower.equals(values)
        assert pages.bounds.upper.equals(values)
        assert pages.bounds.null_count.to_pylist() == values.is_null().cast(pa.int64()).to_pylist()


def test_two_columns_of_a_huge_footer(tmp_path):
    """Only the requested columns are decoded, here 2 of 2,000 columns in 50 row groups."""
    rng = np.random.default_rng(1)
    path = tmp_path / "t.parquet"
    table = pa.table({f"c{i}": rng.integers(0, 1000, 100) for i in range(2000)})
    pq.write_table(table, path, row_group_size=2, use_dictionary=False, compression="none")
    index = read_dataset(path)
    assert (len(index.groups.columns), len(index)) == (2000, 50)
    assert index.groups.traffic.bytes["footer"] > 5_000_000
    for column in (index.groups.columns[3], index.groups.columns[1999]):
        pairs = table.column(column.name).to_numpy().reshape(50, 2)
        assert index.footers.bounds(column).lower.to_pylist() == pairs.min(axis=1).tolist()
        assert index.footers.bounds(column).upper.to_pylist() == pairs.max(axis=1).tolist()
    assert len(index.footers._columns) == 2
    assert index.groups.traffic.requests == 2


# Bloom filters: 5,000 distinct values, and 5,000 absent values.

NUMBERS = pa.array(np.random.default_rng(5).permutation(np.arange(0, 10**9, 10**5)), pa.int64())


def filters_by_pyarrow(table, path, fpp):
    filters = {name: {"ndv": 5_000, "fpp": fpp} for name in table.column_names}
    pq.write_table(table, path, bloom_filter_options=filters)


def filters_by_duckdb(table, path, fpp):
    with duckdb.connect() as connection:
        connection.register("rows", table)
        options = f"format parquet, bloom_filter_false_positive_ratio {fpp}, dictionary_size_limit 10000"
        connection.sql(f"copy (select rows.* from rows, range(5)) to '{path}' ({options})")


def filters_by_datafusion(table, path, fpp):
    datafusion = pytest.importorskip("datafusion", reason="DataFusion is not installed: pip install datafusion")
    options = datafusion.ParquetWriterOptions(bloom_filter_on_write=True, bloom_filter_fpp=fpp, bloom_filter_ndv=5_000)
    datafusion.SessionContext().from_arrow(table).write_parquet_with_options(path, options)


@pytest.fixture
def filters_by_spark(spark, tmp_path):
    def write(table, path, fpp):
        rows = tmp_path / "rows.parquet"
        pq.write_table(table, rows)
        options = {"parquet.enable.dictionary": "false", "parquet.bloom.filter.enabled": "true"}
        for name in table.column_names:
            options |= {
                f"parquet.bloom.filter.expected.ndv#{name}": "5000",
                f"parquet.bloom.filter.fpp#{name}": str(fpp),
            }
        spark.read.parquet(str(rows)).coalesce(1).write.options(**options).parquet(str(path))

    return write


def assert_filters_hold(path, fpp):
    """Every stored value is found, and the rate of absent values that are found is near the requested one."""
    index = read_dataset(path)
    for column in index.groups.columns:
        filters = index.bloom_filters.read(column, np.arange(len(index)))
        assert not [blocks for blocks in filters if isinstance(blocks, str)]
        there, absent = (part.cast(column.type) for part in (NUMBERS[:5_000], NUMBERS[5_000:]))
        assert may_contain(filters, hash_values(column, there)).any(axis=0).all()
        false_positives = may_contain(filters, hash_values(column, absent)).mean()
        assert false_positives < 1.5 * fpp, (column.name, false_positives)


def filtered():
    return pa.table({"number": NUMBERS[:5_000], "text": NUMBERS[:5_000].cast(pa.string())})


@pytest.mark.parametrize("fpp", [0.05, 0.01])
@pytest.mark.parametrize("write", [filters_by_pyarrow, filters_by_duckdb, filters_by_datafusion])
def test_filters(write, fpp, tmp_path):
    write(filtered(), tmp_path / "t.parquet", fpp)
    assert_filters_hold(tmp_path / "t.parquet", fpp)


@pytest.mark.spark
@pytest.mark.parametrize("fpp", [0.05, 0.01])
def test_filters_of_spark(filters_by_spark, fpp, tmp_path):
    filters_by_spark(filtered(), tmp_path / "spark", fpp)
    assert_filters_hold(tmp_path / "spark", fpp)


# Spark: all its codecs, both page versions, with and without dictionaries.

CODECS = {"uncompressed": 0, "snappy": 1, "gzip": 2, "brotli": 4, "lz4": 5, "zstd": 6, "lz4_raw": 7}


@pytest.fixture(scope="module")
def rows_for_spark(tmp_path_factory):
    path = tmp_path_factory.mktemp("spark") / "rows.parquet"
    pq.write_table(
        pa.table({**dict(zip(flat().column_names, flat().columns, strict=True)), "map": nested()["map"]}), path
    )
    return path


def write_by_spark(spark, rows, path, *, codec, version, dictionary):
    options = {
        "compression": codec,
        "parquet.writer.version": version,
        "parquet.enable.dictionary": str(dictionary).lower(),
        "parquet.block.row.count.limit": str(GROUP),
        "parquet.page.row.count.limit": "20",
        "parquet.page.size.row.check.min": "20",
    }
    try:
        spark.read.parquet(str(rows)).coalesce(1).write.options(**options).parquet(str(path))
    except Exception as error:
        if codec == "brotli" and "BrotliCodec" in str(error):
            pytest.skip("Spark comes without a codec for brotli")
        raise
    return next(path.glob("part-*.parquet"))


@pytest.mark.sampled(6)
@pytest.mark.spark
@pytest.mark.parametrize("codec", CODECS)
def test_codecs_and_pages_of_spark(spark, rows_for_spark, tmp_path, codec):
    for version in ("v1", "v2"):
        for dictionary in (True, False):
            target = tmp_path / f"{version}-{dictionary}"
            path = write_by_spark(spark, rows_for_spark, target, codec=codec, version=version, dictionary=dictionary)
            claims = assert_file_holds(path)
            for name in flat().column_names:
                assert claims[name]["lower"] == claims[name]["null_count"] == ROWS // GROUP, name
                assert claims[name]["page lower"] == ROWS // 20, name
            assert claims["map.key_value.key"]["lower"] == ROWS // GROUP
            assert_dictionaries_hold(path, codec, dictionary)


def assert_dictionaries_hold(path, codec, dictionary):
    """A complete dictionary contains exactly the values of its chunk."""
    index, data = read_dataset(path), path.read_bytes()
    read = 0
    with pq.ParquetFile(path) as file:
        for column in index.groups.columns[:-2]:
            for position in range(len(index)):
                chunks = index.footers.chunks(column)
                assert chunks.codec[position] == CODECS[codec]
                place = dictionary_range(chunks, position, None)
                if is_complete(chunks, position) or isinstance(place, str):
                    continue
                found = read_dictionary(data[place[0] : sum(place)], chunks, position, column, place=column.name)
                if codec == "lz4":
                    assert "codec 5 are not read" in found
                    continue
                values = file.read_row_group(position, columns=[column.name]).column(0).drop_null().unique()
                if column.physical == 6:  # BYTE_ARRAY
                    assert set(found.binary().to_pylist()) == set(values.cast(pa.binary()).to_pylist())
                else:
                    numbers, _ = found.numbers(np.dtype(values.type.to_pandas_dtype()))
                    assert set(numbers.tolist()) == set(values.to_pylist())
                read += 1
    assert (read >= 2 * ROWS // GROUP) == (dictionary and codec != "lz4")


def test_two_columns_of_one_path_are_refused(tmp_path):
    """The second column would get the bounds of the first; Spark does not read such a file either."""
    columns = [pa.array([1, 2]), pa.array([8, 9])]
    pq.write_table(pa.Table.from_arrays(columns, names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(PruneError, match=r"t\.parquet: schema: two columns are named 'a'"):
        read_dataset(tmp_path / "t.parquet")
