"""Values of files with false claims, and values of types without comparison."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import fastparquet
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chunk_facts import chunk_at
from claims import claim, write

import prune_assets as pr
from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.format.column_chunk import MAX_ROWS
from parquet_core.layout.spec import Severity
from parquet_core.storage import list_data_files
from parquet_core.values import open_values

MOST = 200 << 20


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.parquet"


@pytest.fixture
def pool():
    """A memory pool that counts Arrow's allocations during a test."""
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    yield pool
    pa.set_memory_pool(before)


def values_of(path, column="x"):
    with open_values(list_data_files(path)[0]) as values:
        return [value for batch in values.batches(values.row_groups, [column]) for value in batch.column(0).to_pylist()]


@pytest.mark.parametrize("compression", ["none", "zstd", "lz4"])
@pytest.mark.parametrize("options", [{}, {"use_dictionary": True}, {"data_page_version": "2.0", "row_group_size": 30}])
@pytest.mark.parametrize(
    "values",
    [
        [1, None, 3] * 30,
        ["a", None, "é" * 50] * 30,
        [Decimal("1.50"), None, Decimal("-2.25")] * 30,
        [dt.date(2024, 1, 1), None] * 40,
        [[1, None], None, []] * 30,
        [{"a": "x", "b": [1]}, None] * 40,
        [],
    ],
    ids=["ints", "texts", "decimals", "dates", "lists", "structs", "none"],
)
def test_sound_values_are_read_as_pyarrow_reads_them(path, values, options, compression):
    write(path, pa.array(values), compression=compression, **options)
    assert values_of(path) == values


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
def test_texts_of_other_encodings_are_read(path, encoding):
    values = [f"key-{i:06d}" for i in range(5_000)]
    write(path, pa.array(values), column_encoding={"x": encoding})
    assert values_of(path) == values


@pytest.mark.parametrize(
    ("options", "changes", "said"),
    [
        ({"compression": "zstd"}, {"page": [((2,), 1 << 30)]}, "claims 1,073,741,824 bytes uncompressed"),
        ({"compression": "none"}, {"page": [((2,), 1 << 30)]}, "is not compressed, and claims"),
        ({"compression": "zstd"}, {"page": [((2,), -1)]}, "-1 bytes uncompressed"),
        ({}, {"page": [((3,), 1 << 30)]}, "claims 1073741824 bytes, but"),
        ({}, {"page": [((3,), -5)]}, "claims -5 bytes"),
        ({}, {"page": [((5, 1), 2**31 - 1)]}, "claims 2147483647 of the chunk's 100 values"),
        ({}, {"page": [((5, 1), 99)]}, "its pages hold 99 values, not the 100"),
        ({}, {"chunk": [((5,), 2**40)]}, "1099511627776 values in 100 rows"),
        ({}, {"chunk": [((7,), 2**40)]}, "is outside of the file"),
        ({}, {"chunk": [((4,), 2**31 - 1)]}, "compression codec 2147483647 is not read"),
        ({}, {"page": [((5, 1), 10**9)], "chunk": [((5,), 10**9)], "rows": 10**9}, "the file is damaged"),
        ({"use_dictionary": True}, {"page": [((7, 1), 2**31 - 1)]}, "claims 2147483647 entries in"),
    ],
)
def test_claims_are_held_against_the_file(path, pool, options, changes, said):
    claim(write(path, pa.array(range(100)), **options), **changes)
    with pytest.raises((MalformedFile, UnsupportedFeature), match=said) as raised:
        values_of(path)
    assert str(path) in str(raised.value)
    assert ";" in str(raised.value)
    assert pool.max_memory() < 8 << 20


def test_values_of_a_fixed_length_of_gigabytes_are_refused(path, pool):
    claim(write(path, pa.array([None] * 100, pa.binary(4))), column=[((2,), 2**31 - 1)])
    with pytest.raises(UnsupportedFeature, match="column x: 100 values of up to 2,147,483,647 bytes"):
        values_of(path)
    assert pool.max_memory() < 8 << 20


@pytest.mark.deep
def test_one_long_text_in_many_rows_is_read_some_rows_at_a_time(path, pool):
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), pa.array(["x" * 1_000_000]))
    write(path, texts, use_dictionary=True, compression="zstd")
    assert path.stat().st_size < 10_000
    findings = pr.check(path, layout=pr.LayoutSpec(sort_by=["x"]))
    assert "all 20,000 rows ascend" in next(f.message for f in findings if f.code == "order.rows")
    assert pool.max_memory() < MOST


@pytest.mark.parametrize(
    ("values", "severity"),
    [
        (pa.array(np.array([1, 2, np.nan], np.float16)), Severity.INFO),
        (pa.array(np.array([2, 1], np.float16)), Severity.ERROR),
        (pa.nulls(3), Severity.INFO),
        (pa.array([None, 1.0, float("nan"), float("nan")]), Severity.INFO),
        (pa.array([float("nan"), 1.0]), Severity.ERROR),
        (pa.array([1, None]), Severity.ERROR),
        (pa.array([b"a", b"b"], pa.binary(1)), Severity.INFO),
        (pa.array([True, False]), Severity.ERROR),
        (pa.array([dt.time(1), dt.time(0)]), Severity.ERROR),
    ],
)
def test_rows_of_any_type_are_compared(path, values, severity):
    write(path, values)
    (found,) = [f for f in pr.check(path, layout=pr.LayoutSpec(sort_by=["x"])) if f.code == "order.rows"]
    assert found.severity is severity


def test_a_row_group_begins_where_the_one_before_ended(path):
    write(path, pa.array([1, 2, 3, 2]), row_group_size=3)
    (found,) = [f for f in pr.check(path, layout=pr.LayoutSpec(sort_by=["x"])) if f.code == "order.rows"]
    assert found.message == "rows are not sorted by x: first break at row 3"


def test_nulls_at_the_other_end_are_told_from_rows_that_are_not_sorted(path):
    write(path, pa.array([1, 2, None]))
    (found,) = [f for f in pr.check(path, layout=pr.LayoutSpec(sort_by=["x"])) if f.code == "order.rows"]
    assert found.message == (
        "rows are not sorted by x: first break at row 2; the file is sorted with its nulls at the other end"
    )
    assert found.remedy.startswith('write sort_by: ["`x` ASC NULLS LAST"], or ')
    (holds,) = [f for f in pr.check(path, layout=pr.LayoutSpec(sort_by=["x NULLS LAST"])) if f.code == "order.rows"]
    assert holds.severity is Severity.INFO


def test_values_that_cannot_be_read_are_a_finding_of_their_own(path):
    claim(write(path, pa.array(range(100))), chunk=[((4,), 3)])
    (found,) = [f for f in pr.check(path, layout=pr.LayoutSpec(sort_by=["x"])) if f.code == "order.rows"]
    assert found.severity is Severity.WARN
    assert "cannot be proven" in found.message
    assert "compression codec 3 is not read" in found.message


def test_a_schema_nested_without_end_is_refused(path):
    kind = pa.int32()
    for _ in range(120):
        kind = pa.struct([("x", kind)])
    pq.write_table(pa.table({"x": pa.nulls(1, kind)}), path, store_schema=False)
    with pytest.raises(MalformedFile, match="schema tree"):
        values_of(path)


def test_encoding_statistics_of_more_pages_than_an_integer_holds_are_not_believed(path):
    claim(write(path, pa.array(range(100))), encoding_stats=(MAX_ROWS, (1 << 63) // MAX_ROWS + 1))
    index = read_dataset(path)
    assert chunk_at(index.footers.chunks(index.groups.columns[0]), 0).data_pages is None


def test_pages_that_deny_their_compression_are_read_if_parquet_cpp_wrote_them(path):
    """pyarrow 1.0 and 2.0 compress data pages of version 2 and store that they do not (PARQUET-1850)."""
    write(path, pa.array([7] * 100), compression="zstd", data_page_version="2.0")
    claim(path, page=[((8, 7), False)])
    with pytest.raises(MalformedFile, match="is not compressed, and claims"):
        values_of(path)
    data, footer = path.read_bytes(), fastparquet.ParquetFile(str(path)).fmd
    footer.created_by = b"parquet-cpp version 1.5.1-SNAPSHOT"
    encoded = bytes(footer.to_bytes())
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[:start] + encoded + len(encoded).to_bytes(4, "little") + b"PAR1")
    assert values_of(path) == [7] * 100
    assert pr.count(path, where="x = 7") == 100
