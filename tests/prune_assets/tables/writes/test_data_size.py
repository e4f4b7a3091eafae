from __future__ import annotations

from parquet_core.layout.spec import LayoutSpec
from prune_assets.tables.writes.data_size import DataSize, file_count, row_group_rows


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


def test_data_with_bloom_filters_are_written_as_eight_row_groups_or_more():
    layout = LayoutSpec(sort_by=["day"], bloom={"id": 0.01})
    small, large = DataSize(1_008_000, 100_000_000), DataSize(100_000_000, 10_000_000_000)
    assert (row_group_rows(small, LayoutSpec(sort_by=["day"])), row_group_rows(small, layout)) == (1_352_914, 126_000)
    assert row_group_rows(DataSize(50_000, 5_000_000), layout) == 100_000
    assert row_group_rows(large, layout) == row_group_rows(large, LayoutSpec(sort_by=["day"]))
    assert row_group_rows(small, LayoutSpec(bloom={"id": 0.01}, row_group_rows=400_000)) == 400_000
