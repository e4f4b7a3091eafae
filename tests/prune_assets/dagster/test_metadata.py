from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark.sql.types import DateType, LongType, StringType, StructField, StructType

from parquet_core.layout.spec import LayoutSpec
from prune_assets.dagster.metadata import column_schema, layout_metadata, layout_version, skip_metadata, table_uri
from prune_assets.report.skip_report import Extent, Level, SkipReport, UnsupportedPart

LAYOUT = LayoutSpec(sort_by=("Day", "id"), bloom={"id": 0.005})
SCHEMA = StructType(
    [StructField("day", DateType()), StructField("id", LongType(), nullable=False), StructField("word", StringType())]
)
TOTAL, KEPT = Extent(2, 10, 40, 1_000, 5_000), Extent(1, 1, 2, 50, 0)
REPORT = SkipReport(
    table="t",
    predicate="id = 1 AND f(word)",
    normalized="id = 1",
    unsupported=(UnsupportedPart("f(word)", "f is unknown", "Write it out."),),
    levels=(Level("bloom_filter", "row group", TOTAL, replace(KEPT, pages=None), 950, 5_000, "consulted", "asked 10"),),
    total=TOTAL,
    kept=KEPT,
    conjuncts=(),
    files=(),
    implied=(),
    requests=3,
    bytes_fetched=300,
    index_bytes=100,
    bloom_bytes=0,
    seconds=0.25,
    estimated=False,
)


def test_columns_show_their_place_in_the_layout():
    day, number, word = column_schema(SCHEMA, LAYOUT).columns
    assert (day.tags, day.constraints.other) == ({"sort_key": "1"}, ["sorted ascending (1)"])
    assert number.tags == {"sort_key": "2", "bloom_filter": "0.005"}
    assert number.constraints.other == ["sorted ascending (2)", "bloom filter 0.50%"]
    assert (number.constraints.nullable, day.constraints.nullable) == (False, True)
    assert (word.type, word.tags, word.constraints.other) == ("string", {}, [])


def test_the_version_follows_the_layout_alone():
    assert layout_version(LAYOUT) == layout_version(replace(LAYOUT))
    assert layout_version(LAYOUT) != layout_version(replace(LAYOUT, page_rows=7))


def test_a_table_has_an_address():
    assert table_uri("/a b/t") == "file:///a%20b/t"
    assert table_uri("s3://bucket/t") == "s3://bucket/t"
    assert layout_metadata(LAYOUT, Path("/t"))["dagster/uri"] == "file:///t"


def test_a_report_becomes_numbers_a_table_and_a_summary():
    metadata = skip_metadata(REPORT)
    assert (metadata["total_rows"], metadata["kept_rows"], metadata["kept_pages"]) == (1_000, 50, 2)
    assert metadata["kept_bytes_fraction"] == 0
    assert metadata["bloom_filter_skipped_rows"] == 950
    (row,) = metadata["levels"].records
    assert (row.data["level"], row.data["rows kept"], row.data["why"]) == ("bloom_filter", 50, "asked 10")
    text = metadata["summary"].value
    assert "| rows | 1,000 | 50 |" in text
    assert "Not used to skip: `f(word)` (f is unknown). Write it out." in text


def test_pages_that_nobody_counted_are_left_out():
    metadata = skip_metadata(replace(REPORT, kept=replace(KEPT, pages=None)))
    assert "kept_pages" not in metadata
    assert "| pages |" not in metadata["summary"].value


def test_an_empty_table_keeps_everything_it_has():
    empty = Extent(1, 0, 0, 0, 0)
    assert skip_metadata(replace(REPORT, total=empty, kept=empty))["kept_bytes_fraction"] == 1.0
