"""prune-assets: seconds to parse a DAG with every operator after Airflow's own imports; no figure without Airflow."""

import json
import os
import runpy
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

DAG = """
from airflow.sdk import DAG
from prune_assets.airflow import (
    CheckLayoutOperator, OptimizeTableOperator, SkipReportOperator, WriteTableOperator,
    TableChangeSensor, table_asset,
)
LAYOUT = {"sort_by": ["id"]}
with DAG("all", schedule=[table_asset("/lake/ids")]):
    WriteTableOperator(task_id="write", table="t", source="SELECT 1 AS id", layout=LAYOUT, mode="overwrite")
    CheckLayoutOperator(task_id="check", table="t", layout=LAYOUT)
    SkipReportOperator(task_id="report", table="t", predicates=["id < 1"])
    OptimizeTableOperator(task_id="optimize", table="t", layout=LAYOUT)
    TableChangeSensor(task_id="change", table="t")
    TableChangeSensor(task_id="version", table="t", version=1)
"""


def parse() -> float:
    """Return the seconds to parse the DAG file."""
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"AIRFLOW_HOME": home, "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
        # Any DAG with Airflow's own operators and a watched asset imports these modules, so the time excludes them.
        import airflow.sdk
        import airflow.triggers.base

        for name in ("DAG", "Asset", "AssetWatcher", "BaseOperator", "BaseSensorOperator", "PokeReturnValue"):
            getattr(airflow.sdk, name)

        file = Path(home) / "dag.py"
        file.write_text(DAG)
        started = time.perf_counter()
        runpy.run_path(str(file))
        return time.perf_counter() - started


found = {}
if find_spec("airflow") is not None:
    seconds = parse()
    assert "pyspark" not in sys.modules
    found["Airflow, parse of a DAG with all operators (bar: 300 ms)"] = seconds
print(json.dumps(found))
