"""Write, check and report TPC-H line items with a layout; rewrite drifted files whenever the table changes."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

from airflow.sdk import DAG, task

from prune_assets.airflow import (
    CheckLayoutOperator,
    OptimizeTableOperator,
    SkipReportOperator,
    WriteTableOperator,
    table_asset,
)

EXAMPLE = Path(__file__).absolute().parents[1]
LAKE = Path(os.environ.get("LAKE", EXAMPLE / "lake"))
TABLE = LAKE / "lineitem"
LAYOUT = EXAMPLE / "layout.yaml"
PREDICATES = {
    "three_days": "l_shipdate BETWEEN DATE '1995-03-13' AND DATE '1995-03-15'",
    "query_6": (
        "l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' "
        "AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"
    ),
}


@task
def generate() -> str:
    """Generate the rows at scale factor SF; 0.01 is 60,000 rows."""
    rows, unfinished = LAKE / "generated" / "lineitem.parquet", LAKE / "unfinished"
    if not rows.exists():
        rows.parent.mkdir(parents=True, exist_ok=True)
        scale = os.environ.get("SF", "0.01")
        program = [f"{sysconfig.get_path('scripts')}/tpchgen-cli", "parquet", "-q"]
        subprocess.run([*program, "-s", scale, "--tables", "lineitem", "-o", unfinished], check=True)  # noqa: S603
        (unfinished / rows.name).rename(rows)
    return str(rows)


with DAG("tpch", schedule=None, tags=["prune-assets"], doc_md=__doc__):
    write = WriteTableOperator(
        task_id="write", table=TABLE, source=generate(), layout=LAYOUT, format="delta", mode="overwrite"
    )
    check = CheckLayoutOperator(task_id="check", table=TABLE, layout=LAYOUT)
    report = SkipReportOperator(
        task_id="report",
        table=TABLE,
        predicates=PREDICATES,
        min_skipped=0.8,
        report_dir=LAKE / "reports",
        reports_url=os.environ.get("REPORTS_URL"),
    )
    write >> check >> report

lineitem = table_asset(TABLE, name="lineitem", poke_interval=float(os.environ.get("POKE_SECONDS", "30")))

with DAG("upkeep", schedule=[lineitem], tags=["prune-assets"], max_active_runs=1):
    OptimizeTableOperator(task_id="optimize", table=TABLE, layout=LAYOUT, predicates=list(PREDICATES.values()))
