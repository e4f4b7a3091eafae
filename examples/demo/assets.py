"""Assets of the demo: generated files, tables written from them, two deliberately broken tables, skip reports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dagster as dg

from examples.demo.layouts import lineitem_layout, long_strings_layout, orders_layout
from examples.demo.predicates import NARROW_RANGE, Q6, choose_or_columns, choose_point_lookup
from examples.demo.tpch import generate
from prune_assets.dagster import Choice, LayoutTable, SparkSessionResource, table_uri

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from examples.demo.settings import DemoSettings

LINEITEM_RAW = dg.AssetKey(["tpch", "lineitem_raw"])
ORDERS_RAW = dg.AssetKey(["tpch", "orders_raw"])
LINEITEM = dg.AssetKey(["tpch", "lineitem"])
ORDERS = dg.AssetKey(["tpch", "orders"])
DEFAULT = dg.AssetKey(["tpch", "lineitem_default"])
# A shuffle leaves many files whose value ranges overlap.
DEFAULT_FILES = 64
UNSORTED = dg.AssetKey(["broken", "lineitem_unsorted"])
LONG_STRINGS = dg.AssetKey(["broken", "long_strings"])
LONG_STRING_ROWS = 2_000


def demo_tables(settings: DemoSettings) -> dict[dg.AssetKey, LayoutTable]:
    """Return the tables with a layout, by key."""
    lineitem = lineitem_layout(settings.scale)
    layouts = {
        LINEITEM: lineitem,
        ORDERS: orders_layout(settings.scale),
        UNSORTED: lineitem,
        LONG_STRINGS: long_strings_layout(),
    }
    return {key: LayoutTable(key, settings.table(key.path[-1]), layout=layout) for key, layout in layouts.items()}


def demo_assets(settings: DemoSettings) -> list[dg.AssetsDefinition]:
    """Build every asset of the demo."""
    tables = demo_tables(settings)
    return [
        _generated_asset(LINEITEM_RAW, "lineitem", settings),
        _generated_asset(ORDERS_RAW, "orders", settings),
        *_sorted_tables(tables, settings),
        _default_table(settings),
        *_broken_tables(tables, settings),
        *_skip_reports(tables[LINEITEM], settings),
    ]


def _generated_asset(key: dg.AssetKey, table: str, settings: DemoSettings) -> dg.AssetsDefinition:
    @dg.asset(
        key=key,
        group_name="tpch",
        kinds={"parquet"},
        description=f"TPC-H `{table}` as generated, in the order of its primary key.",
        metadata={"dagster/uri": table_uri(settings.generated / f"{table}.parquet"), "scale": settings.scale},
    )
    def generated() -> dg.MaterializeResult[Any]:
        import pyarrow.parquet as pq

        path = generate(settings, table)
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": pq.read_metadata(path).num_rows,
                "bytes": path.stat().st_size,
                "path": dg.MetadataValue.path(str(path)),
            }
        )

    return generated


def _sorted_tables(tables: dict[dg.AssetKey, LayoutTable], settings: DemoSettings) -> list[dg.AssetsDefinition]:
    return [
        tables[LINEITEM].asset_from(
            lambda spark: _raw(spark, settings, "lineitem"),
            group_name=LINEITEM.path[0],
            deps=[LINEITEM_RAW],
            description="Line items sorted by shipping date, with a bloom filter on the order key.",
        ),
        tables[ORDERS].asset_from(
            lambda spark: _raw(spark, settings, "orders"),
            group_name=ORDERS.path[0],
            deps=[ORDERS_RAW],
            description="Orders sorted by order date, with a bloom filter on the order key.",
        ),
    ]


def _default_table(settings: DemoSettings) -> dg.AssetsDefinition:
    table = settings.table("lineitem_default")

    @dg.asset(
        key=DEFAULT,
        deps=[LINEITEM_RAW],
        group_name=DEFAULT.path[0],
        kinds={"parquet", "spark"},
        description="The same line items as Spark writes them by default after a shuffle: unsorted, in many files.",
        metadata={"dagster/uri": table_uri(table)},
    )
    def default_table(spark: SparkSessionResource) -> dg.MaterializeResult[Any]:
        rows = _raw(spark.session, settings, "lineitem").repartition(DEFAULT_FILES)
        rows.write.mode("overwrite").parquet(str(table))
        return dg.MaterializeResult(metadata={"files": DEFAULT_FILES, "path": dg.MetadataValue.path(str(table))})

    return default_table


def _broken_tables(tables: dict[dg.AssetKey, LayoutTable], settings: DemoSettings) -> list[dg.AssetsDefinition]:
    return [
        tables[UNSORTED].asset_from(
            lambda spark: _raw(spark, settings, "lineitem"),
            group_name=UNSORTED.path[0],
            written_as=replace(tables[UNSORTED].layout, sort_by=()),
            deps=[LINEITEM_RAW],
            description="Claims the layout of `tpch/lineitem` and was written without sorting: its checks fail.",
        ),
        tables[LONG_STRINGS].asset_from(
            lambda spark: _long_strings(spark, settings),
            group_name=LONG_STRINGS.path[0],
            deps=[ORDERS_RAW],
            # Without truncation to 64 bytes, the mean size of page bounds exceeds the limit of 4,096 bytes.
            writer_options={"parquet.columnindex.truncate.length": "100000"},
            description="3,000-byte strings lose their column index to the MAX_STATS_SIZE rule: its checks fail.",
        ),
    ]


def _skip_reports(lineitem: LayoutTable, settings: DemoSettings) -> list[dg.AssetsDefinition]:
    table, generated = settings.table("lineitem"), settings.generated / "lineitem.parquet"
    predicates: dict[str, tuple[str | Callable[[], Choice], str]] = {
        "narrow_range": (NARROW_RANGE, "Three days of shipping dates."),
        "point_lookup": (
            lambda: choose_point_lookup(table, generated),
            "One order by its key: the median of 20 seeded ones by kept bytes.",
        ),
        "q6": (Q6, "The where-clause of TPC-H query 6."),
        "or_columns": (lambda: choose_or_columns(generated), "One order or one day: an OR across two columns."),
    }
    return [
        lineitem.skip_report(
            name,
            where,
            reports=settings.reports,
            baseline=settings.table("lineitem_default"),
            deps=[DEFAULT],
            description=description,
        )
        for name, (where, description) in predicates.items()
    ]


def _raw(spark: SparkSession, settings: DemoSettings, table: str) -> DataFrame:
    return spark.read.parquet(str(settings.generated / f"{table}.parquet"))


def _long_strings(spark: SparkSession, settings: DemoSettings) -> DataFrame:
    from pyspark.sql import functions as fn

    orders = _raw(spark, settings, "orders").orderBy("o_orderkey").limit(LONG_STRING_ROWS)
    # Values differ from the first byte on, so that no page repeats a value.
    text = fn.concat_ws(" ", fn.md5(fn.col("o_orderkey").cast("string")), "o_comment")
    return orders.select("o_orderkey", fn.rpad(fn.repeat(text, 100), 3_000, ".").alias("o_story"))
