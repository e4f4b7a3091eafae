"""A table below the size of one file is still read by several tasks of Spark once advice was applied."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_tables import noise, put

import prune_assets as pr
from prune_assets.advisor.candidates import row_group_bytes_for

ROWS = 100_000
QUERIES = ["shop = 7", "shop BETWEEN 20 AND 30"]
USUAL = pr.LayoutSpec()


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Rows of 150 bytes in no order, 15 MB of them in two files."""
    rng = np.random.default_rng(6)
    rows = pa.table({"shop": rng.integers(0, 500, ROWS), "noise": noise(ROWS, 140, rng)})
    place = tmp_path_factory.mktemp("visits") / "visits"
    return put(rows, place, pr.LayoutSpec(row_group_rows=ROWS // 2), files=2)


@pytest.fixture(scope="module")
def advice(visits):
    return pr.advise(visits, workload=QUERIES)


def of_key(advice, key):
    return next(line for line in advice.layout_yaml().splitlines() if line.startswith(f"{key}: "))


def test_every_layout_has_row_groups_that_tasks_can_share(advice):
    assert {one.layout.row_group_bytes for one in advice.ranking} == {4 << 20}
    assert of_key(advice, "row_group_bytes").startswith("row_group_bytes: 4194304  # one task of Spark reads a row")


def test_a_table_that_one_task_may_read_and_a_large_one_have_the_usual_row_groups(tmp_path):
    rows = pa.table({"shop": np.random.default_rng(6).integers(0, 500, ROWS)})
    advice = pr.advise(put(rows, tmp_path / "t", pr.LayoutSpec(row_group_rows=ROWS)), workload=QUERIES)
    assert advice.advised.layout.row_group_bytes == USUAL.row_group_bytes
    assert of_key(advice, "row_group_bytes").endswith("small enough to be skipped, large enough to be read at once")
    assert row_group_bytes_for(256 << 20) == row_group_bytes_for(1 << 40) == USUAL.row_group_bytes


def test_what_is_predicted_is_what_is_planned_of_the_small_row_groups(visits, advice):
    (found, *_) = advice.verify(workload=QUERIES).verified
    assert found.predicted == pytest.approx(found.planned, abs=0.01)


@pytest.mark.spark
def test_several_tasks_of_spark_read_the_table_once_it_has_the_layout(spark, visits, advice, tmp_path):
    visits = shutil.copytree(visits, str(tmp_path / "visits"))
    before = json.dumps(sorted(pr.read_arrow(visits, columns=["shop"])["shop"].to_pylist()))
    done = replace(advice, named=visits).apply(workload=QUERIES, session=spark)
    (file,) = pr.plan(visits, where="true").files
    assert pq.ParquetFile(file.path).num_row_groups >= 3
    assert done.now < 1.1 * done.promised
    rows = spark.read.parquet(visits).selectExpr("shop", "spark_partition_id() AS task")
    assert rows.select("task").distinct().count() > 1
    assert json.dumps(sorted(row.shop for row in rows.collect())) == before
