from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DateType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from parquet_core.errors import LayoutError
from parquet_core.layout.sort_key import SortKey
from parquet_core.layout.spec import CODECS, LayoutSpec
from prune_assets.tables.writes.write_options import WriteLayout, bind_layout, refuse_unknown_columns, write_options

SCHEMA = StructType(
    [
        StructField("Key", LongType()),
        StructField("day", DateType()),
        StructField("flag", BooleanType()),
        StructField("a.b", LongType()),
        StructField("buyer", StructType([StructField("City", StringType())])),
        StructField("tags", ArrayType(StringType())),
        StructField("extra", MapType(StringType(), StringType())),
        StructField("word", StringType("UTF8_LCASE")),
    ]
)


def test_names_are_resolved_to_their_spelling():
    bound = bind_layout(
        SCHEMA, LayoutSpec(sort_by=["DAY"], bloom={"key": 0.01, "BUYER.city": 0.1}), case_sensitive=False
    )
    assert bound == WriteLayout((SortKey("day"),), {"Key": 0.01, "buyer.City": 0.1})


def test_a_case_sensitive_session_takes_names_literally():
    with pytest.raises(LayoutError, match="no column 'DAY'; did you mean 'day'"):
        bind_layout(SCHEMA, LayoutSpec(sort_by=["DAY"]), case_sensitive=True)


def test_a_sort_column_may_have_a_dot_in_its_name():
    assert bind_layout(SCHEMA, LayoutSpec(sort_by=["a.b"]), case_sensitive=False).sort_by == (SortKey("a.b"),)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (LayoutSpec(bloom={"flag": 0.1}), "bloom: flag is boolean, which cannot have a bloom filter"),
        (LayoutSpec(bloom={"tags": 0.1}), "bloom: tags is array<string>, which cannot have a bloom filter"),
        (LayoutSpec(bloom={"buyer": 0.1}), "bloom: buyer is struct<City:string>, which cannot have a bloom filter"),
        (LayoutSpec(bloom={"a.b": 0.1}), "takes the dot as nesting and ignores the column; rename the column"),
        (LayoutSpec(bloom={"key.x": 0.1}), "Key is bigint, not a struct"),
        (LayoutSpec(bloom={"buyer.town": 0.1}), "no column 'town'; the columns are City"),
        (LayoutSpec(bloom={"word": 0.1}), "compare only bytes"),
        (LayoutSpec(bloom={"key": 0.1, "KEY": 0.2}), "names a column twice"),
        (LayoutSpec(bloom={"KEY": 0.1}, dictionary={"Key.x": False}), "dictionary: Key.x: Key is bigint, not a struct"),
        (LayoutSpec(zorder_by=["key", "dya"]), "zorder_by: no column 'dya'; did you mean 'day'?"),
        (LayoutSpec(hilbert_by=["key", "extra"]), "hilbert_by: extra is map<string,string>, which cannot be sorted"),
        (LayoutSpec(sort_by=["word"]), "compare only bytes"),
        (LayoutSpec(sort_by=["extra"]), "cannot be sorted with usable bounds"),
        (LayoutSpec(sort_by=["dya"]), "no column 'dya'; did you mean 'day'?"),
    ],
)
def test_a_layout_that_cannot_be_written_says_why(layout, message):
    with pytest.raises(LayoutError) as caught:
        bind_layout(SCHEMA, layout, case_sensitive=False)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "layout",
    [
        LayoutSpec(sort_by=["DAY DESC"], bloom={"KEY": 0.1, "buyer.city": 0.1}),
        LayoutSpec(sort_by=["a.b"], dictionary={"Buyer.City": False}),
        LayoutSpec(zorder_by=["key", "day"]),
        LayoutSpec(partition_by=["Day"], sort_by=["key"]),
    ],
)
def test_what_is_written_names_no_unknown_column(layout):
    bind_layout(SCHEMA, layout, case_sensitive=False)
    refuse_unknown_columns(layout, SCHEMA.fieldNames())


def test_the_layout_becomes_options():
    layout = LayoutSpec(
        sort_by=["day"], bloom={"Key": 0.02}, page_rows=50, row_group_bytes=1 << 20, compression="snappy"
    )
    bound = WriteLayout((SortKey("day"),), {"Key": 0.02})
    assert write_options(layout, bound, row_group_rows=400, distinct={"Key": 123}) == {
        "compression": "snappy",
        "parquet.block.size": "1048576",
        "parquet.page.size": "1048576",
        "parquet.page.row.count.limit": "50",
        "parquet.page.size.row.check.min": "50",
        "maxRecordsPerFile": "0",
        "parquet.block.row.count.limit": "400",
        "parquet.bloom.filter.enabled#Key": "true",
        "parquet.bloom.filter.fpp#Key": "0.02",
        "parquet.bloom.filter.expected.ndv#Key": "123",
        "parquet.enable.dictionary#Key": "false",
    }


def test_encodings_become_options():
    layout = LayoutSpec(
        dictionary={"KEY": False, "buyer.city": True},
        compression_level=7,
        column_index_truncate_length=16,
        statistics_truncate_length=32,
    )
    bound = bind_layout(SCHEMA, layout, case_sensitive=False)
    options = write_options(layout, bound, row_group_rows=None, distinct={})
    assert {key: value for key, value in options.items() if "#" in key or "truncate" in key or "level" in key} == {
        "parquet.enable.dictionary#Key": "false",
        "parquet.enable.dictionary#buyer.City": "true",
        "parquet.compression.codec.zstd.level": "7",
        "parquet.columnindex.truncate.length": "16",
        "parquet.statistics.truncate.length": "32",
    }


def test_without_a_row_limit_none_is_set():
    options = write_options(LayoutSpec(), WriteLayout((), {}), row_group_rows=None, distinct={})
    assert "parquet.block.row.count.limit" not in options
    assert options["parquet.page.size.row.check.min"] == "100"


@pytest.mark.spark
def test_the_codecs_of_a_layout_are_those_of_spark(spark):
    codecs = spark._jvm.org.apache.spark.sql.execution.datasources.parquet.ParquetCompressionCodec.values()
    assert set(CODECS) == {codec.name().lower() for codec in codecs}
