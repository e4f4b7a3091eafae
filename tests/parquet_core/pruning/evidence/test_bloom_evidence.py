"""Probing filters for many leaves together gives the same results as for each leaf alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.opening import read_dataset
from parquet_core.pruning.evidence import bloom
from parquet_core.pruning.evidence.bloom import outcomes_from_filters, outcomes_of_each_from_filters
from parquet_core.pruning.predicate import Compare, In, Interval, IsNull, Op


@pytest.mark.parametrize("cells", [1, 3, 1 << 20])
def test_leaves_asked_at_once_say_what_each_says_alone(tmp_path, monkeypatch, cells):
    monkeypatch.setattr(bloom, "MAX_CELLS", cells)
    kind = pa.int32()
    rows = pa.table({"a": pa.array(range(0, 300, 3), kind)})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=20, bloom_filter_options={"a": {"ndv": 20}})
    index = read_dataset(tmp_path / "t.parquet")
    (column,) = index.groups.columns
    filters = [None, *index.bloom_filters.read(column, np.arange(5))]
    leaves = [Compare(("a",), op, pa.scalar(n, kind)) for op in (Op.EQ, Op.NE, Op.LT) for n in (0, 1, 66, 67, 297)]
    leaves += [Compare(("a",), Op.EQ, pa.scalar(66, pa.int64())), In(("a",), pa.array([1, 66], kind)), IsNull(("a",))]
    leaves += [Interval(("a",), pa.scalar(n, kind), pa.scalar(n, kind)) for n in (66, 67)]
    found = outcomes_of_each_from_filters(leaves, column, filters)
    assert found.tolist() == [outcomes_from_filters(leaf, column, filters).tolist() for leaf in leaves]
    assert (found[leaves.index(Compare(("a",), Op.EQ, pa.scalar(67, kind)))][1:] != found[0, 0]).any()
