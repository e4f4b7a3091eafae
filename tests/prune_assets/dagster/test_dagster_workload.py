from __future__ import annotations

from pathlib import Path

import dagster as dg

from prune_assets.advisor.workload.json_form import from_json
from prune_assets.dagster import build_workload_asset


def materialize(asset, **options):
    result = dg.materialize([asset], **options)
    (event,) = result.asset_materializations_for_node(asset.node_def.name)
    return event.metadata


def test_a_run_writes_the_workload_and_shows_its_tables(tmp_path):
    queries = tmp_path / "queries.sql"
    queries.write_text("SELECT id FROM lake.orders WHERE day = DATE '2024-01-01'  -- weight: 10\n")
    asset = build_workload_asset("queries", queries, workloads=tmp_path / "found", group_name="costs")
    shown = materialize(asset)
    assert shown["prune/queries"].value == 10
    assert "| `lake.orders` | 10 |" in shown["prune/tables"].value
    (shape,) = from_json((tmp_path / "found" / "workload.json").read_bytes()).shapes
    assert (shape.table, shape.shape) == ("lake.orders", "day = ?")


def test_a_partition_has_a_file_of_its_own(tmp_path):
    queries = tmp_path / "queries.sql"
    queries.write_text("SELECT id FROM lake.orders WHERE id = 1\n")
    days = dg.DailyPartitionsDefinition("2024-01-01")
    asset = build_workload_asset("queries", queries, workloads=tmp_path, partitions_def=days)
    shown = materialize(asset, partition_key="2024-01-02")
    assert shown["prune/workload"].value == str(tmp_path / "2024-01-02.json")
    assert (tmp_path / "2024-01-02.json").is_file()


def test_only_applications_that_are_asked_for_count(tmp_path):
    log = Path(__file__).parents[1] / "advisor" / "workload" / "logs" / "spark-4.3.zstd"
    counts = [
        materialize(build_workload_asset("queries", log, workloads=tmp_path, app=app))["prune/queries"].value
        for app in ("nightly*", "other")
    ]
    assert counts[0] > counts[1] == 0
