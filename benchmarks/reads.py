"""Compare `pr.read` and Spark's own reader on TPC-H lineitem at scale factor 1, alternating in one session.

Both sides compute the same aggregate over the same rows. Spark opens the table again each time, as a daily job does;
the time of a DataFrame that is already open is shown too.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

PAIRS = 11
DIRECTORY = Path(".bench") / "sf1"
CACHE = Path(".bench") / "cache"


@dataclass(frozen=True)
class Case:
    """A predicate on lineitem in `files` files.

    `bar`: largest allowed ratio of our time to Spark's, after subtracting `extra` seconds from ours.
    """

    name: str
    files: int
    where: str
    bar: float
    extra: float = 0.0


CASES = [
    Case("3 of 1,000 files", 1_000, "l_shipdate BETWEEN DATE '1994-01-03' AND DATE '1994-01-06'", 0.25),
    Case("a key by bloom filters", 1_000, "l_orderkey = 2449988", 0.3),
    Case("half of 1,000 files", 1_000, "l_shipdate < DATE '1995-06-17'", 1.0),
    Case("two years of seven", 1_000, "year(l_shipdate) IN (1994, 1995)", 1.0),
    Case("all of 1,000 files", 1_000, "l_quantity < 40", 1.03, 0.03),
    Case("all of 20 files", 20, "l_quantity < 40", 1.03, 0.03),
    Case("all of one file", 1, "l_quantity < 40", 1.03, 0.03),
]


class Times(NamedTuple):
    """Seconds of each side in one turn."""

    ours: float
    spark: float
    held: float


def reads() -> Table:
    """Measure every case.

    The lower end of the ratio's interval is compared with the bar, after subtracting the allowed seconds from our time.
    """
    from prune_assets.spark.spark_session import spark_session

    os.environ["PRUNE_CACHE_DIR"] = str(CACHE.absolute())
    spark = spark_session(master="local[2]", conf={"spark.driver.memory": "4g"})
    titles = ("read | Spark alone", "ours", "Spark", "ratio", "95 % interval", "bar", "held DataFrame")
    table = Table(*titles, title=f"{PAIRS} pairs each, lineitem of scale 1")
    for case in CASES:
        table.add_row(*_row(case, _turns(case, spark)))
    spark.stop()
    return table


def _turns(case: Case, spark: SparkSession) -> list[Times]:
    import prune_assets as pr

    place = str(_lineitem(spark, case.files))
    held = spark.read.parquet(place)
    sides: list[Callable[[], DataFrame]] = [
        lambda: pr.read(place, where=case.where, session=spark),
        lambda: spark.read.parquet(place).where(case.where),
        lambda: held.where(case.where),
    ]
    return [Times(*(_seconds(side) for side in sides)) for _ in range(PAIRS + 1)][1:]


def _seconds(side: Callable[[], DataFrame]) -> float:
    started = time.perf_counter()
    side().selectExpr("count(*)", "sum(l_extendedprice)").collect()
    return time.perf_counter() - started


def _row(case: Case, turns: list[Times]) -> list[str]:
    ratios = sorted((turn.ours - case.extra) / turn.spark for turn in turns)
    ours, alone, held = (statistics.median(side) for side in zip(*turns, strict=True))
    bar = f"{case.bar:g}" + (f" + {case.extra * 1e3:.0f} ms" if case.extra else "")
    return [
        case.name,
        *(f"{seconds * 1e3:.0f} ms" for seconds in (ours, alone)),
        f"{statistics.median(ratios):.3f}",
        # For 11 pairs, the second smallest and the second largest ratio enclose the median with 98.8 % probability.
        f"{ratios[1]:.3f} to {ratios[-2]:.3f}",
        bar,
        f"{held * 1e3:.0f} ms",
    ]


def _lineitem(spark: SparkSession, files: int) -> Path:
    """Return lineitem sorted by day in `files` files, with bloom filters on the order key; created once."""
    target = DIRECTORY / f"lineitem_{files}"
    if not (target / "_SUCCESS").is_file():
        options = {
            "parquet.bloom.filter.enabled#l_orderkey": "true",
            "parquet.bloom.filter.expected.ndv#l_orderkey": str(min(1_500_000, 6_000_000 // files)),
        }
        rows = spark.read.parquet(str(generated())).repartitionByRange(files, "l_shipdate", "l_orderkey")
        rows.sortWithinPartitions("l_shipdate", "l_orderkey").write.options(**options).mode("overwrite").parquet(
            str(target)
        )
    return target


def generated() -> Path:
    """Return the path of the generated lineitem file; created once."""
    program = Path(sys.executable).with_name("tpchgen-cli")
    command = [program, "parquet", "-s", "1", "--tables=lineitem", f"--output-dir={DIRECTORY / 'raw'}"]
    if not (DIRECTORY / "raw" / "lineitem.parquet").is_file():
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return DIRECTORY / "raw" / "lineitem.parquet"
