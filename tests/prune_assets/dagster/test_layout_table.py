"""A table and all of its definitions."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import dagster as dg
import pytest

from parquet_core.errors import WrongUse
from parquet_core.layout.spec import LayoutSpec
from prune_assets.dagster import LayoutTable, PrunedTableIOManager, SparkSessionResource

ORDERS = LayoutTable(
    "sales/orders",
    "lake/orders",
    layout=LayoutSpec(partition_by=["day"], sort_by=["id"]),
    format="delta",
    partitions_def=dg.StaticPartitionsDefinition(["2024-01-01"]),
    partition_expr="day",
    predicates={"one": "id = 1"},
)
IDS = LayoutTable("ids", "lake/ids", predicates={"one": "id = 1"}, workload=["id = 1"])
OTHER_CHECKS = {"bloom_filters_present", "column_index_present", "files_do_not_overlap", "sizes_within_limits"}


def loaded(*parts):
    """Return the merged definitions, after Dagster has resolved them with resources."""
    spark = SparkSessionResource()
    resources = {"spark": spark, "tables": PrunedTableIOManager(spark=spark)}
    defs = dg.Definitions.merge(*parts, dg.Definitions(resources=resources))
    dg.Definitions.validate_loadable(defs)
    return defs


def names(defs):
    return (
        {key.to_user_string() for key in defs.resolve_all_asset_keys()},
        {
            key.name
            for key in defs.resolve_asset_graph().asset_check_keys
            if key.name[:5] in {"skips", "sorte", "layou"}
        },
        {sensor.name for sensor in defs.sensors},
        {job.name for job in defs.jobs},
    )


def test_definitions_of_a_function_have_everything():
    defs = loaded(ORDERS.definitions(lambda: None, reports="reports", owners=["team:sales"]))
    assert names(defs) == (
        {"sales/orders", "skip_reports/sales/orders/one"},
        {"sorted_order", "skips_one"},
        {"sales__orders_changed", "sales__orders_layout_drift"},
        {"optimize_sales__orders"},
    )
    written = defs.resolve_assets_def(ORDERS.key)
    assert written.partitions_def == ORDERS.partitions_def
    assert list(written.get_asset_spec().owners) == ["team:sales"]


def test_tables_written_by_a_query_or_elsewhere_are_merged():
    defs = loaded(IDS.definitions("SELECT 1 AS id"), ORDERS.definitions())
    assert names(defs) == (
        {"ids", "layout_advice/ids", "sales/orders"},
        {"sorted_order", "skips_one", "layout_fits_queries"},
        {"ids_changed", "ids_layout_drift", "sales__orders_changed"},
        {"optimize_ids"},
    )
    assert defs.resolve_assets_def("ids").is_executable
    assert not defs.resolve_assets_def(ORDERS.key).is_executable


def test_an_asset_is_taken_as_it_is_and_must_write_the_table():
    @IDS.asset(owners=["team:a"])
    def made(): ...

    assert made in IDS.definitions(made).assets
    with pytest.raises(WrongUse, match="sales/orders: source is an asset already; it does not write this table"):
        ORDERS.definitions(made)
    with pytest.raises(WrongUse, match="ids: source is an asset already; pass its options to `asset`"):
        IDS.definitions(made, owners=["team:b"])


def test_a_table_is_a_value():
    assert replace(IDS, latest=3).latest == 3
    assert replace(IDS, latest=3) != IDS
    with pytest.raises(FrozenInstanceError):
        IDS.latest = 3


def test_an_asset_without_a_table_needs_the_root_of_the_io_manager():
    without = PrunedTableIOManager(spark=SparkSessionResource())
    assert without.place_of(["ids"], {"prune/table": "lake/ids"}) == "lake/ids"
    with pytest.raises(WrongUse, match="sales/orders: the asset names no table, and the IO manager has no root"):
        without.place_of(["sales", "orders"], {})
