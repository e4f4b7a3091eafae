"""Every corruption of a Parquet file is found: one that loses rows, or one that nothing relies on."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_thrift import BINARY, I32, I64, LIST

import prune_assets as pr
from parquet_core.bloom import parse_filter
from tests.corrupt_metadata.corrupt_file import COLUMNS, planted, write_correct
from tests.corrupt_metadata.corruptions import CONTRADICTIONS, UNSEEN, Place, bounds_of_another_row_group
from tests.corrupt_metadata.raw_metadata import RawMetadata
from tests.numbered_cases.cases import put, value_of

# Nothing prunes by these claims, so they are not checked.
NO_CLAIMS = {"distinct_values_that_cannot_be", "one_distinct_value", "sorted_the_other_way"}
# These do not corrupt this file: row groups have equal row counts, `s` has no nulls, the first page of `n` has no
# others.
TRUE = {
    ("rows_of_two_row_groups_exchanged", "n"),
    ("rows_of_two_row_groups_exchanged", "s"),
    ("one_page_marked_null_that_has_bounds", "n"),
    ("pages_without_the_nulls_of_the_chunk", "s"),
    ("chunk_without_nulls", "s"),
}
LIES = [
    (name, column)
    for name in {**CONTRADICTIONS, **UNSEEN}
    for column in ("n", "s")
    if name not in NO_CLAIMS and (name, column) not in TRUE
]


@pytest.fixture(scope="module")
def correct(tmp_path_factory):
    path = tmp_path_factory.mktemp("correct") / "t.parquet"
    write_correct(path)
    return path


@pytest.fixture
def corrupt(tmp_path):
    return tmp_path / "corrupt.parquet"


def codes(path, severity="error", **options):
    found = pr.audit(path, **options).findings
    return {finding.code for finding in found if severity in {"any", finding.severity}}


def test_correct_metadata_pass(correct):
    report = pr.audit(correct)
    assert report.is_true
    assert not report.findings
    assert report.claims == {
        "bloom_filter": 16,
        "dictionary": 8,
        "page_bounds": 152,
        "page_counts": 80,
        "page_order": 16,
        "page_rows": 80,
        "row_group_bounds": 32,
        "row_group_counts": 16,
    }


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "column"), LIES)
def test_a_corruption_is_found(correct, corrupt, name, column):
    planted(correct, corrupt, {**CONTRADICTIONS, **UNSEEN}[name], column)
    assert codes(corrupt, "any")


@pytest.mark.parametrize(("name", "column", "code"), [
    ("bounds_of_another_row_group", "n", "row_group_bounds"),
    ("bounds_of_another_row_group", "s", "row_group_bounds"),
    ("nulls_alone_without_bounds", "s", "row_group_null_count"),
    ("chunk_without_nulls", "n", "row_group_null_count"),
    ("row_group_of_no_rows_in_its_chunks_too", "n", "row_group_rows"),
    ("pages_cut_at_other_rows", "s", "page_rows"),
])  # fmt: skip
def test_what_loses_rows_is_an_error(correct, corrupt, name, column, code):
    planted(correct, corrupt, UNSEEN[name], column)
    assert code in codes(corrupt)


def page_bounds_too_tight(raw, at):
    """Tighten the bounds of the third page, which differ from those of the chunk, to exclude its minimum."""
    index = raw.column_index(at.group, at.column)
    lows = list(value_of(index, 2)[1])
    lows[2] = value_of(index, 3)[1][2]
    put(index, 2, LIST, (BINARY, lows))


def nulls_of_two_pages_exchanged(raw, at):
    index = raw.column_index(at.group, at.column)
    counts = list(value_of(index, 5)[1])
    counts[1], counts[2] = counts[2], counts[1]
    put(index, 5, LIST, (I64, counts))


@pytest.mark.parametrize(("corruption", "column", "expected"), [
    (page_bounds_too_tight, "s", ("page_bounds", "corrupt.parquet, row group 1, page 2, column s")),
    (nulls_of_two_pages_exchanged, "n", ("page_null_count", "corrupt.parquet, row group 1, page 2, column n")),
])  # fmt: skip
def test_a_corrupt_page_claim_names_the_page(correct, corrupt, corruption, column, expected):
    planted(correct, corrupt, corruption, column)
    (finding,) = (finding for finding in pr.audit(corrupt).findings if finding.severity == "error")
    assert (finding.code, finding.location) == expected


def test_a_finding_names_the_value_and_the_predicates_that_lose_it(correct, corrupt):
    planted(correct, corrupt, page_bounds_too_tight, "s")
    (finding,) = pr.audit(corrupt).findings
    assert finding.location == "corrupt.parquet, row group 1, page 2, column s"
    assert finding.message == (
        "the page claims min 'g1-0059', row 40 holds 'g1-0040': `s = 'g1-0040'` and `s < 'g1-0059'` lose it"
    )


@pytest.mark.parametrize("column", COLUMNS)
def test_a_value_that_its_bloom_filter_lacks_is_found(correct, corrupt, column):
    raw = RawMetadata(correct.read_bytes())
    meta = raw.meta(1, COLUMNS[column])
    offset, length = value_of(meta, 14), value_of(meta, 15)
    data = correct.read_bytes()
    blocks = parse_filter(data[offset : offset + length], place="t")
    assert not isinstance(blocks, str)
    bits = data.index(bytes(blocks.reshape(-1).view("u1")), offset)
    # A third of the filter's blocks is empty, so some of the 98 values between the bounds are missing.
    cleared = bytearray(data)
    cleared[bits + blocks.nbytes // 3 : bits + 2 * blocks.nbytes // 3] = bytes(
        2 * blocks.nbytes // 3 - blocks.nbytes // 3
    )
    corrupt.write_bytes(cleared)
    assert codes(corrupt, "any") & {"bloom_filter", "not_relied_on.bloom_filter"}


def test_a_dictionary_that_lacks_values_is_found(tmp_path, corrupt):
    """The dictionary was given up halfway; the footer says that it was not."""
    words = pa.array([f"word {i % 4000:05}" for i in range(8000)])
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"s": words}), path, dictionary_pagesize_limit=20_000, data_page_size=10_000)
    raw = RawMetadata(path.read_bytes())
    meta = raw.meta(0, 0)
    meta[:] = [field for field in meta if field[0] != 13]
    put(meta, 2, LIST, (I32, [2, 3]))
    corrupt.write_bytes(raw.bytes())
    assert not pr.audit(path).findings
    assert codes(corrupt) == {"dictionary"}


TYPES = {
    "bool": (pa.bool_(), [False, False], [True, True]),
    "int8": (pa.int8(), [-5, 1], [2, 9]),
    "int16": (pa.int16(), [-5, 1], [2, 9]),
    "int32": (pa.int32(), [-5, 1], [2, 9]),
    "uint32": (pa.uint32(), [1, 2], [3_000_000_000, 4_000_000_000]),
    "float": (pa.float32(), [-0.0, 1.5], [2.5, 9]),
    "double": (pa.float64(), [-0.0, 1.5], [2.5, float("inf")]),
    "date": (pa.date32(), [dt.date(2020, 1, 1)], [dt.date(2021, 1, 1)]),
    "milliseconds": (pa.timestamp("ms", "UTC"), [0, 86_400_000], [1_600_000_000_000]),
    "microseconds": (pa.timestamp("us"), [dt.datetime(2020, 1, 1)], [dt.datetime(2021, 1, 1)]),  # noqa: DTZ001
    "decimal_4": (pa.decimal128(5, 2), [Decimal("-1.25")], [Decimal("9.75")]),
    "decimal_8": (pa.decimal128(18, 2), [Decimal("-1.25")], [Decimal("9.75")]),
    "decimal_16": (pa.decimal128(38, 10), [Decimal("-1.25")], [Decimal("9.75")]),
    "string": (pa.string(), ["", "b"], ["zoë", "z" * 100]),
    "large_string": (pa.large_string(), ["a", "b"], ["y", "z"]),
    "string_view": (pa.string_view(), ["a", "b"], ["y", "z"]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["a", "b"], ["y", "z"]),
    "binary": (pa.binary(), [b"\x00", b"b"], [b"\xfe", b"\xff"]),
    "struct": (pa.struct([("a", pa.int32())]), [{"a": 1}, None], [{"a": 5}, {"a": None}, {"a": 6}]),
}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("index", [True, False])
def test_bounds_of_every_type_are_held_against_values(tmp_path, corrupt, name, index):
    kind, low, high = TYPES[name]
    path = tmp_path / "t.parquet"
    with pq.ParquetWriter(path, pa.schema([("x", kind)]), write_page_index=index) as writer:
        for values in (low, high, low):
            writer.write_table(pa.table({"x": pa.array(values, kind)}))
    report = pr.audit(path)
    assert not report.findings
    assert report.claims["row_group_bounds"] == 6
    raw = RawMetadata(path.read_bytes())
    bounds_of_another_row_group(raw, Place(0, 0, 1, 0))
    corrupt.write_bytes(raw.bytes())
    assert codes(corrupt) == {"row_group_bounds"}


NAN = float("nan")


@pytest.mark.parametrize("values", [
    [1.0, NAN, 2.0], [NAN, NAN], [-0.0, 0.0], [0.0], [-0.0, None], [None, None], [NAN, None], [float("-inf"), 1.0],
], ids=str)  # fmt: skip
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_zeros_and_nan_raise_no_false_alarm(tmp_path, values, kind):
    pq.write_table(
        pa.table({"x": pa.array(values, kind)}),
        tmp_path / "t.parquet",
        write_page_index=True,
        bloom_filter_options={"x": {"ndv": 10}},
    )
    assert not pr.audit(tmp_path).findings


@pytest.mark.spark
def test_bounds_that_are_nan_are_named(spark, tmp_path):
    spark.sql("SELECT if(id = 1, double('NaN'), id) AS x FROM range(3)").coalesce(1).write.parquet(str(tmp_path / "t"))
    (found, *_) = pr.audit(tmp_path / "t").findings
    assert found.message == "not relied on: a bound that is NaN does not limit the other values"


def test_a_nan_that_is_counted_as_none_is_found(tmp_path, corrupt):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1.0, NAN, 2.0]}), path)
    raw = RawMetadata(path.read_bytes())
    put(raw.statistics(0, 0), 9, I64, 0)
    corrupt.write_bytes(raw.bytes())
    assert codes(corrupt) == {"row_group_nan_count"}


def test_what_lies_in_a_list_is_skipped_with_a_reason(tmp_path):
    pq.write_table(pa.table({"xs": [[1, 2], [3]], "id": [1, 2]}), tmp_path / "t.parquet")
    report = pr.audit(tmp_path)
    assert report.skipped == {"xs.list.element": "lists and maps are not supported"}
    assert report.is_true


def test_a_sample_is_the_same_each_time_and_reads_less(correct):
    report = pr.audit(correct, sample=0.5)
    assert (report.audited_row_groups, report.rows) == (2, 200)
    assert report.read_bytes < pr.audit(correct).read_bytes
    assert pr.audit(correct, sample=0.5).claims == report.claims


def test_chosen_columns_and_files_are_read_alone(correct, tmp_path):
    for name in ("1", "2", "3", "4"):
        (tmp_path / f"{name}.parquet").write_bytes(correct.read_bytes())
    report = pr.audit(tmp_path, files=2, columns=["n"])
    assert (report.audited_files, report.rows, report.claims["row_group_bounds"]) == (2, 800, 16)


@pytest.mark.parametrize("options", [{"sample": 0}, {"sample": 1.5}, {"files": 0}, {"columns": ["no_such"]}])
def test_what_cannot_be_read_is_refused(correct, options):
    with pytest.raises(pr.PruneError):
        pr.audit(correct, **options)


def test_a_file_of_another_partition_is_found(tmp_path):
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=2").mkdir()
    pq.write_table(pa.table({"id": [1], "day": pa.array([1], pa.int32())}), tmp_path / "day=1" / "a.parquet")
    assert not pr.audit(tmp_path).findings
    pq.write_table(pa.table({"id": [1], "day": pa.array([1], pa.int32())}), tmp_path / "day=2" / "b.parquet")
    (finding,) = pr.audit(tmp_path).findings
    assert (finding.code, finding.location) == ("partition_bounds", "day=2/b.parquet, column day")
    assert "`day = 1`" in finding.message


def test_a_damaged_file_is_named_and_the_others_are_read(correct, corrupt, tmp_path):
    planted(correct, corrupt, CONTRADICTIONS["chunk_of_fewer_values"], "n")
    (tmp_path / "true.parquet").write_bytes(correct.read_bytes())
    report = pr.audit(tmp_path)
    (finding,) = (finding for finding in report.findings if finding.severity == "error")
    assert (finding.code, finding.location) == ("unreadable", "corrupt.parquet, column n")
    assert finding.message.startswith("could not be verified: ")
    assert finding.remedy == "write the file again"
    assert report.claims["page_rows"] > 80
