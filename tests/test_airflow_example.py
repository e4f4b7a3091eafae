"""The Airflow example: its layout, and that its DAGs match its README."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from prune_assets.writing.layout_file import load_layout

EXAMPLE = Path(__file__).parents[1] / "examples" / "airflow"


def test_its_layout_is_one():
    assert load_layout(EXAMPLE / "layout.yaml").sort_by == ("l_shipdate",)


def test_its_dags_are_those_of_the_readme(monkeypatch, tmp_path):
    pytest.importorskip("airflow.sdk", reason="no Airflow; `make e2e` installs it")
    from airflow.sdk import DAG

    monkeypatch.setenv("LAKE", str(tmp_path))
    found = runpy.run_path(str(EXAMPLE / "dags" / "tpch.py"))
    assert found["lineitem"].uri == (tmp_path / "lineitem").as_uri()
    tasks = {task.task_id: [*task.downstream_task_ids] for task in found["write"].dag.tasks}
    assert tasks == {"generate": ["write"], "write": ["check"], "check": ["report"], "report": []}
    named = set(re.findall(r"`(\w+)`", (EXAMPLE / "README.md").read_text()))
    assert {"tpch", "upkeep", *tasks} - {"generate", "write"} <= named
    assert isinstance(found["write"].dag, DAG)


@pytest.mark.parametrize(
    ("name", "task", "before"),
    [("README.md", "check", "write"), ("docs/airflow.md", "check", "write"), ("docs/advisor.md", "advice", "queries")],
)
def test_the_dags_that_are_shown_load(name, task, before):
    pytest.importorskip("airflow.sdk", reason="no Airflow; `make e2e` installs it")
    text = (Path(__file__).parents[1] / name).read_text()
    (source,) = re.findall(r"```python\n(from airflow.*?)```", text, re.DOTALL)
    made = {}
    exec(compile(source, name, "exec"), made)
    assert made["dag"].task_dict[task].upstream_task_ids == {before}
