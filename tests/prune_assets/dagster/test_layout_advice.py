from __future__ import annotations

import random

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prune_assets.dagster import LayoutTable, build_workload_asset
from prune_assets.dagster.workload import load_materialized
from prune_assets.errors import PruneError


@pytest.fixture
def table(tmp_path):
    draw = random.Random(1)
    rows = {"id": range(200_000), "shop": [draw.randrange(500) for _ in range(200_000)]}
    (tmp_path / "orders").mkdir()
    options = {"write_page_index": True, "max_rows_per_page": 20_000, "use_dictionary": ["shop"]}
    pq.write_table(pa.table(rows), tmp_path / "orders" / "0.parquet", **options)
    return tmp_path / "orders"


def metadata_of(*assets):
    result = dg.materialize(assets)
    (event,) = result.asset_materializations_for_node(assets[-1].node_def.name)
    return event.metadata


def test_the_advice_follows_the_queries_that_ran(tmp_path, table):
    queries = tmp_path / "queries.sql"
    queries.write_text(f"SELECT id FROM parquet.`{table}` WHERE shop = 7\n")
    ran = build_workload_asset("queries", queries, workloads=tmp_path / "workloads")
    asset = LayoutTable("sales/orders", table, workload=tmp_path / "workloads").advice(
        reports=tmp_path / "pages", deps=["queries"]
    )
    shown = metadata_of(ran, asset)
    assert asset.key.to_user_string() == "layout_advice/sales/orders"
    assert "sort by shop" in shown["prune/advice"].value
    assert shown["prune/advised_bytes"].value < 0.5 * shown["prune/today_bytes"].value
    assert 'sort_by: ["shop"]' in shown["prune/layout_yaml"].value
    assert "█" in shown["prune/ranking"].value
    assert "sort by shop" in (tmp_path / "pages" / "sales_orders.html").read_text()


def test_a_check_warns_where_another_layout_would_help_much(table):
    result = LayoutTable("orders", table, workload=["shop = 7"]).advice_check()()
    assert (result.passed, result.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "sort by shop" in result.description
    assert LayoutTable("orders", table, workload=["id < 100000"]).advice_check()().passed


def test_a_table_that_is_not_there_fails_the_check_in_a_line(tmp_path):
    result = LayoutTable("orders", tmp_path / "gone", workload=["id = 7"]).advice_check()()
    assert not result.passed
    assert "gone" in result.description


def test_a_share_must_be_one():
    with pytest.raises(PruneError, match="max_share=2"):
        LayoutTable("orders", "lake/orders", workload=[]).advice_check(max_share=2)


@pytest.mark.parametrize("is_there", [True, False])
def test_without_a_workload_the_asset_that_makes_one_is_named(tmp_path, table, is_there):
    workload = tmp_path / "workloads"
    if is_there:
        workload.mkdir()
    orders = LayoutTable("orders", table, workload=workload)
    result = orders.advice_check(additional_deps=["ops/queries"])()
    assert result.description == f"{workload}: no workload yet; materialize ops/queries"
    with pytest.raises(PruneError, match="no workload yet; materialize ops/queries"):
        dg.materialize([orders.advice(deps=["ops/queries"])])
    with pytest.raises(PruneError, match="no workload yet; materialize the asset of build_workload_asset"):
        load_materialized(orders)


def test_advice_needs_a_workload():
    with pytest.raises(PruneError, match="orders: advice needs a workload"):
        LayoutTable("orders", "lake/orders").advice()
