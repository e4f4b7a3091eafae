"""Rows, pages and bytes that a plan keeps, compared with the offset indexes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chunk_facts import chunk_at

from parquet_core.dataset.opening import read_dataset
from parquet_core.pruning import prune
from parquet_core.pruning.predicate import Compare, Interval, Op
from prune_assets.planner import extents
from prune_assets.planner.extents import extent_of, kept_by, measure

ALL = Compare(("a",), Op.GE, pa.scalar(0))
FEW = Interval(("a",), pa.scalar(131), pa.scalar(158))


@pytest.fixture
def index(tmp_path):
    """Two files of 2 and 1 row groups, 100 rows each; pages of `a` and `b` have 10 and 100 rows."""
    (tmp_path / "t").mkdir()
    for i, (start, stop) in enumerate([(0, 200), (200, 300)]):
        table = pa.table({"a": list(range(start, stop)), "b": [f"{n:050}" for n in range(start, stop)]})
        options = {"row_group_size": 100, "max_rows_per_page": 10, "write_batch_size": 1}
        pq.write_table(table, tmp_path / f"t/{i}.parquet", write_page_index=True, compression="none", **options)
    return read_dataset(tmp_path / "t")


def total_of(index, columns):
    return extent_of(index, measure(index, columns), np.ones(len(index), bool))


def test_the_total_is_what_pyarrow_adds_up(index, tmp_path):
    metadata = [pq.read_metadata(path) for path in sorted((tmp_path / "t").iterdir())]
    groups = [m.row_group(i) for m in metadata for i in range(m.num_row_groups)]
    total = total_of(index, index.groups.columns)
    assert (total.files, total.row_groups, total.rows) == (2, 3, 300)
    assert total.bytes == sum(group.column(c).total_compressed_size for group in groups for c in range(2))
    assert total_of(index, index.groups.columns[:1]).bytes == sum(
        group.column(0).total_compressed_size for group in groups
    )
    assert total.pages == 60


def test_a_selection_counts_its_pages_and_dictionaries(index):
    access = prune(FEW, index).access
    kept = kept_by(access, index, index.groups.columns, measure(index, index.groups.columns))
    extent = kept.extent(index)
    assert access.ranges.of(1).tolist() == [[30, 60]]
    assert (extent.files, extent.row_groups, extent.pages, extent.rows) == (1, 1, 6, 30)
    assert not kept.estimated
    expected = 0
    for column, offsets in zip(
        index.groups.columns, index.page_indexes.locations(index.groups.columns, np.array([1])), strict=True
    ):
        expected += int(offsets.offset[0]) - chunk_at(index.footers.chunks(column), 1).first_page_offset
        expected += int(offsets.compressed_bytes[3:6].sum())
    assert extent.bytes == expected
    assert 0 < extent.bytes < total_of(index, index.groups.columns).bytes / 3, "a row group is a third"


def test_what_is_scanned_is_counted_whole(index):
    kept = kept_by(prune(ALL, index).access, index, index.groups.columns, measure(index, index.groups.columns))
    assert kept.extent(index) == total_of(index, index.groups.columns)


def test_too_many_columns_are_counted_pro_rata(index, monkeypatch):
    monkeypatch.setattr(extents, "MAX_OFFSET_INDEXES", 1)
    kept = kept_by(prune(FEW, index).access, index, index.groups.columns, measure(index, index.groups.columns))
    assert kept.estimated
    extent = kept.extent(index)
    assert (extent.rows, extent.pages) == (30, None)
    assert extent.bytes == -(-int(measure(index, index.groups.columns).bytes[1]) * 30 // 100)


def test_without_offset_index_bytes_are_estimated(tmp_path):
    table = pa.table({"a": list(range(100)), "b": list(range(100))})
    pq.write_table(table, tmp_path / "t.parquet")
    index = read_dataset(tmp_path / "t.parquet")
    access = prune(ALL, index).access
    assert not kept_by(access, index, index.groups.columns, measure(index, index.groups.columns)).estimated, (
        "a scan reads it all"
    )
