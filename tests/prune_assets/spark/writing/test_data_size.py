from __future__ import annotations

from parquet_core.layout.spec import LayoutSpec
from prune_assets.spark.writing.data_size import DataSize, file_count, row_group_rows


def test_files_hold_about_128_mebibytes():
    assert file_count(DataSize(0, 0), LayoutSpec()) == 1
    assert file_count(DataSize(1, (512 << 20) + 1), LayoutSpec()) == 2
    assert file_count(DataSize(1, (512 << 20) + 1), LayoutSpec(target_file_bytes=1 << 20)) == 129
    assert file_count(DataSize(1, 1 << 40), LayoutSpec(files=3)) == 3


def test_rows_of_a_row_group_follow_from_its_bytes_unless_given():
    size = DataSize(rows=1_000_000, plain_bytes=100_000_000)
    assert row_group_rows(size, LayoutSpec(row_group_rows=77)) == 77
    assert row_group_rows(size, LayoutSpec(row_group_bytes=1_000_000)) == 40_000
    assert row_group_rows(DataSize(0, 0), LayoutSpec(row_group_bytes=1_000)) == 1_000
