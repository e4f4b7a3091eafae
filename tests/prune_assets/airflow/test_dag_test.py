"""`dag.test()`: a whole DAG in one process, as its author tries it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("airflow.sdk", reason="no Airflow; `make e2e` installs it, or: pip install 'prune-assets[airflow]'")
DAG = """
from airflow.sdk import DAG, Asset
from prune_assets.airflow import *

with DAG("tried", schedule=None) as dag:
    good, broken, layout = {good!r}, {broken!r}, {{"sort_by": ["id"]}}
    wait = TableChangeSensor(task_id="wait", table=good, since="another", poke_interval=0.1)
    check = CheckLayoutOperator(task_id="check", table=good, layout=layout, outlets=[Asset("good")])
    report = SkipReportOperator(task_id="report", table=good, predicates={{"first": "id < 150"}}, min_skipped=0.5)
    red = CheckLayoutOperator(task_id="red", table=broken, layout=layout)
    wait >> check >> report >> red

if __name__ == "__main__":
    run = dag.test()
    for task in sorted(run.get_task_instances(), key=lambda task: task.task_id):
        print("STATE", task.task_id, task.state, task.try_number)
"""


@pytest.mark.deep
def test_a_dag_runs_in_one_process_and_its_error_ends_one_traceback(ids, broken, tmp_path):
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "tried.py").write_text(DAG.format(good=str(ids), broken=str(broken)))
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(tmp_path / "home"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    for command in (["-m", "airflow", "db", "migrate"], [dags / "tried.py"]):
        done = subprocess.run(
            [sys.executable, *command], env=environment, capture_output=True, text=True, check=True, timeout=200
        )
    said = done.stdout + done.stderr
    states = [tuple(line.split()[1:]) for line in said.splitlines() if line.startswith("STATE")]
    assert states == [
        ("check", "success", "1"),
        ("red", "failed", "1"),
        ("report", "success", "1"),
        ("wait", "success", "1"),
    ]
    assert "order.rows: part-1.parquet, row 1" in said
    assert "4 errors, 0 warnings of its layout; the first: " in said
    assert said.count("Traceback") == 1
    assert said.count("TableTaskError: ") == 1
