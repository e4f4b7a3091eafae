"""Layouts translated to Iceberg, without Spark: table properties, filter sizes, partition transforms."""

from __future__ import annotations

import pytest

pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")

import prune_assets as pr
from parquet_core.errors import LayoutError
from prune_assets.tables.iceberg.writes.partition_by import PartitionTransform, are_same, parse_transform
from prune_assets.tables.iceberg.writes.table_properties import creation, properties_of, removed_properties

SPARK = {
    "parquet.bloom.filter.fpp#id": "0.01",
    "parquet.bloom.filter.expected.ndv#id": "1000",
    "parquet.page.size.row.check.min": "100",
}


def properties(layout, options=SPARK, present=None):
    return properties_of(layout, options, partitioned=False, present=present or {})


def test_the_keys_of_a_layout_become_properties():
    layout = pr.LayoutSpec(
        sort_by=["id"],
        page_rows=5,
        page_bytes=6,
        row_group_bytes=7,
        target_file_bytes=8,
        compression="zstd",
        compression_level=3,
        column_index_truncate_length=9,
    )
    assert properties(layout, {"parquet.page.size.row.check.min": "5"}) == {
        "write.distribution-mode": "range",
        "write.parquet.compression-codec": "zstd",
        "write.parquet.compression-level": "3",
        "write.parquet.page-row-limit": "5",
        "write.parquet.page-size-bytes": "6",
        "write.parquet.row-group-size-bytes": "7",
        "write.parquet.row-group-check-min-record-count": "5",
        "write.target-file-size-bytes": "8",
        "parquet.columnindex.truncate.length": "9",
    }


def test_filters_are_sized_and_dictionaries_given_up_for_them():
    layout = pr.LayoutSpec(bloom={"id": 0.01})
    sized = properties(layout)
    assert sized["write.parquet.bloom-filter-enabled.column.id"] == "true"
    assert sized["write.parquet.bloom-filter-ndv.column.id"] == "1000"
    assert sized["write.parquet.bloom-filter-max-bytes"] == str(1 << 20)
    assert sized["parquet.enable.dictionary"] == "false"
    many = properties(layout, SPARK | {"parquet.bloom.filter.expected.ndv#id": "3000000"})
    assert many["write.parquet.bloom-filter-max-bytes"] == str(4 << 20)


@pytest.mark.parametrize(("before", "after"), [(799, 1000), (800, 800), (1000, 1000), (900_000, 900_000)])
def test_a_filter_that_is_large_enough_stays(before, after):
    present = {"write.parquet.bloom-filter-ndv.column.id": str(before)}
    sized = properties(pr.LayoutSpec(bloom={"id": 0.01}), present=present)
    assert sized["write.parquet.bloom-filter-ndv.column.id"] == str(after)


def test_what_the_layout_does_not_ask_for_is_taken_back():
    present = properties(pr.LayoutSpec(bloom={"id": 0.01})) | {"write.parquet.bloom-filter-enabled.column.b": "true"}
    single, empty = pr.LayoutSpec(bloom={"id": 0.01}), pr.LayoutSpec()
    assert removed_properties(single, present) == ["write.parquet.bloom-filter-enabled.column.b"]
    assert set(removed_properties(empty, present)) == {
        *(name for name in present if ".column." in name),
        "parquet.enable.dictionary",
    }
    assert removed_properties(empty, {"parquet.enable.dictionary": "false"}) == []


@pytest.mark.parametrize(
    ("text", "transform"),
    [
        ("day", PartitionTransform("day")),
        ("a b", PartitionTransform("a b")),
        ("hour( ts )", PartitionTransform("ts", "hours")),
        ("YEARS(ts)", PartitionTransform("ts", "years")),
        ("bucket(16, `a,b`)", PartitionTransform("a,b", "bucket", 16)),
        ("truncate(4,st.word)", PartitionTransform("st.word", "truncate", 4)),
    ],
)
def test_a_transform_is_parsed(text, transform):
    assert parse_transform(text) == transform


@pytest.mark.parametrize("text", ["bucket(id)", "days(4, ts)", "minutes(ts)"])
def test_what_is_no_transform_is_refused(text):
    with pytest.raises(LayoutError, match=r"Iceberg has years, months, days, hours \(COLUMN\), and bucket"):
        parse_transform(text)


def test_names_of_columns_differ_in_case_alone():
    assert are_same([parse_transform("DAYS(Ts)")], [PartitionTransform("ts", "days")])
    assert not are_same([parse_transform("days(ts)")], [parse_transform("ts")])


def test_a_table_is_made_with_names_and_texts_quoted():
    by = [parse_transform("a b"), parse_transform("bucket(2, id)")]
    assert creation("`lake`.`t`", "`a b` int", by, {"it's": "a\\b"}) == (
        "CREATE TABLE `lake`.`t` (`a b` int) USING iceberg PARTITIONED BY (`a b`, bucket(2, id)) "
        "TBLPROPERTIES ('it\\'s' = 'a\\\\b')"
    )
