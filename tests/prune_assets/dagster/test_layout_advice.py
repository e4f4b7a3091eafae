from __future__ import annotations

import random

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.layout.spec import LayoutSpec
from prune_assets.dagster import (
    MaintainedTable,
    build_layout_advice_asset,
    build_layout_advice_check,
    build_workload_asset,
)
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
    asset = build_layout_advice_asset(
        "sales/orders",
        table=table,
        workload=tmp_path / "workloads",
        pages=tmp_path / "pages",
        more_deps=["queries"],
    )
    shown = metadata_of(ran, asset)
    assert asset.key.to_user_string() == "layout_advice/sales/orders"
    assert "sort by shop" in shown["prune/advice"].value
    assert shown["prune/advised_bytes"].value < 0.5 * shown["prune/today_bytes"].value
    assert 'sort_by: ["shop"]' in shown["prune/layout_yaml"].value
    assert "█" in shown["prune/ranking"].value
    assert "sort by shop" in (tmp_path / "pages" / "sales_orders.html").read_text()


def test_a_check_warns_where_another_layout_would_help_much(table):
    result = build_layout_advice_check("orders", table, workload=["shop = 7"])()
    assert (result.passed, result.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "sort by shop" in result.description
    assert build_layout_advice_check("orders", table, workload=["id < 100000"])().passed


def test_a_table_that_is_not_there_fails_the_check_in_a_line(tmp_path):
    result = build_layout_advice_check("orders", tmp_path / "gone", workload=["id = 7"])()
    assert not result.passed
    assert "gone" in result.description


def test_a_share_must_be_one():
    with pytest.raises(PruneError, match="max_share=2"):
        build_layout_advice_check("orders", "lake/orders", workload=[], max_share=2)


@pytest.mark.parametrize("is_there", [True, False])
def test_without_a_workload_the_asset_that_makes_one_is_named(tmp_path, table, is_there):
    workload = tmp_path / "workloads"
    if is_there:
        workload.mkdir()
    advice = {"workload": workload, "more_deps": ["ops/queries"]}
    result = build_layout_advice_check("orders", table, **advice)()
    assert result.description == f"{workload}: no workload yet; materialize ops/queries"
    with pytest.raises(PruneError, match="no workload yet; materialize ops/queries"):
        dg.materialize([build_layout_advice_asset("orders", table=table, **advice)])
    kept = MaintainedTable("orders", table, LayoutSpec(), workload=workload)
    with pytest.raises(PruneError, match="no workload yet; materialize the asset of build_workload_asset"):
        kept.ran()
