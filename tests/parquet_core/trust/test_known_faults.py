"""Known bugs of writers: affected releases, and the claims that are not trusted."""

from __future__ import annotations

import base64

import numpy as np
import pyarrow as pa
import pytest
from written_statistics import written

from parquet_core.format.column_chunk import ALL_TRAITS, NO_TRAITS, ChunkTraits
from parquet_core.format.leaf_type import sort_order
from parquet_core.format.provenance import Provenance
from parquet_core.format.schema import LeafColumn, Physical, SchemaElement
from parquet_core.trust.known_faults import KNOWN_FAULTS, faults_of
from parquet_core.trust.trust_policy import trust
from parquet_core.trust.trusted_bounds import trusted_bounds
from parquet_core.trust.writer_fault import Fact

STRING = (pa.string(), Physical.BYTE_ARRAY, 0)
WIDE_DECIMAL = (pa.decimal128(20, 2), Physical.FIXED_LEN_BYTE_ARRAY, 9)
INT32_DECIMAL = (pa.decimal128(9, 2), Physical.INT32, 0)
DOUBLE = (pa.float64(), Physical.DOUBLE, 0)
UINT64 = (pa.uint64(), Physical.INT64, 0)
INT64 = (pa.int64(), Physical.INT64, 0)


@pytest.mark.parametrize(
    ("created_by", "codes"),
    [
        ("parquet-cpp version 1.3.2-SNAPSHOT", {"PARQUET-1225", "PARQUET-1655", "ARROW-12513", "ARROW-1644"}),
        ("parquet-cpp version 1.5.1-SNAPSHOT", {"PARQUET-1655", "ARROW-12513", "ARROW-1644"}),
        ("parquet-cpp-arrow version 4.0.1", {"ARROW-12513"}),
        ("parquet-cpp-arrow version 5.0.0", {"ARROW-12513"}),
        ("parquet-cpp-arrow version 6.0.0-SNAPSHOT", {"ARROW-12513", "arrow#15042"}),
        ("parquet-cpp-arrow version 6.0.1", {"arrow#15042"}),
        ("parquet-cpp-arrow version 10.0.1", {"arrow#15042"}),
        ("parquet-cpp-arrow version 11.0.0-SNAPSHOT", {"arrow#15042"}),
        ("parquet-cpp-arrow version 11.0.0", set()),
        ("parquet-cpp-arrow version 21.0.0", set()),
        (
            "parquet-mr version 1.7.0 (build 32c46643845ea8a705c35d4ec8fc654cc8ff816d)",
            {"PARQUET-251", "starrocks#78329"},
        ),
        ("parquet-mr version 1.5.0-cdh5.4.9", {"PARQUET-251", "starrocks#78329"}),
        ("parquet-mr version 1.5.0-cdh5.12.0", {"starrocks#78329"}),
        ("parquet-mr version 1.10.0", set()),
        ("parquet-mr version 1.13.1 (build db4183109d5b734ec5930d870cdae161e408ddba)", set()),
        ("Polars (python) version 2.0.0 (build 1)", {"polars#15323", "polars#16683"}),
        ("Polars (python) version 2.1.0 (build 1)", set()),
        ("ClickHouse v24.8.4.1-lts", {"ClickHouse#83754", "ClickHouse#103039"}),
        ("ClickHouse version 25.8.1 (build 1)", {"ClickHouse#103039"}),
        ("ClickHouse v26.6.1.1-stable", set()),
        ("github.com/parquet-go/parquet-go version 0.32.0(build )", {"parquet-go#595", "parquet-go#496"}),
        ("parquet-rs version 12.0.0", {"arrow-rs#1532"}),
        ("parquet-rs version 53.0.0", set()),
        ("parquet-go version 18.4.1", {"arrow-go#917", "arrow-go#525"}),
        (
            "parquet-go version latest",
            {"PARQUET-251", "arrow-go#210", "arrow-go#917", "arrow-go#525", "xitongsys/parquet-go nulls"},
        ),
        ("DuckDB", {"DuckDB before 0.10", "PARQUET-251"}),
        ("DuckDB version v1.2.0 (build 5f5512b827)", set()),
    ],
)
def test_a_release_has_the_faults_of_its_time(created_by, codes):
    assert {fault.code for fault in faults_of(created_by)} == codes


def test_each_entry_names_its_source_and_takes_something_away():
    for fault in KNOWN_FAULTS:
        assert fault.source.startswith("https://"), fault.code
        assert fault.wrong, fault.code
        assert fault.what, fault.code
        assert fault.proof, fault.code


def judged(form, created_by, *, arrow=None, path=("x",), definition=1, traits=ALL_TRAITS):
    """Return the trust in one column of a file, which may contain its Arrow schema."""
    values, physical, length = form
    column = LeafColumn(path, 0, physical, values, sort_order(values, physical), length, definition)
    stored = {} if arrow is None else {"ARROW:schema": base64.b64encode(arrow.serialize()).decode()}
    elements = (SchemaElement("schema", children=1), SchemaElement("x", physical=int(physical)))
    return column, trust(column, Provenance((column,), (1,), stored, created_by, elements), traits=traits)


def facts(form, created_by, entry, *, pages=False, **options):
    """Return the trusted lower bound, upper bound and null count of one container."""
    column, of_file = judged(form, created_by, **options)
    bounds = trusted_bounds(column, written([{"rows": 10, **entry}], pages=pages), [of_file], np.zeros(1, np.int64))
    return tuple(getattr(bounds, name)[0].as_py() for name in ("lower", "upper", "null_count"))


ENTRY = {"min": b"a", "max": b"m", "nulls": 0}
DICTIONARY = pa.schema([pa.field("x", pa.dictionary(pa.int32(), pa.string()))])
PLAIN = pa.schema([pa.field("x", pa.string())])


@pytest.mark.parametrize("version", ["parquet-cpp version 1.5.1-SNAPSHOT", "parquet-cpp-arrow version 5.0.0"])
def test_null_counts_of_arrow_dictionaries_are_not_trusted_but_their_bounds_are(version):
    assert facts(STRING, version, ENTRY, arrow=DICTIONARY) == (b"a", b"m", None)
    assert facts(STRING, version, ENTRY, arrow=PLAIN) == (b"a", b"m", 0)


def test_shared_dictionaries_take_bounds_and_null_count():
    version = "parquet-cpp-arrow version 8.0.0"
    assert facts(STRING, version, ENTRY, arrow=DICTIONARY) == (None, None, None)
    assert facts(STRING, version, ENTRY, arrow=PLAIN) == (b"a", b"m", 0)
    assert facts(STRING, "parquet-cpp-arrow version 11.0.0", ENTRY, arrow=DICTIONARY) == (b"a", b"m", 0)


def test_a_chunk_without_a_dictionary_page_was_not_written_from_a_dictionary():
    version = "parquet-cpp-arrow version 8.0.0"
    assert facts(STRING, version, ENTRY) == (None, None, None), "without an Arrow schema it may have been"
    assert facts(STRING, version, ENTRY, traits=NO_TRAITS) == (b"a", b"m", 0)
    assert facts(STRING, version, ENTRY, traits=ChunkTraits.SEVERAL_PAGES) == (b"a", b"m", 0)


def test_numbers_of_arrow_dictionaries_are_written_as_plain_values():
    entry = {"min": bytes(8), "max": bytes(8), "nulls": 0}
    schema = pa.schema([pa.field("x", pa.dictionary(pa.int32(), pa.int64()))])
    assert facts(INT64, "parquet-cpp-arrow version 8.0.0", entry, arrow=schema) == (0, 0, 0)


@pytest.mark.parametrize("damage", ["", "AAAA", "no base64", base64.b64encode(b"\xff" * 40).decode()])
def test_a_damaged_arrow_schema_is_no_schema(damage):
    values, physical, _ = STRING
    column = LeafColumn(("x",), 0, physical, values, sort_order(values, physical), 0, 1)
    stored = {"ARROW:schema": damage}
    assert Fact.BOUNDS in trust(column, Provenance((column,), (1,), stored, "parquet-cpp-arrow version 8.0.0")).wrong
    floats = LeafColumn(("x",), 0, Physical.DOUBLE, pa.float64(), sort_order(pa.float64(), Physical.DOUBLE), 0, 1)
    assert Fact.BOUNDS in trust(floats, Provenance((floats,), (1,), stored, "Polars")).wrong


def decimal(number):
    return number.to_bytes(9, "big", signed=True)


def test_decimals_compared_as_signed_bytes_keep_only_their_null_count():
    entry = {"min": decimal(150), "max": decimal(256), "nulls": 0}
    assert facts(WIDE_DECIMAL, "parquet-cpp version 1.5.1-SNAPSHOT", entry) == (None, None, 0)
    assert None not in facts(WIDE_DECIMAL, "parquet-cpp-arrow version 4.0.0", entry)


def test_polars_merged_the_bounds_of_pages_and_wrote_those_of_pages_right():
    entry = {"min": decimal(55), "max": decimal(999_983), "nulls": 0}
    assert facts(WIDE_DECIMAL, "Polars", entry, traits=ChunkTraits.SEVERAL_PAGES) == (None, None, 0)
    assert None not in facts(WIDE_DECIMAL, "Polars", entry, traits=NO_TRAITS), "of one page nothing is merged"
    assert None not in facts(WIDE_DECIMAL, "Polars", entry, pages=True)
    assert None not in facts(WIDE_DECIMAL, "Polars (python) version 2.1.0 (build 1)", entry)


def test_the_longer_of_two_maxima_of_polars_may_be_missing_and_so_may_the_shorter_minimum():
    assert facts(STRING, "Polars", ENTRY, traits=ChunkTraits.SEVERAL_PAGES) == (None, b"n", 0)
    assert facts(STRING, "Polars", ENTRY, traits=NO_TRAITS) == (b"a", b"m", 0), "of one page nothing is merged"
    assert facts(STRING, "Polars", ENTRY, pages=True) == (b"a", b"m", 0)
    assert facts(STRING, "Polars", {**ENTRY, "max": b"\xff"}) == (None, None, 0)


def test_polars_before_1_reset_floats_at_a_nan_and_compared_unsigned_integers_as_signed():
    floats = {"min": np.float64(1).tobytes(), "max": np.float64(2).tobytes(), "nulls": 0}
    assert facts(DOUBLE, "Polars", floats, traits=NO_TRAITS) == (None, None, 0)
    assert facts(DOUBLE, "Polars", floats, pages=True) == (None, None, 0)
    integers = {"min": bytes(8), "max": bytes(8), "nulls": 0}
    assert facts(UINT64, "Polars", integers, traits=NO_TRAITS) == (None, None, 0)
    assert facts(INT64, "Polars", integers, traits=NO_TRAITS) == (0, 0, 0)


def test_polars_before_2_1_lost_bounds_of_floats_where_pages_have_a_nan():
    floats = {"min": np.float64(1).tobytes(), "max": np.float64(2).tobytes(), "nulls": 0}
    marked = pa.schema([pa.field("x", pa.float64()), pa.field("y", pa.float64())])
    for version in ("Polars", "Polars (python) version 2.0.0 (build 1)"):
        assert facts(DOUBLE, version, floats, arrow=marked, traits=ChunkTraits.SEVERAL_PAGES) == (None, None, 0)
        assert facts(DOUBLE, version, floats, arrow=marked, traits=NO_TRAITS) == (1.0, 2.0, 0), "nothing is merged"
        assert facts(DOUBLE, version, floats, arrow=marked, pages=True) == (1.0, 2.0, 0)
    fixed = "Polars (python) version 2.1.0 (build 1)"
    assert facts(DOUBLE, fixed, floats, traits=ChunkTraits.SEVERAL_PAGES) == (1.0, 2.0, 0)


def test_polars_counts_the_nulls_of_dictionary_pages_once_too_often():
    entry = {"min": bytes(8), "max": bytes(8), "nulls": 4}
    assert facts(INT64, "Polars", entry) == facts(INT64, "Polars", entry, pages=True) == (0, 0, None)
    assert facts(INT64, "Polars", {**entry, "nulls": 0}) == (0, 0, 0), "0 times the pages is right"
    for traits in (NO_TRAITS, ChunkTraits.DICTIONARY, ChunkTraits.SEVERAL_PAGES):
        assert facts(INT64, "Polars", entry, traits=traits) == (0, 0, 4)


def test_long_texts_of_hyparquet_are_prefixes():
    short, long = {"min": b"a" * 15, "max": b"b" * 15}, {"min": b"a" * 16, "max": b"b" * 16}
    assert facts(STRING, "hyparquet", short)[:2] == (b"a" * 15, b"b" * 15)
    for pages in (False, True):
        assert facts(STRING, "hyparquet", long, pages=pages)[:2] == (b"a" * 16, b"b" * 15 + b"c")
    column, of_file = judged(STRING, "hyparquet")
    claimed = written([{"rows": 10, **long, "min_exact": 1, "max_exact": 1}])
    bounds = trusted_bounds(column, claimed, [of_file], np.zeros(1, np.int64))
    assert (bounds.min_exact[0].as_py(), bounds.max_exact[0].as_py()) == (None, None)


def test_int32_decimals_of_hyparquet_have_no_bounds():
    entry = {"min": np.float32(1).tobytes(), "max": np.float32(2).tobytes(), "nulls": 0}
    assert facts(INT32_DECIMAL, "hyparquet", entry) == (None, None, 0)
    assert facts(INT32_DECIMAL, "hyparquet", entry, pages=True)[:2] == (None, None)


def test_null_structs_were_not_counted_as_nulls_of_their_fields():
    entry = {"min": bytes(8), "max": bytes(8), "nulls": 0}
    column, of_file = judged(INT64, "parquet-cpp version 1.5.1-SNAPSHOT", path=("s", "x"), definition=2)
    bounds = trusted_bounds(column, written([{"rows": 10, **entry}]), [of_file], np.zeros(1, np.int64))
    assert (bounds.lower[0].as_py(), bounds.null_count[0].as_py()) == (0, None)
    assert facts(INT64, "parquet-cpp version 1.5.1-SNAPSHOT", entry) == (0, 0, 0)


def test_a_file_that_trusts_its_writer_has_all_facts():
    """The trust of a reader that does not know the bugs."""
    values, physical, _ = STRING
    column = LeafColumn(("x",), 0, physical, values, sort_order(values, physical), 0, 1)
    believed = trust(column, Provenance((column,), (1,), {}, "parquet-cpp-arrow version 8.0.0"), believing=True)
    assert believed.bounds
    assert not believed.wrong


def test_duckdb_adds_the_nulls_of_earlier_row_groups():
    """All rows null by the count and no bounds, as for floats with NaN: nothing proves it."""
    assert facts(DOUBLE, "DuckDB", {"nulls": 10}) == (None, None, None)
    assert facts(DOUBLE, "DuckDB", {"nulls": 0})[2] == 0
    assert facts(DOUBLE, "DuckDB version v1.2.0 (build 5f5512b827)", {"nulls": 10})[2] == 10
