from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.deep
@pytest.mark.spark
def test_tables_are_written_read_and_optimized_through_connect(tmp_path):
    pytest.importorskip("grpc_status", reason="the client of Spark Connect is not installed")
    # A session of Connect and a classic one get in each other's way in one process.
    program = Path(__file__).with_name("connect_writer.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program, tmp_path],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    wanted = [True, 6_010, 4, True, True, [3, 1, 9_000]]
    assert json.loads(done.stdout) == {"parquet": wanted, "delta": wanted}
