"""Assets of a table: written by a function or from a source, or written elsewhere."""
# No `from __future__ import annotations`: Dagster needs the annotation of `context` as a class, not as a string.

from collections.abc import Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any, Unpack, overload

import dagster as dg

from parquet_core.errors import WrongUse
from prune_assets.checks.when_empty import WhenEmpty, check_when_empty
from prune_assets.dagster.arguments import check_written
from prune_assets.dagster.asset_options import AssetOptions, SpecOptions, asset_with, dependency
from prune_assets.dagster.checks import check_specs, layout_results
from prune_assets.dagster.metadata import (
    FORMAT,
    MODE,
    TABLE,
    WHEN_EMPTY,
    layout_metadata,
    layout_version,
    storage_metadata,
    written_metadata,
)
from prune_assets.dagster.partitions import PARTITION_EXPR
from prune_assets.dagster.resources import session_for
from prune_assets.writing.layout_file import load_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from prune_assets.dagster.layout_table import LayoutTable
    from prune_assets.tables.writes.write_result import Mode
    from prune_assets.writing.layout_file import LayoutSource


@overload
def asset(self: "LayoutTable", function: "Callable[..., Any]") -> dg.AssetsDefinition: ...
@overload
def asset(
    self: "LayoutTable",
    function: None = None,
    *,
    mode: "Mode" = "overwrite",
    when_empty: WhenEmpty = "pass",
    **options: Unpack[AssetOptions],
) -> "Callable[[Callable[..., Any]], dg.AssetsDefinition]": ...
def asset(
    self: "LayoutTable",
    function: "Callable[..., Any] | None" = None,
    *,
    mode: "Mode" = "overwrite",
    when_empty: WhenEmpty = "pass",
    **options: Unpack[AssetOptions],
) -> "dg.AssetsDefinition | Callable[[Callable[..., Any]], dg.AssetsDefinition]":
    """Make an asset of a function whose DataFrame becomes the table.

    >>> import dagster as dg
    >>> import prune_assets as pr
    >>> from prune_assets.dagster import LayoutTable, PrunedTableIOManager, SparkSessionResource
    >>> orders = LayoutTable("orders", "lake/orders", layout=pr.LayoutSpec(sort_by=["id"]), format="delta")
    >>> @orders.asset
    ... def write_orders(spark: SparkSessionResource):
    ...     return spark.session.sql("SELECT id FROM range(1000)")
    >>> spark = SparkSessionResource()
    >>> defs = dg.Definitions([write_orders], resources={"spark": spark, "tables": PrunedTableIOManager(spark=spark)})
    >>> defs.resolve_assets_def("orders").metadata_by_key[write_orders.key]["prune/sort_by"]
    'id'

    A run of some partitions replaces exactly these partitions, in one commit. Rows of other partitions fail the run; a
    run without rows replaces nothing and warns. With `backfill_policy=dg.BackfillPolicy.single_run()` a backfill is one
    run, with one commit and one Spark session.

    A downstream asset that takes this asset as an input gets a DataFrame of the partitions that it depends on. The
    metadata of the input can choose rows and columns:
    `ins={"orders": dg.AssetIn(metadata={"where": "amount > 10", "columns": ["id", "amount"]})}`.

    `mode`: as in `prune_assets.write`; an asset with partitions overwrites the partitions of the run.
    `when_empty`: behavior if the function returns no rows. "pass" writes as usual. "skip" makes no materialization, so
    downstream assets in the same run are skipped. "fail" leaves the table unchanged and fails without retries.
    `io_manager_key`: resource key of a PrunedTableIOManager, "tables" by default. All other options are passed to
    Dagster's `asset`.
    """
    check_when_empty(when_empty)
    check_written(self.format, mode)
    entries = {
        WHEN_EMPTY: when_empty,
        FORMAT: self.format,
        MODE: mode,
        PARTITION_EXPR: self.partition_expr,
        TABLE: str(self.table),
    }
    defaults = {
        "io_manager_key": "tables",
        "kinds": {self.format or "parquet", "spark"},
        "code_version": layout_version(self.layout),
        "metadata": layout_metadata(self.layout, self.table, format=self.format)
        | {name: value for name, value in entries.items() if value is not None},
    }
    skips = when_empty == "skip"
    make = asset_with(options, defaults, key=self.key, partitions_def=self.partitions_def, output_required=not skips)

    def made(function: "Callable[..., Any]") -> dg.AssetsDefinition:
        return make(_without_empty_output(function) if skips else function)

    return made if function is None else made(function)


def _without_empty_output(function: "Callable[..., Any]") -> "Callable[..., Iterator[Any]]":
    """Wrap an asset's function so that it yields no output if its DataFrame is empty."""

    @wraps(function)
    def rows(*args: Any, **kwargs: Any) -> Iterator[Any]:
        df = function(*args, **kwargs)
        if df is None or not df.isEmpty():
            yield dg.Output(df)

    return rows


def asset_from(
    self: "LayoutTable",
    source: "str | Path | Callable[[SparkSession], DataFrame]",
    *,
    mode: "Mode" = "overwrite",
    written_as: "LayoutSource | None" = None,
    writer_options: "Mapping[str, str] | None" = None,
    check_layout: bool = False,
    when_empty: WhenEmpty = "pass",
    **options: Unpack[AssetOptions],
) -> dg.AssetsDefinition:
    """Make an asset that writes the rows of `source` to the table.

    >>> import dagster as dg
    >>> import prune_assets as pr
    >>> from prune_assets.dagster import LayoutTable, SparkSessionResource
    >>> ids = LayoutTable("ids", "lake/ids", layout=pr.LayoutSpec(sort_by=["id"]))
    >>> asset = ids.asset_from("SELECT * FROM range(9)", pool="spark")
    >>> defs = dg.Definitions(assets=[asset], resources={"spark": SparkSessionResource()})
    >>> defs.resolve_assets_def("ids").metadata_by_key[ids.key]["prune/sort_by"]
    'id'

    `source`: a SQL query, a Path or address of Parquet or Delta, or a function that takes the Spark session and returns
    a DataFrame. The asset needs a resource `spark` (SparkSessionResource, or your own); Spark starts when the asset
    runs. For a table with partitions use `asset`.
    `mode`: as in `prune_assets.write`.
    `writer_options`: options for Spark's writer.
    `written_as`: the layout that the writer applies, if it differs from the layout that the table claims.
    `check_layout`: True to run the checks of `checks` in the same run. Dagster then shows their results with the run,
    but cannot start these checks without writing the table again.
    `when_empty`: behavior if the source has no rows. "pass" writes as usual, so with the mode "overwrite" the table is
    empty afterwards. "skip" leaves the table unchanged and makes no materialization, so downstream assets in the same
    run are skipped. "fail" leaves the table unchanged and fails without retries. All other options (`deps`,
    `group_name`, `owners`, `retry_policy`, `automation_condition`, `pool`, ..) are passed to Dagster's `asset`.

    Raises WrongUse if the table has partitions. The run raises WrongUse before Spark starts if the table cannot be
    written in its format.
    """
    _refuse_partitions(self.key, self.partitions_def)
    to_write = self.layout if written_as is None else load_layout(written_as)
    key, table, table_format = self.key, self.table, self.format or "parquet"
    check_when_empty(when_empty)
    check_written(table_format, mode)
    defaults = {
        "kinds": {table_format, "spark"},
        "code_version": layout_version(to_write),
        "metadata": layout_metadata(self.layout, table, format=table_format),
        "required_resource_keys": {"spark"},
        "check_specs": check_specs(self) if check_layout else [],
    }

    @asset_with(options, defaults, key=key, output_required=when_empty != "skip")
    def table_asset(context: dg.AssetExecutionContext) -> Iterator[Any]:
        from prune_assets.reading.source_rows import rows_of
        from prune_assets.tables.target import refuse_place
        from prune_assets.writing.write import write_rows

        _refuse_partitions(key, context.assets_def.partitions_def)  # options of definitions can add partitions
        refuse_place(table, table_format)
        session = session_for(context)
        df = rows_of(source, session)
        result = write_rows(
            *(df, table),
            layout=to_write,
            format=table_format,
            mode=mode,
            options=writer_options,
            only_by_rows=when_empty != "pass",
        )
        if when_empty == "fail" and not result.rows:
            raise no_rows(key, table)
        checked = list(layout_results(self, session=session)) if check_layout else []
        if when_empty == "skip" and not result.rows:
            context.log.info("%s: the source has no rows, so the asset was not materialized", table)
            yield from checked
            return
        yield dg.MaterializeResult(metadata=written_metadata(result, df.schema, self.layout), check_results=checked)

    return table_asset


def _refuse_partitions(key: dg.AssetKey, partitions: object) -> None:
    if partitions is not None:
        raise WrongUse(
            f"{key.to_user_string()}: the table has partitions, and each run would write the whole table; use "
            "LayoutTable.asset, whose function returns the rows of the run's partitions"
        )


def no_rows(key: dg.AssetKey, table: object) -> dg.Failure:
    """Return the failure of an asset without rows whose `when_empty` is "fail"."""
    return dg.Failure(
        f"{key.to_user_string()}: there are no rows to write, and when_empty is 'fail'; {table} was not changed",
        allow_retries=False,
    )


def asset_spec(self: "LayoutTable", **options: Unpack[SpecOptions]) -> dg.AssetSpec:
    """Return the asset spec of a table that is written elsewhere.

    >>> from prune_assets.dagster import LayoutTable
    >>> orders = LayoutTable("sales/orders", "s3://lake/orders", format="delta").asset_spec(group_name="sales")
    >>> orders.key.to_user_string(), orders.metadata["dagster/storage_kind"]
    ('sales/orders', 'deltalake')

    Checks and reports accept its key like any other. `sensor(observe=True)` reports its data version to Dagster. This
    function does not read the storage. All options are passed to Dagster's `AssetSpec`.
    """
    given: dict[str, Any] = {**options}
    given["metadata"] = storage_metadata(self.table, format=self.format) | dict(given.get("metadata") or {})
    given["deps"] = [dependency(each) for each in given.get("deps") or ()]
    return dg.AssetSpec(self.key, partitions_def=self.partitions_def, **given)
