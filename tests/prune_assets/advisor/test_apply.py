"""`apply_advice`: the table really gets the advised layout, whatever kind it is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr


@pytest.mark.spark
def test_a_curve_is_applied_and_reads_what_was_promised(spark, tmp_path):
    """Two columns that queries filter on apart from each other: the commonest case that no single sort key serves."""
    rng = np.random.default_rng(2)
    table, queries = str(tmp_path / "orders"), ["shop = 77", "day = 33"]
    (tmp_path / "orders").mkdir()
    for i in range(4):
        rows = {"id": rng.integers(0, 1 << 40, 60_000), "shop": rng.integers(0, 2_000, 60_000)}
        rows["day"] = rng.integers(0, 90, 60_000)
        pq.write_table(pa.table(rows), f"{table}/part-{i}.parquet", write_page_index=True)
    advice = pr.advise(table, workload=queries)
    assert advice.advised.layout.curve_by
    before = pr.count(table, where=queries[0])
    done = pr.apply_advice(spark, table, advice, workload=queries)
    assert done.now < 2 * done.promised < 0.5 * done.before
    assert pr.count(table) == 240_000
    assert pr.count(table, where=queries[0]) == before
