"""DAGs for failures and for waiting; the other DAGs are those of the example."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG

from prune_assets.airflow import CheckLayoutOperator, SkipReportOperator, TableChangeSensor, WriteTableOperator

ROOT = Path(os.environ["E2E_ROOT"])
BROKEN, ARRIVALS, KILLED = (ROOT / name for name in ("broken", "arrivals", "killed"))
SLOW = ROOT / "slow"
ROWS, MANY_ROWS = 20_000, 1_000_000
# Row groups fill quickly, so that bytes are written early.
LAYOUT = {"sort_by": ["id"], "files": 2, "row_group_rows": 10_000}


def rows(spark):
    """Return many rows on the first try; the file is gone when the task is retried."""
    count = MANY_ROWS if SLOW.exists() else ROWS
    return spark.sql(f"SELECT id, sha2(CAST(id AS STRING), 512) AS word FROM range({count}) ORDER BY hash(id)")


with DAG("broken", schedule=None):
    # These tasks are not retried, because only the user can fix them.
    CheckLayoutOperator(task_id="check", table=BROKEN, layout=LAYOUT)
    SkipReportOperator(task_id="wrong_predicate", table=BROKEN, predicates={"first": "idd < 10"})
    SkipReportOperator(task_id="no_table", table=ROOT / "nowhere", predicates=["id < 10"])
    CheckLayoutOperator(task_id="warned", table=BROKEN, layout=LAYOUT, severity="warn")

with DAG("waits", schedule=None):
    TableChangeSensor(task_id="wait", table=ARRIVALS, poke_interval=1, timeout=120)

with DAG("killed", schedule=None):
    WriteTableOperator(
        task_id="write",
        table=KILLED,
        source=rows,
        layout=LAYOUT,
        retries=1,
        retry_delay=timedelta(seconds=1),
        mode="overwrite",
    )
