"""Tables for the workload: rows of a family, written with a layout by a writer.

Each table is created at its first use.
"""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fuzz.planner.truth import settings

from . import measured_rows, tpc_rows, web_rows, writers

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Table:
    """A table; `name` starts with the name of its family, which is also the name of the fixture file."""

    name: str
    rows: Callable[[], Any]
    write: Callable[..., None]


TABLES = {
    table.name: table
    for table in (
        Table(
            "lineitem_sorted",
            tpc_rows.lineitem,
            writers.laid_out(
                sort_by=["l_shipdate"], bloom={"l_orderkey": 0.01}, row_group_rows=500, page_rows=100, files=2
            ),
        ),
        Table("lineitem_spark", tpc_rows.lineitem, writers.spark(files=8)),
        Table("lineitem_by_mode", tpc_rows.lineitem, writers.spark(by=["l_shipmode"], rows_a_group=200)),
        Table(
            "lineitem_by_year_month",
            tpc_rows.lineitem_by_year_month,
            writers.spark(by=["ship_year", "ship_month"]),
        ),
        Table("lineitem_arrow", tpc_rows.lineitem, writers.pyarrow(files=2, rows_a_group=300, write_page_index=True)),
        Table("lineitem_duckdb", tpc_rows.lineitem, writers.duck(files=10, order="l_shipdate")),
        Table("lineitem_polars", tpc_rows.lineitem, writers.polars(files=2)),
        Table(
            "orders_sorted",
            tpc_rows.orders,
            writers.laid_out(
                sort_by=["o_orderdate", "o_orderkey"],
                bloom={"o_custkey": 0.01},
                row_group_rows=250,
                page_rows=50,
                files=2,
            ),
        ),
        Table("orders_by_month", tpc_rows.orders_by_month, writers.spark(by=["o_month"])),
        Table("orders_polars", tpc_rows.orders, writers.polars(files=2, rows_a_group=150)),
        Table("orders_fastparquet", tpc_rows.orders, writers.by_fastparquet(rows_a_group=200)),
        Table("customer_arrow", tpc_rows.customer, writers.pyarrow(rows_a_group=200, use_dictionary=False)),
        Table("customer_by_segment", tpc_rows.customer, writers.spark(by=["c_mktsegment"], rows_a_group=100)),
        Table(
            "part_sorted",
            tpc_rows.part,
            writers.laid_out(
                sort_by=["p_brand", "p_size"], bloom={"p_partkey": 0.01}, row_group_rows=300, page_rows=60
            ),
        ),
        Table("part_arrow", tpc_rows.part, writers.pyarrow(files=4, rows_a_group=200)),
        Table("store_sales_by_day", tpc_rows.store_sales, writers.spark(by=["ss_sold_date_sk"])),
        Table("store_sales_duckdb", tpc_rows.store_sales, writers.duck(files=8)),
        Table("date_dim_arrow", tpc_rows.date_dim, writers.pyarrow(rows_a_group=100, write_page_index=True)),
        Table("date_dim_spark", tpc_rows.date_dim, writers.spark(files=4, order="d_date_sk", rows_a_group=150)),
        Table(
            "hits_sorted",
            web_rows.hits,
            writers.laid_out(
                sort_by=["CounterID", "EventDate"], bloom={"UserID": 0.01}, row_group_rows=600, page_rows=100
            ),
        ),
        Table("hits_polars", web_rows.hits, writers.polars(files=4)),
        Table("raw_hits_arrow", web_rows.raw_hits, writers.pyarrow(files=3, rows_a_group=400)),
        Table("events_by_day", web_rows.events, writers.spark(by=["day"], rows_a_group=200)),
        Table("events_arrow", web_rows.events, writers.pyarrow(files=2, rows_a_group=250, write_page_index=True)),
        Table(
            "events_sorted",
            web_rows.events,
            writers.laid_out(
                sort_by=["type", "created_at"], bloom={"repo.id": 0.01}, row_group_rows=400, page_rows=100
            ),
        ),
        Table("logs_hourly", web_rows.logs, writers.spark(by=["dt", "hr"])),
        Table(
            "logs_sorted", web_rows.logs, writers.laid_out(sort_by=["ts"], row_group_rows=250, page_rows=50, files=3)
        ),
        Table("logs_by_host", web_rows.logs, writers.duck(by=["host"])),
        Table("recent_by_day", web_rows.recent, writers.spark(by=["day"])),
        Table("recent_arrow", web_rows.recent, writers.pyarrow(files=6, rows_a_group=60)),
        Table("flights_by_month", measured_rows.flights, writers.spark(by=["year", "month"], order="flight_date")),
        Table("flights_spark", measured_rows.flights, writers.spark(files=6, order="flight_date", rows_a_group=200)),
        Table("taxi_arrow", measured_rows.taxi, writers.pyarrow(files=2, rows_a_group=250)),
        Table("taxi_spark", measured_rows.taxi, writers.spark(files=5, order="tpep_pickup_datetime")),
        Table("taxi_duckdb", measured_rows.taxi, writers.duck(files=6)),
        Table("readings_arrow", measured_rows.readings, writers.pyarrow(rows_a_group=300, write_page_index=True)),
        Table("readings_by_device", measured_rows.readings, writers.spark(by=["device"])),
        Table(
            "readings_int96",
            measured_rows.readings,
            writers.spark(files=6, order="ts", rows_a_group=200, timestamps="INT96"),
        ),
        Table("readings_polars", measured_rows.readings, writers.polars(files=3, rows_a_group=250)),
        Table("changes_spark", measured_rows.changes, writers.spark(files=4, order="lsn", rows_a_group=250)),
        Table("changes_drift", measured_rows.changes, writers.drifting(without="note", narrow="lsn")),
        Table("changes_by_op", measured_rows.changes, writers.pyarrow_by("op")),
    )
}


# Interpreted, without second thoughts: the rows are few, and all the rest takes longer than they do.
QUICK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


@contextlib.contextmanager
def own_ground(spark):
    """Make tables in a directory that is removed afterwards."""
    with settings(spark, QUICK), tempfile.TemporaryDirectory(prefix="workload-") as directory:
        yield Ground(Path(directory), spark)


class Ground:
    """A directory with the tables that were asked for."""

    def __init__(self, directory, spark):
        self.spark = spark
        self.directory = directory
        self._made = {}
        self._frames = {}
        self._fingerprints = {}

    def frame(self, name):
        """Return a table as Spark reads it by itself."""
        if name not in self._frames:
            self._frames[name] = self.spark.read.parquet(self.path(name))
        return self._frames[name]

    def fingerprint(self, name):
        """Return what identifies rows in any order, as SQL: their count, and the sum of the hashes of all columns."""
        if name not in self._fingerprints:
            # Spark hashes no maps, whose entries have no order.
            columns = [
                f"array_sort(map_entries(`{column}`))" if kind.startswith("map") else f"`{column}`"
                for column, kind in self.frame(name).dtypes
            ]
            self._fingerprints[name] = ("count(1)", f"sum(cast(xxhash64({', '.join(columns)}) AS decimal(38, 0)))")
        return self._fingerprints[name]

    def path(self, name):
        """Return the directory of a table as text."""
        if name not in self._made:
            table, directory = TABLES[name], self.directory / name
            table.write(table.rows(), directory, self.spark)
            self._made[name] = str(directory)
        return self._made[name]
