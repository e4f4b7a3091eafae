from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark.sql.types import DateType, LongType, StringType, StructField, StructType

from parquet_core.layout.spec import LayoutSpec
from prune_assets.dagster.metadata import column_schema, layout_metadata, layout_version, skip_metadata, table_uri
from prune_assets.report.figures import FIGURES
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
    assert (metadata["prune/total_rows"], metadata["prune/kept_rows"]) == (1_000, 50)
    assert metadata["prune/skipped_bytes_share"] == 1
    numbers = [key for key, value in metadata.items() if isinstance(value, int | float)]
    assert numbers == [f"prune/{figure.name}" for figure in FIGURES]
    assert all(key.startswith("prune/") for key in metadata)
    (row,) = metadata["prune/levels"].records
    assert (row.data["level"], row.data["rows kept"], row.data["why"]) == ("bloom_filter", 50, "asked 10")
    text = metadata["prune/summary"].value
    assert text.startswith("**Skipped 4.9 KiB of 4.9 KiB (100 %)**")
    assert "(data:image/svg+xml;base64," in metadata["prune/picture"].value
    assert "Does not prune: `f(word)`: f is unknown. Write it out." in text


def test_sql_with_quotes_of_its_own_stays_code():
    part = UnsupportedPart("`a b` = f(1)\n AND ![x](http://y)", "f is unknown", "Write it out.")
    text = skip_metadata(replace(REPORT, unsupported=(part,)))["prune/summary"].value
    assert "Does not prune: `` `a b` = f(1)\\n AND ![x](http://y) ``: f" in text


def test_a_summary_has_what_was_measured():
    assert skip_metadata(REPORT, measured=["Read in 3 s."])["prune/summary"].value.splitlines()[2] == "Read in 3 s."


def test_of_an_empty_table_nothing_is_skipped():
    empty = Extent(1, 0, 0, 0, 0)
    assert skip_metadata(replace(REPORT, total=empty, kept=empty))["prune/skipped_bytes_share"] == 0
