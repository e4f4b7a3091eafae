"""Compare the predicted bytes of a report with the bytes that Spark fetches for pages."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_reader_names import ALONE

import prune_assets as pr
from prune_assets.spark.spark_versions import release, to_arrow
from tests.fuzz.planner.truth import settings

pytestmark = pytest.mark.spark

# Read-ahead of a Hadoop stream at each seek, in bytes.
READ_AHEAD = 1 << 16
OPTIONS = {"row_group_size": 50_000, "write_page_index": True, "data_page_size": 20_000}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path, count = tmp_path_factory.mktemp("bytes"), 200_000
    chance = np.random.default_rng(0)
    for file in range(2):
        words = pa.array([f"v{i % 1000}" for i in range(count)])
        rows = {"x": np.arange(count) + file * count, "y": chance.random(count), "s": words}
        pq.write_table(pa.table(rows), path / f"{file}.parquet", **OPTIONS)
    return str(path)


def read_bytes(spark, table, where, *, vectored):
    """Return the input bytes that the tasks of a read counted."""
    group = f"{where} {vectored}"
    context = spark.sparkContext
    with settings(spark, {"parquet.hadoop.vectored.io.enabled": vectored}):
        context.setJobGroup(group, group)
        to_arrow(spark.read.parquet(table).where(where))
        context.setLocalProperty("spark.jobGroup.id", None)
    tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
    stages = [stage for job in tracker.getJobIdsForGroup(group) for stage in tracker.getJobInfo(job).stageIds]
    before, now = -1, 0
    while before != now or not now:  # the listener receives task metrics with a delay
        time.sleep(0.3)
        before, now = now, sum(store.lastStageAttempt(stage).inputBytes() for stage in stages)
    return now


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("where", "streams"), [("y < 0.5", 0), ("x = 5", 1), ("x < 70000", 2), ("x BETWEEN 100000 AND 320000", 5)]
)
def test_a_report_foretells_the_bytes_of_pages(spark, table, where, streams):
    """Spark does not count vectored reads of pages, so with vectored reads only the bytes for filters are counted."""
    if release(spark.version) < (4, 0):
        pytest.skip("Spark 3.5 has no vectored reads, which tell what filters fetch from what pages do")
    by_filters = read_bytes(spark, table, where, vectored="true")
    fetched = read_bytes(spark, table, where, vectored="false") - by_filters
    (alone,) = [engine for engine in pr.plan(table, where=where, session=spark).report.engines if engine.name == ALONE]
    assert alone.kept.bytes <= fetched <= alone.kept.bytes + streams * READ_AHEAD
