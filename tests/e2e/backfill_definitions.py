"""A code location whose assets are Delta tables by day that do not exist yet; Dagster's own executor runs them."""

# No `from __future__ import annotations`: Dagster looks at the annotations themselves.

import os
from pathlib import Path

import dagster as dg

import prune_assets as pr
from prune_assets.dagster import LayoutTable, PrunedTableIOManager, SparkSessionResource

ROOT = Path(os.environ.get("E2E_ROOT", "."))
DAYS = 6
ROWS = 1_000
PARTITIONS = dg.DailyPartitionsDefinition(start_date="2024-01-01", end_date=f"2024-01-0{DAYS + 1}")
LAYOUT = pr.LayoutSpec(partition_by=["day"], sort_by=["id"], files=1)
ASSETS = {"by_default": "overwrite", "by_partition": "replace_partitions"}


def asset_of(name, mode):
    by_day = {"partitions_def": PARTITIONS, "partition_expr": "day"}

    @LayoutTable(name, ROOT / "lake" / name, layout=LAYOUT, format="delta", **by_day).asset(mode=mode)
    def rows(context: dg.AssetExecutionContext, spark: SparkSessionResource):
        return spark.session.sql(f"SELECT id, DATE '{context.partition_key}' AS day FROM range({ROWS})")

    return rows


spark = SparkSessionResource(
    master="local[1]", conf={"spark.sql.shuffle.partitions": "1", "spark.driver.memory": "600m"}
)
defs = dg.Definitions(
    assets=[asset_of(name, mode) for name, mode in ASSETS.items()],
    resources={"spark": spark, "tables": PrunedTableIOManager(spark=spark)},
)
