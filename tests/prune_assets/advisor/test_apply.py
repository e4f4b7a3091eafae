"""`advice.apply`: the table really gets the advised layout, whatever kind it is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import WrongUse


@pytest.fixture
def orders(tmp_path):
    """Unsorted orders whose queries select shops and days, so that no single sort key serves both."""
    rng = np.random.default_rng(2)
    (tmp_path / "orders").mkdir()
    for i in range(4):
        rows = {"id": rng.integers(0, 1 << 40, 60_000), "shop": rng.integers(0, 2_000, 60_000)}
        rows["day"] = rng.integers(0, 90, 60_000)
        pq.write_table(pa.table(rows), tmp_path / "orders" / f"part-{i}.parquet", write_page_index=True)
    return str(tmp_path / "orders")


QUERIES = ["shop = 77", "day = 33"]


@pytest.mark.spark
def test_a_curve_is_applied_and_reads_what_was_promised(spark, orders):
    advice = pr.advise(orders, workload=QUERIES)
    assert advice.advised.layout.curve_by
    before = pr.count(orders, where=QUERIES[0])
    done = advice.apply(workload=QUERIES, session=spark, budget=1 << 30)
    assert done.now < 2 * done.promised < 0.5 * done.before
    assert pr.count(orders) == 240_000
    assert pr.count(orders, where=QUERIES[0]) == before


@pytest.mark.spark
def test_a_budget_that_a_curve_does_not_fit_is_refused_before_anything_is_written(spark, orders):
    advice = pr.advise(orders, workload=QUERIES)
    files = sorted(file.path for file in pr.plan(orders, where="true").files)
    with pytest.raises(WrongUse, match=r"one rewrite of all files, \d.\d MiB, and the budget is 1.0 MiB; give \dMiB"):
        advice.apply(workload=QUERIES, session=spark, budget=1 << 20)
    assert sorted(file.path for file in pr.plan(orders, where="true").files) == files
