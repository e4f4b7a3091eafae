"""Reading the values of many small row groups takes a constant number of calls for each."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
from call_counts import calls

import prune_assets as pr
from parquet_core.storage import list_data_files
from parquet_core.values import open_values


def written(directory, groups):
    path = directory / f"{groups}.parquet"
    table = pa.table({"a": pa.array(range(groups), pa.int64()), "b": [f"v{i % 7}" for i in range(groups)]})
    pq.write_table(table, path, row_group_size=1, write_page_index=True)
    return path


def test_batches_take_as_many_calls_for_each_row_group(tmp_path):
    def read(path):
        with open_values(list_data_files(path)[0]) as values:
            batches = list(values.batches(values.row_groups, ["a", "b"]))
        return pa.Table.from_batches(batches).column("a").to_pylist()

    small, large = written(tmp_path, 200), written(tmp_path, 800)
    assert read(large) == list(range(800))
    assert calls(lambda: read(large)) < 5 * calls(lambda: read(small))


def test_the_check_of_an_order_takes_as_many_calls_for_each_row_group(tmp_path):
    def check(path):
        findings = pr.check(path, layout=pr.LayoutSpec(sort_by=["a", "b"]))
        return next(finding for finding in findings if finding.code == "order.rows").message

    small, large = written(tmp_path, 200), written(tmp_path, 800)
    assert check(large) == "all 800 rows ascend inside their files"
    assert calls(lambda: check(large)) < 5 * calls(lambda: check(small))
