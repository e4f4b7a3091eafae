"""The operators of workloads and advice, run as a worker runs them."""

from __future__ import annotations

import json
import random

import pytest

pytest.importorskip("airflow.sdk", reason="no Airflow; `make e2e` installs it, or: pip install 'prune-assets[airflow]'")

import pyarrow as pa
import pyarrow.parquet as pq
from airflow.sdk.exceptions import AirflowFailException

import prune_assets as pr
from prune_assets.airflow import AdviseLayoutOperator, ReadWorkloadOperator


@pytest.fixture
def table(tmp_path):
    draw = random.Random(1)
    rows = {"id": range(200_000), "shop": [draw.randrange(500) for _ in range(200_000)]}
    (tmp_path / "orders").mkdir()
    pq.write_table(pa.table(rows), tmp_path / "orders" / "0.parquet", write_page_index=True, max_rows_per_page=20_000)
    return tmp_path / "orders"


def test_a_layout_is_advised_for_what_ran(tmp_path, table, context):
    queries = tmp_path / "queries.sql"
    queries.write_text(f"SELECT id FROM parquet.`{table}` WHERE shop = 7 -- weight: 3\n")
    out = tmp_path / "workloads" / "2024-01-01.json"
    told = ReadWorkloadOperator(task_id="w", event_logs=str(queries), out=str(out)).execute(context)
    assert (told["workload"], told["queries"]) == (str(out), 3)
    assert json.loads(out.read_text())["schema"] == "workload/1"

    layout = tmp_path / "layout.yaml"
    advice = AdviseLayoutOperator(task_id="a", table=table, workload=str(out.parent), latest=7, out=str(layout))
    told = advice.execute(context)
    assert told["layout"].startswith("sort by shop")
    assert told["advised_bytes"] < 0.5 * told["today_bytes"]
    assert pr.load_layout(layout).sort_by == ("shop",)


def test_what_cannot_be_read_fails_in_a_line(tmp_path, context):
    with pytest.raises(AirflowFailException, match="gone") as raised:
        ReadWorkloadOperator(task_id="w", event_logs=str(tmp_path / "gone"), out=str(tmp_path / "w.json")).execute(
            context
        )
    assert "\n" not in str(raised.value)
