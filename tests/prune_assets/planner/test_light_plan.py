from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SCRIPT = """
import sys
import prune_assets as pr

made = pr.plan(sys.argv[1], where=sys.argv[2])
made.report.to_json()
assert pr.count(sys.argv[1], where=sys.argv[2]) > 0
pr.read_arrow(sys.argv[1], where=sys.argv[2])
pr.read_arrow(sys.argv[1], where=sys.argv[2], order_by=["i DESC", "s"], limit=3)
assert "pandas" not in sys.modules
assert "numpy.ma" not in sys.modules
"""
WHERE = (
    "i IN (1, 2, 700) AND s >= 'a' AND d = DATE '1970-01-02' AND f < 5.5D AND m = 1.50 AND b IS NOT NULL "
    "OR i = 3 OR s IN ('x', 'y') OR b OR bin = X'61'"
)


@pytest.mark.deep
@pytest.mark.skipif(importlib.util.find_spec("pandas") is None, reason="there is no pandas that could be loaded")
def test_a_plan_loads_no_pandas(tmp_path):
    """pyarrow loads it for the first Python value it converts, which takes ten times as long as the plan."""
    numbers = pa.array(range(1_000), pa.int32())
    columns = {"i": numbers, "d": numbers.cast(pa.date32()), "f": numbers.cast(pa.float64())}
    columns |= {"m": numbers.cast(pa.decimal128(12, 2)), "s": numbers.cast(pa.string()), "b": numbers.cast(pa.bool_())}
    columns["bin"] = columns["s"].cast(pa.binary())
    table = tmp_path / "t"
    table.mkdir()
    pq.write_table(pa.table(columns), table / "a.parquet", row_group_size=100, write_page_index=True)
    environment = {**os.environ, "PRUNE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    parted = tmp_path / "parted"
    for day in range(2):
        (parted / f"day=2024-01-0{day + 1}").mkdir(parents=True)
        shutil.copy2(table / "a.parquet", parted / f"day=2024-01-0{day + 1}/a.parquet")
    for _ in ("reads the files", "reads what the first one kept"):
        for path, where in ((table, WHERE), (parted, f"day = DATE '2024-01-02' AND ({WHERE})")):
            subprocess.run([sys.executable, "-c", SCRIPT, str(path), where], check=True, env=environment)
