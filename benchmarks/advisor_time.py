"""Measure time and memory of advice on 50 predicates and 1,000 lineitem files, in its own process, without Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from rich.table import Table

from benchmarks.advisor_workloads import KINDS, tpch

NAME = "advisor: time"
FILES, PREDICATES = 1_000, 50
DIRECTORY = Path(".bench") / "advisor" / "lineitem-1000"
_ADVISE = """
import json, pathlib, re, sys, time
import prune_assets as pr
wheres = json.load(sys.stdin)
started, cpu = time.perf_counter(), time.process_time()
advice = pr.advise(sys.argv[1], workload=wheres)
took = [time.perf_counter() - started, time.process_time() - cpu]
# What `getrusage` says begins with the memory of the process that started this one.
peak = re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())
print(json.dumps([*took, int(peak[1]) / 1024, advice.rows, advice.verdict]))
"""


def advice_time() -> Table:
    """Advise twice: with an empty metadata cache, and with the cache that the first run filled."""
    if not DIRECTORY.is_dir():
        import pyarrow.parquet as pq

        rows = tpch("lineitem", "1", None)
        DIRECTORY.mkdir(parents=True)
        for i in range(FILES):
            part = rows.slice(len(rows) * i // FILES, len(rows) * (i + 1) // FILES - len(rows) * i // FILES)
            pq.write_table(part, DIRECTORY / f"part-{i:04}.parquet", write_page_index=True, max_rows_per_page=1_000)
    draw = np.random.default_rng(50)
    templates = KINDS["lineitem"].predicates
    wheres = [templates[draw.integers(len(templates))](draw, draw.uniform(0, 0.9)) for _ in range(PREDICATES)]
    table = Table(
        "cache", "seconds", "processor seconds (bar 20 s on 2 cores)", "peak MiB (bar 1,024)", "rows", "advice"
    )
    cache = Path(".bench") / "advisor" / f"cache-{os.getpid()}"
    for name in ("empty", "filled"):
        found = subprocess.run(
            [sys.executable, "-c", _ADVISE, str(DIRECTORY)],
            input=json.dumps(wheres),
            env={**os.environ, "PRUNE_CACHE_DIR": str(cache.absolute()), "PYTHONPATH": str(Path.cwd())},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        seconds, cpu, memory, rows_, verdict = json.loads(found.stdout)
        table.add_row(name, f"{seconds:.1f}", f"{cpu:.1f}", f"{memory:,.0f}", f"{rows_:,}", verdict)
    return table
