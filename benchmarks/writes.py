"""Compare `pr.write` and Spark's own range partitioning, sort and write of TPC-H lineitem at scale factor 1.

The sides alternate. All of them write the same number of files, with the layout's options for compression, pages and
row groups. Spark's write is measured with and without the layout's bloom filters; `pr.write` writes bloom filters and
verifies the written files.
"""

from __future__ import annotations

import shutil
import statistics
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.table import Table

from benchmarks.reads import DIRECTORY, PAIRS, generated

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from prune_assets import LayoutSpec

NAME = "write, sorted"
PLACE = DIRECTORY / "written"
KEYS = ("l_shipdate", "l_orderkey")


def writes() -> Table:
    """Compare plain writes, Delta writes and Spark's own writes."""
    from prune_assets import LayoutSpec
    from prune_assets.spark.spark_session import spark_session

    spark = spark_session(master="local[2]", conf={"spark.driver.memory": "4g"})
    layout = LayoutSpec(sort_by=list(KEYS), bloom={"l_orderkey": 0.01}, files=20)
    turns = [_turn(_sides(spark, layout)) for _ in range(PAIRS + 1)][1:]
    spark.stop()
    table = Table("write | beside", "ours", "beside", "ratio", "95 % interval", "bar", title=f"{PAIRS} pairs each")
    table.add_row("plain | Spark, blooms too", *figures(turns, "plain", "blooms"), "1.25")
    table.add_row("plain | Spark without blooms", *figures(turns, "plain", "spark"), "")
    table.add_row("Delta | plain", *figures(turns, "delta", "plain"), "1.1")
    return table


def _sides(spark: SparkSession, layout: LayoutSpec) -> dict[str, Callable[[], object]]:
    import prune_assets as pr

    rows = spark.read.parquet(str(generated()))
    return {
        "plain": lambda: pr.write(rows, PLACE, layout=layout),
        "blooms": lambda: _spark_alone(rows, layout),
        "spark": lambda: _spark_alone(rows, replace(layout, bloom={})),
        "delta": lambda: pr.write(rows, PLACE, layout=layout, format="delta"),
    }


def _spark_alone(rows: DataFrame, layout: LayoutSpec) -> None:
    from prune_assets.tables.writes.write_options import bind_layout, write_options

    bound = bind_layout(rows.schema, layout, case_sensitive=False)
    # Approximate number of distinct keys in one of 20 files.
    options = write_options(layout, bound, row_group_rows=layout.row_group_rows, distinct={"l_orderkey": 300_000})
    ranged = rows.repartitionByRange(layout.files or 1, *KEYS).sortWithinPartitions(*KEYS)
    ranged.write.options(**options).parquet(str(PLACE))


def _turn(sides: dict[str, Callable[[], object]]) -> dict[str, float]:
    return {name: _seconds(side) for name, side in sides.items()}


def _seconds(side: Callable[[], object]) -> float:
    shutil.rmtree(PLACE, ignore_errors=True)
    started = time.perf_counter()
    side()
    return time.perf_counter() - started


def figures(turns: list[dict[str, float]], ours: str, beside: str) -> list[str]:
    """Return the medians of two sides, and the median of their ratios with its interval."""
    ratios = sorted(turn[ours] / turn[beside] for turn in turns)
    medians = [statistics.median(turn[side] for turn in turns) for side in (ours, beside)]
    # For 11 pairs, the second smallest and the second largest ratio enclose the median with 98.8 % probability.
    interval = f"{ratios[1]:.3f} to {ratios[-2]:.3f}"
    return [*(f"{seconds:.2f} s" for seconds in medians), f"{statistics.median(ratios):.3f}", interval]
