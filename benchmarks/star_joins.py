"""Compare star joins of TPC-DS: `pr.read(store_sales, keys=[..])` joined, and Spark's own plan, alternating.

The table store_sales is sorted by day in 100 files. Spark's own plan has dynamic partition pruning, runtime filters and
adaptive execution on. DuckDB generates the data, with the scale factor SCALE.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq
from rich.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAME = "star joins, TPC-DS"
PAIRS = 5
SCALE = 1
FILES = 100
PLACE = Path(".bench") / f"tpcds_{SCALE}"
PACKAGES = Path(".bench") / "tpcds_packages"
# The releases of both must be equal.
REQUIREMENTS = ["duckdb==1.5.5", "duckdb-extension-tpcds==1.5.5"]
TABLES = ("date_dim", "item", "store", "store_sales")
_GENERATE = """
import pathlib, sys
import duckdb, duckdb_extension_tpcds
(extension,) = pathlib.Path(duckdb_extension_tpcds.__file__).parent.rglob("tpcds.duckdb_extension")
connection = duckdb.connect()
connection.execute(f"LOAD '{extension}'")
connection.execute(f"CALL dsdgen(sf={sys.argv[2]})")
for name in sys.argv[3:]:
    order = " ORDER BY ss_sold_date_sk, ss_ticket_number" if name == "store_sales" else ""
    connection.execute(f"COPY (FROM {name}{order}) TO '{sys.argv[1]}/{name}.parquet'")
"""
SETTINGS = {
    "spark.driver.memory": "4g",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "true",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "true",
    "spark.sql.shuffle.partitions": "4",
}


class StarJoin(NamedTuple):
    """A query of TPC-DS: conditions on its dimensions, grouping and aggregate. `store`: None if not joined."""

    name: str
    dates: str
    items: str
    store: str | None
    by: tuple[str, ...]
    total: str = "ss_ext_sales_price"


QUERIES = (
    StarJoin("3", "d_moy = 11", "i_manufact_id = 128", None, ("d_year", "i_brand_id", "i_brand")),
    StarJoin("42", "d_moy = 11 AND d_year = 2000", "i_manager_id = 1", None, ("d_year", "i_category_id", "i_category")),
    StarJoin("52, one store", "d_moy = 11 AND d_year = 2000", "i_manager_id = 1", "s_store_sk = 4", ("i_brand",)),
    StarJoin("55", "d_moy = 11 AND d_year = 1999", "i_manager_id = 28", None, ("i_brand_id", "i_brand")),
    StarJoin(
        "98",
        "d_date BETWEEN DATE '1999-02-22' AND DATE '1999-03-24'",
        "i_category IN ('Sports', 'Books', 'Home')",
        "s_number_employees > 0",
        ("i_item_id", "i_category", "i_class"),
    ),
)


def star_joins() -> Table:
    """Measure bytes once, and the times of planning and execution in alternating pairs."""
    from prune_assets.spark.spark_session import spark_session

    place = _tables()
    spark = spark_session(master="local[2]", conf=SETTINGS)
    titles = ("query", "files", "Spark's", "MiB", "Spark's", "ratio", "bar", "time", "Spark's", "ratio", "bar")
    table = Table(*titles, title=f"{NAME}, scale factor {SCALE}, {PAIRS} pairs each")
    for ours in (True, False):
        _result(spark, place, QUERIES[0], ours=ours).collect()  # the first query of a session is slow
    for query in QUERIES:
        table.add_row(*_row(spark, place, query))
    spark.stop()
    return table


def _row(spark: SparkSession, place: Path, query: StarJoin) -> list[str]:
    from prune_assets.spark.scan_metrics import counting_bytes

    with counting_bytes(spark):
        (files, size), (own_files, own_size) = (_opened(spark, place, query, ours=ours) for ours in (True, False))
    turns = [[_seconds(spark, place, query, ours=ours) for ours in (True, False)] for _ in range(PAIRS)]
    mine, own = (statistics.median(side) for side in zip(*turns, strict=True))
    ratio = statistics.median(ours / theirs for ours, theirs in turns)
    sizes = [f"{size / 2**20:.1f}", f"{own_size / 2**20:.1f}", f"{size / own_size:.3f}", "0.3"]
    return [
        query.name,
        f"{files}",
        f"{own_files}",
        *sizes,
        f"{mine:.2f} s",
        f"{own:.2f} s",
        f"{ratio:.3f}",
        "0.7",
    ]


def _result(spark: SparkSession, place: Path, query: StarJoin, *, ours: bool) -> DataFrame:
    import prune_assets as pr

    dates = spark.read.parquet(str(place / "date_dim.parquet")).where(query.dates)
    items = spark.read.parquet(str(place / "item.parquet")).where(query.items)
    dimensions = [(dates, "ss_sold_date_sk", "d_date_sk"), (items, "ss_item_sk", "i_item_sk")]
    if query.store is not None:
        stores = spark.read.parquet(str(place / "store.parquet")).where(query.store)
        dimensions.append((stores, "ss_store_sk", "s_store_sk"))
    if ours:
        keys, on = [rows for rows, *_ in dimensions], [[(own, key)] for _, own, key in dimensions]
        sales = pr.read(str(place / "store_sales"), keys=keys, on=on, session=spark)
    else:
        sales = spark.read.parquet(str(place / "store_sales"))
    for rows, own, key in dimensions:
        sales = sales.join(rows, sales[own] == rows[key])
    return sales.groupBy(*query.by).agg({query.total: "sum"})


def _opened(spark: SparkSession, place: Path, query: StarJoin, *, ours: bool) -> tuple[int, int]:
    """Return the files of store_sales that are opened, and the bytes that all jobs read, also for planning."""
    from prune_assets.spark.scan_metrics import scan_metrics

    before = _bytes_read(spark)
    result = _result(spark, place, query, ours=ours)
    result.collect()
    files = max(scan.files or 0 for scan in scan_metrics(result))
    return files, _bytes_read(spark) - before


def _bytes_read(spark: SparkSession) -> int:
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    executors = context.statusStore().executorList(False)  # noqa: FBT003 - an argument of Scala
    return sum(int(executors.apply(i).totalInputBytes()) for i in range(executors.size()))


def _seconds(spark: SparkSession, place: Path, query: StarJoin, *, ours: bool) -> float:
    started = time.perf_counter()
    _result(spark, place, query, ours=ours).collect()
    return time.perf_counter() - started


def _tables() -> Path:
    """Return the directory of the tables; created once."""
    if not (PLACE / "store_sales").is_dir():
        if not (PLACE / "store_sales.parquet").is_file():
            _generate()
        _cut(PLACE / "store_sales.parquet", PLACE / "store_sales")
    return PLACE.absolute()


def _generate() -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--target", str(PACKAGES), *REQUIREMENTS], check=True)
    PLACE.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", _GENERATE, str(PLACE), str(SCALE), *TABLES]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(PACKAGES.absolute())})


def _cut(source: Path, directory: Path) -> None:
    """Write a table, in its order, as FILES files with page indexes."""
    rows = pq.read_table(source)
    unfinished = directory.with_name(f"{directory.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    step = -(-len(rows) // FILES)
    for i in range(FILES):
        part = rows.slice(i * step, step)
        pq.write_table(part, unfinished / f"{i:03}.parquet", compression="snappy", write_page_index=True)
    unfinished.rename(directory)
