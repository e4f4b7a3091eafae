"""Bytes that the tasks of a scan read, held to those that were predicted; row groups here outweigh the footers."""

from __future__ import annotations

import itertools

import pyarrow.parquet as pq

import prune_assets as pr
from prune_assets.planner.engines.compare import ALONE, HANDED_OVER

from .judging import TOLERANCE
from .tpc_rows import lineitem_large

PREDICATES = (
    "l_orderkey < 10000",
    "l_orderkey BETWEEN 100000 AND 120000 AND l_quantity > 40",
    "l_orderkey > 250000 OR l_orderkey IN (7, 32, 100000)",
    "l_shipdate >= DATE '1995-01-01'",
    "l_shipdate > DATE '1999-01-01'",
    "l_orderkey + 1 < 30000",
    "l_comment LIKE 'carefully%'",
    "l_orderkey IS NOT NULL",
)
# Of each file the footer is read twice, with the page indexes where there are some, and each request has its edges.
PER_FILE = 64 << 10
_GROUPS = itertools.count()


def bytes_scanned(ground):
    """Return a line for each prediction that is off."""
    path = _table(ground)
    found = []
    for where in PREDICATES:
        made = pr.plan(path, where=where, session=ground.spark)
        engines = {engine.name: engine.kept for engine in made.report.engines}
        readings = {
            ALONE: ground.spark.read.parquet(path).where(where),
            HANDED_OVER: pr.read(ground.spark, path, where=where, plan=made),
        }
        for name, df in readings.items():
            predicted, actual = engines[name].bytes, _input_bytes(ground.spark, df)
            slack = PER_FILE * len(made.index.files)
            if not (1 - TOLERANCE) * predicted <= actual <= (1 + TOLERANCE) * predicted + slack:
                found.append(f"{where}: {name}: {predicted:,} bytes predicted, {actual:,} read")
    return found


def _table(ground):
    rows = lineitem_large()
    directory = ground.directory / "large"
    directory.mkdir()
    step = -(-rows.num_rows // 3)
    for number in range(3):
        part = rows.slice(number * step, step)
        pq.write_table(part, directory / f"{number}.parquet", row_group_size=20_000, write_page_index=True)
    return str(directory)


def _input_bytes(spark, df):
    """Run a query over all columns, and add up what its tasks read."""
    context, group = spark.sparkContext, f"bytes {next(_GROUPS)}"
    context.setJobGroup(group, group)
    try:
        df.selectExpr(f"sum(xxhash64({', '.join(df.columns)}) % 1000)").collect()
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    scala = context._jsc.sc()
    scala.listenerBus().waitUntilEmpty()
    tracker = context.statusTracker()
    stages = {stage for job in tracker.getJobIdsForGroup(group) for stage in tracker.getJobInfo(job).stageIds}
    return sum(scala.statusStore().lastStageAttempt(stage).inputBytes() for stage in stages)
