"""A table in a store is planned and checked like the same local table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.dataset.opening import read_dataset
from parquet_core.storage import list_data_files
from parquet_core.values import open_values


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """3 files in 2 partitions, 4 row groups each, 5 pages each, sorted by `id`."""
    root = tmp_path_factory.mktemp("pipeline") / "t"
    for i, part in enumerate(("day=1/0", "day=1/1", "day=a%3Ab/2")):
        (root / part).parent.mkdir(parents=True, exist_ok=True)
        ids = np.arange(1000) + 1000 * i
        data = pa.table({"id": ids, "name": [f"n{value:06}" for value in ids]})
        options = {"row_group_size": 250, "max_rows_per_page": 50, "write_batch_size": 1, "write_page_index": True}
        pq.write_table(data, root / f"{part}.parquet", **options)
    return root


def files_of(plan, root):
    return [
        (file.path.removeprefix(f"{root}/"), file.verdict, [group.verdict for group in file.row_groups])
        for file in plan.files
    ]


def test_the_same_metadata(table, root, upload):
    uri = upload(table, f"{root}/lake/t")
    here, there = read_dataset(table), read_dataset(uri)
    assert [file.path.removeprefix(uri) for file in there.groups.files] == [
        file.path.removeprefix(str(table)) for file in here.groups.files
    ]
    assert there.groups.columns == here.groups.columns
    assert there.groups.partitions == here.groups.partitions
    assert [column.path for column in there.groups.partitions] == [("day",)]
    for column in here.groups.columns:
        assert there.footers.bounds(column).lower.equals(here.footers.bounds(column).lower)
        assert there.footers.bounds(column).upper.equals(here.footers.bounds(column).upper)
    positions = np.arange(len(here))
    for column in here.groups.columns:
        mine, theirs = here.page_indexes.read(column, positions), there.page_indexes.read(column, positions)
        assert theirs.bounds.upper.equals(mine.bounds.upper)
        assert (theirs.first_row == mine.first_row).all()


@pytest.mark.parametrize("where", ["id = 1234", "id between 740 and 2010", "name >= 'n002900'", "id < 0"])
def test_the_same_plan(table, root, upload, where):
    uri = upload(table, f"{root}/lake/t")
    here, there = pr.plan(table, where=where), pr.plan(uri, where=where)
    assert files_of(there, uri) == files_of(here, table)
    assert there.report.kept == here.report.kept
    assert uri in there.report.to_json()


def test_the_same_findings(table, root, upload):
    uri = upload(table, f"{root}/lake/t")
    layout = pr.LayoutSpec(sort_by=["id"], page_rows=50)
    assert pr.check(uri, layout=layout) == pr.check(table, layout=layout)


def rows_of(file):
    with open_values(file) as values:
        batches = list(values.batches(values.row_groups, values.schema.names))
    return [row for batch in batches for row in batch.to_pylist()]


def test_rows_are_read_through_the_same_door(table, root, upload):
    uri = upload(table, f"{root}/lake/t")
    for here, there in zip(list_data_files(table), list_data_files(uri), strict=True):
        assert rows_of(there) == rows_of(here) == pq.read_table(here.path).to_pylist()
