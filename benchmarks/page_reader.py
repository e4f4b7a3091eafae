"""Compare `read_arrow` and pyarrow.dataset, DuckDB, polars and DataFusion on selective reads of 1,000 lineitem files.

The table is TPC-H lineitem at scale factor 1. Each read runs in its own process, alternating, with imports excluded;
all engines must return the same number of rows.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from rich.table import Table

from benchmarks.many_files import DIRECTORY, FILES, generated
from benchmarks.writes import PAIRS

NAME = "page reader"
SIDE = Path(__file__).with_name("sides") / "page_rows.py"
PEERS = ("pyarrow", "DuckDB", "polars", "DataFusion")
# Largest allowed ratio per case and mode: to the fastest peer; for scans, to pyarrow.
BARS = {("point", "ours"): 1.0, ("point", "from disk"): 0.5, ("day", "ours"): 1.0, ("day", "from disk"): 0.5}
BARS |= {("scan", "ours"): 1.15, ("scan", "from disk"): None, ("top", "from disk"): None, ("count", "from disk"): None}


def page_reader() -> Table:
    """Return one row per case and mode of `read_arrow`, compared with the peer whose median is smallest."""
    place = str(_table().absolute())
    titles = ("read", "ours", "fastest peer", "ratio", "95 % interval", "bar", "others")
    table = Table(*titles, title=f"{PAIRS} turns each")
    for case in dict.fromkeys(case for case, _ in BARS):
        forms = [form for one, form in BARS if one == case]
        turns = [{engine: _seconds(engine, case, place) for engine in (*forms, *PEERS)} for _ in range(PAIRS + 1)][1:]
        medians = {engine: statistics.median(turn[engine] for turn in turns) for engine in turns[0]}
        fastest = "pyarrow" if case == "scan" else min(PEERS, key=medians.__getitem__)
        others = ", ".join(f"{peer} {medians[peer] * 1e3:,.0f}" for peer in PEERS if peer != fastest)
        for form in forms:
            ratios = sorted(turn[form] / turn[fastest] for turn in turns)
            bar = BARS[case, form]
            table.add_row(
                f"{case}, {form}",
                f"{medians[form] * 1e3:,.0f} ms",
                f"{fastest} {medians[fastest] * 1e3:,.0f} ms",
                f"{statistics.median(ratios):.3f}",
                f"{ratios[1]:.3f} to {ratios[-2]:.3f}",
                "" if bar is None else f"{bar:g}",
                others,
            )
    return table


_SEEN: dict[str, int] = {}


def _seconds(engine: str, case: str, place: str) -> float:
    environment = {**os.environ, "PRUNE_CACHE_DIR": str(DIRECTORY.absolute() / "cache"), "PYTHONPATH": str(Path.cwd())}
    command = [sys.executable, str(SIDE), engine, case, place]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)
    assert _SEEN.setdefault(case, said["rows"]) == said["rows"], f"{engine}, {case}: {said['rows']} rows"
    return float(said["seconds"])


def _table() -> Path:
    """Return lineitem sorted by ship date, with 6,000 rows and a bloom filter on order keys per file; created once."""
    files = DIRECTORY / "lineitem_sf1"
    if not (files / "_SUCCESS").is_file():
        shutil.rmtree(files, ignore_errors=True)
        from prune_assets.spark.spark_session import spark_session

        options = {"parquet.page.row.count.limit": "1000", "parquet.bloom.filter.enabled#l_orderkey": "true"}
        options |= {"parquet.bloom.filter.expected.ndv#l_orderkey": "6000"}
        rows = spark_session(master="local[2]").read.parquet(str(generated("1")))
        ranged = rows.repartitionByRange(FILES, "l_shipdate", "l_orderkey").sortWithinPartitions("l_shipdate")
        ranged.write.options(**options).parquet(str(files))
    return files
