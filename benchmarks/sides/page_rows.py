"""Read rows with one engine in its own process: `page_rows.py ENGINE CASE TABLE`; print seconds and row count."""

import datetime as dt
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

DAY = dt.date(1994, 1, 3)
KEY = 600_003
COLUMNS = ["l_orderkey", "l_extendedprice", "l_shipdate"]
SELECT = "SELECT l_orderkey, l_extendedprice, l_shipdate FROM lineitem"
WHERE = {
    "point": f"l_orderkey = {KEY}",
    "day": f"l_shipdate = DATE '{DAY}'",
    "scan": "true",
    "top": "true",
    "count": "l_shipdate >= DATE '1995-01-01'",
}
SQL = {case: f"{SELECT} WHERE {where}" for case, where in WHERE.items()}
SQL["top"] += " ORDER BY l_shipdate DESC LIMIT 10"
SQL["count"] = SQL["count"].replace("l_orderkey, l_extendedprice, l_shipdate", "count(*)")


def ours(case: str, table: str) -> int:
    """Read without cached metadata."""
    with tempfile.TemporaryDirectory() as nowhere:
        os.environ["PRUNE_CACHE_DIR"] = nowhere
        return from_disk(case, table)


def from_disk(case: str, table: str) -> int:
    """Read with the metadata that an earlier read cached on disk."""
    import prune_assets as pr

    if case == "count":
        return pr.count(table, where=WHERE[case])
    order = {"order_by": "l_shipdate DESC", "limit": 10} if case == "top" else {}
    return pr.read_arrow(table, where=WHERE[case], columns=COLUMNS, **order).num_rows


def pyarrow(case: str, table: str) -> int:
    """Read with `pyarrow.dataset`, which ignores page indexes and sorts after reading."""
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    opened = ds.dataset(table)
    day, key = ds.field("l_shipdate"), ds.field("l_orderkey")
    chosen = {"point": key == KEY, "day": day == DAY, "count": day >= dt.date(1995, 1, 1)}.get(case)
    if case == "count":
        return opened.count_rows(filter=chosen)
    rows = opened.to_table(columns=COLUMNS, filter=chosen)
    if case == "top":
        rows = rows.take(pc.select_k_unstable(rows, 10, [("l_shipdate", "descending")]))
    return rows.num_rows


def duckdb(case: str, table: str) -> int:
    """Read with DuckDB."""
    import duckdb

    found = duckdb.connect()
    found.execute("SET threads = 2")
    rows = found.execute(SQL[case].replace("lineitem", f"'{table}/*.parquet'")).to_arrow_table()
    return _rows(case, rows)


def datafusion(case: str, table: str) -> int:
    """Read with DataFusion and its row filters."""
    import datafusion
    import pyarrow as pa

    settings = datafusion.SessionConfig({"datafusion.execution.parquet.pushdown_filters": "true"})
    session = datafusion.SessionContext(settings)
    session.register_parquet("lineitem", table)
    return _rows(case, pa.table(session.sql(SQL[case])))


def polars(case: str, table: str) -> int:
    """Read with polars' lazy reader."""
    import polars as pl

    found = pl.scan_parquet(f"{table}/*.parquet")
    day, key = pl.col("l_shipdate"), pl.col("l_orderkey")
    chosen = {"point": key == KEY, "day": day == DAY, "count": day >= dt.date(1995, 1, 1)}.get(case)
    found = found if chosen is None else found.filter(chosen)
    if case == "count":
        return int(found.select(pl.len()).collect().item())
    found = found.select(COLUMNS)
    return (found.top_k(10, by="l_shipdate") if case == "top" else found).collect().height


def _rows(case: str, table: Any) -> int:
    return int(table.column(0)[0].as_py()) if case == "count" else int(table.num_rows)


ENGINES: dict[str, Callable[[str, str], int]] = {
    "ours": ours,
    "from disk": from_disk,
    "pyarrow": pyarrow,
    "DuckDB": duckdb,
    "polars": polars,
    "DataFusion": datafusion,
}

OURS = ["prune_assets.reading.read_arrow", "prune_assets.reading.aggregates"]
MODULES = {"ours": OURS, "from disk": OURS, "pyarrow": ["pyarrow.dataset"]}

if __name__ == "__main__":
    engine, case, table = sys.argv[1:]
    for module in MODULES.get(engine, [engine.lower()]):
        import_module(module)
    started = time.perf_counter()
    rows = ENGINES[engine](case, table)
    print(json.dumps({"seconds": time.perf_counter() - started, "rows": rows}))
