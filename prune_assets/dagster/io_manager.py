"""An IO manager that writes and reads tables with a layout."""
# No `from __future__ import annotations`: Dagster reads the annotation of `spark` itself, not its source text.

from collections.abc import Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field, field_validator

from parquet_core.errors import LayoutError, WrongUse
from prune_assets.checks.remedies import error_in
from prune_assets.checks.when_empty import WhenEmpty, check_when_empty
from prune_assets.dagster.arguments import check_written
from prune_assets.dagster.assets import asset_with, no_rows
from prune_assets.dagster.metadata import layout_metadata, layout_version, written_metadata
from prune_assets.dagster.partitions import PARTITION_EXPR, check_partitions, partition_predicate
from prune_assets.dagster.resources import session_of, warn_of_many_sessions
from prune_assets.spark.semantics_of_session import semantics_of
from prune_assets.writing.layout_file import load_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from prune_assets.tables.writes.write_result import Mode
    from prune_assets.writing.layout_file import LayoutSource

TABLE, FORMAT, MODE, LAYOUT = "prune/table", "prune/format", "prune/mode", "prune/layout"
WHEN_EMPTY = "prune/when_empty"


def pruned_asset(
    *,
    layout: "LayoutSource",
    table: "str | Path | None" = None,
    format: str | None = None,  # noqa: A002 - the word of DataFrameWriter
    mode: "Mode" = "overwrite",
    partition_expr: "str | Mapping[str, str] | None" = None,
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    when_empty: WhenEmpty = "pass",
    io_manager_key: str = "tables",
    metadata: "Mapping[str, Any] | None" = None,
    kinds: "Iterable[str] | None" = None,
    **asset_options: Any,
) -> "Callable[[Callable[..., Any]], dg.AssetsDefinition]":
    """Make an asset of a function whose DataFrame becomes a table.

    >>> import dagster as dg
    >>> import prune_assets as pr
    >>> from prune_assets.dagster import PrunedTableIOManager, SparkSessionResource, pruned_asset
    >>> days = dg.DailyPartitionsDefinition(start_date="2024-01-01")
    >>> layout = pr.LayoutSpec(partition_by=["day"], sort_by=["id"])
    >>> @pruned_asset(layout=layout, format="delta", partitions_def=days, partition_expr="day")
    ... def orders(context: dg.AssetExecutionContext, spark: SparkSessionResource):
    ...     return spark.session.sql(f"SELECT id, DATE '{context.partition_key}' AS day FROM range(1000)")
    >>> spark = SparkSessionResource()
    >>> resources = {"spark": spark, "tables": PrunedTableIOManager(root="lake", spark=spark)}
    >>> defs = dg.Definitions([orders], resources=resources)
    >>> defs.resolve_assets_def("orders").metadata_by_key[orders.key]["partition_expr"]
    'day'

    A run of some partitions replaces exactly these partitions, in one commit. Rows of other partitions fail the run; a
    run without rows replaces nothing and warns. With `backfill_policy=dg.BackfillPolicy.single_run()` a backfill is one
    run, with one commit and one Spark session.

    A downstream asset that takes this asset as an input gets a DataFrame of the partitions that it depends on, filtered
    by `where`: `ins={"orders": dg.AssetIn(metadata={"where": "amount > 10"})}`.

    `table`: location of the table; by default the asset's key below the `root` of the IO manager.
    `layout`, `format`, `mode`: as in `prune_assets.write`; an asset with partitions overwrites the partitions of the
    run.
    `partition_expr`: the partition column of the layout that holds the asset's partition, or one column for each
    dimension.
    `when_empty`: behavior if the function returns no rows. "pass" writes as usual. "skip" makes no materialization, so
    downstream assets in the same run are skipped. "fail" leaves the table unchanged and fails without retries.
    `io_manager_key`: resource key of a PrunedTableIOManager. All other options are passed to Dagster's `asset`.

    Raises LayoutError if `partitions_def` and the layout do not match.
    """
    layout = load_layout(layout)
    check_partitions(partitions_def, partition_expr, layout)
    check_when_empty(when_empty)
    check_written(format, mode)
    entries = {
        WHEN_EMPTY: when_empty,
        FORMAT: format,
        MODE: mode,
        PARTITION_EXPR: partition_expr,
        TABLE: None if table is None else str(table),
    }
    described = layout_metadata(layout, table, format=format) | {
        key: entries[key] for key in entries if entries[key] is not None
    }
    make = asset_with(
        io_manager_key=io_manager_key,
        partitions_def=partitions_def,
        metadata={**described, **(metadata or {})},
        kinds={format or "parquet", "spark"} if kinds is None else set(kinds),
        code_version=asset_options.pop("code_version", layout_version(layout)),
        **({"output_required": False} if when_empty == "skip" else {}),
        **asset_options,
    )
    return make if when_empty != "skip" else lambda function: make(_without_empty_output(function))


def _without_empty_output(function: "Callable[..., Any]") -> "Callable[..., Iterator[Any]]":
    """Wrap an asset's function so that it yields no output if its DataFrame is empty."""

    @wraps(function)
    def rows(*args: Any, **kwargs: Any) -> Iterator[Any]:
        df = function(*args, **kwargs)
        if df is None or not df.isEmpty():
            yield dg.Output(df)

    return rows


class PrunedTableIOManager(dg.ConfigurableIOManager):
    """Writes the DataFrames of assets as tables with a layout.

    Reads the rows that downstream assets need.

    >>> from prune_assets.dagster import PrunedTableIOManager, SparkSessionResource
    >>> tables = PrunedTableIOManager(root="s3://lake", format="delta", spark=SparkSessionResource())
    >>> tables.place_of(["sales", "orders"], {})
    's3://lake/sales/orders'
    >>> of_iceberg = PrunedTableIOManager(root="lake", format="iceberg", spark=SparkSessionResource())
    >>> of_iceberg.place_of(["sales", "orders"], {})
    'lake.sales.orders'

    Pass it to definitions as `resources={"tables": tables}`; `pruned_asset` sets the layout of each table. An asset
    made without `pruned_asset` declares its layout in its metadata, as `prune/layout`: the path of a `layout.yaml`, or
    its keys. An input with an invalid predicate fails the run before any table is written.
    """

    root: str = Field(
        description="The directory or bucket that holds the tables, each by the key of its asset; of Iceberg the name "
        "of the catalog, with a database where keys name none."
    )
    format: str = Field(
        default="parquet", description="parquet, delta or iceberg, for tables whose asset has no format."
    )
    spark: dg.ResourceDependency[dg.ConfigurableResource[Any]]

    @field_validator("format", mode="before")
    @classmethod
    def _is_format(cls, given: object) -> object:
        if not isinstance(given, dg.EnvVar):
            check_written(given)
        return given

    def place_of(self, path: "Iterable[str]", metadata: "Mapping[str, Any]") -> str:
        """Return the location of an asset's table; for Iceberg its name in the catalog.

        The session's catalog resolves the location of an Iceberg table.
        """
        named = _plain(metadata.get(TABLE))
        if named is not None:
            return str(named)
        if _is_by_catalog_alone(_plain(metadata.get(FORMAT, self.format))):
            return ".".join([self.root, *(part if part.isidentifier() else f"`{part}`" for part in path)])
        return "/".join([self.root.rstrip("/"), *path])

    def handle_output(self, context: dg.OutputContext, obj: "DataFrame | None") -> None:
        """Write the rows of an asset, or of the run's partitions."""
        from prune_assets.writing.write import check_frame, write_rows

        name = context.asset_key.to_user_string()
        metadata = {key: _plain(value) for key, value in (context.definition_metadata or {}).items()}
        if LAYOUT not in metadata:
            if obj is None:
                return
            raise LayoutError(f"{name}: the asset has no layout; use pruned_asset for it")
        if obj is None:
            raise WrongUse(f"{name}: the function returned None; return a DataFrame of Spark")
        check_frame(obj)
        layout = load_layout(metadata[LAYOUT])
        location = self.place_of(context.asset_key.path, metadata)
        mode = metadata.get(MODE, "overwrite")
        where = _partitions_of(context, metadata, obj) if mode == "overwrite" else None
        warn_of_many_sessions(context.log)
        format_ = metadata.get(FORMAT, self.format)
        of_partitions = where is not None
        must_have_rows = metadata.get(WHEN_EMPTY) == "fail"
        try:
            result = write_rows(
                *(obj, location),
                layout=layout,
                format=format_,
                mode=mode,
                where=where,
                only_by_rows=of_partitions or must_have_rows,
            )
        except WrongUse as error:
            raise error_in("dagster", error) from None
        if must_have_rows and not result.rows:
            raise no_rows(context.asset_key, location)
        partitions = len(context.asset_partition_keys) if of_partitions else 0
        if of_partitions and not result.rows:
            context.log.warning(
                "%s: the function returned no rows, so nothing was replaced; to empty a partition, use `write` with "
                "mode='overwrite' and where",
                name,
            )
        context.add_output_metadata(written_metadata(result, obj.schema, layout, partitions=partitions))

    def load_input(self, context: dg.InputContext) -> "DataFrame":
        """Return the rows that a downstream asset needs.

        They are selected by its partitions and its `where`.
        """
        from prune_assets.reading.reader import read

        upstream = context.upstream_output
        metadata = {} if upstream is None else dict(upstream.definition_metadata or {})
        session, location = session_of(self.spark), self.place_of(context.asset_key.path, metadata)
        where = (context.definition_metadata or {}).get("where")
        parts = [_plain(where)] if where is not None else []
        if context.has_asset_partitions and PARTITION_EXPR in metadata:
            columns = _plain(metadata[PARTITION_EXPR])
            parts.append(partition_predicate(context, columns, _kinds(_schema_of(session, location)), is_exact=True))
        return read(session, location, where=" AND ".join(f"({part})" for part in parts) or "true")


def _is_by_catalog_alone(name: str) -> bool:
    from prune_assets.tables.opening import FORMATS

    return any(each.by_catalog_alone for each in FORMATS if each.name == name)


def _plain(value: Any) -> Any:
    """Return a metadata value as a plain Python value."""
    return value.value if isinstance(value, dg.MetadataValue) else value


def _partitions_of(context: dg.OutputContext, metadata: "Mapping[str, Any]", df: "DataFrame") -> str | None:
    if not context.has_asset_partitions:
        return None
    columns = metadata.get(PARTITION_EXPR)
    if columns is None:
        name = context.asset_key.to_user_string()
        raise WrongUse(
            f"{name}: the asset is partitioned but names no partition column, so each run would overwrite all rows; "
            "pass partition_expr to pruned_asset"
        )
    return partition_predicate(context, columns, _kinds(df.schema), is_exact=True)


def _kinds(schema: "StructType") -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def _schema_of(session: "SparkSession", location: str) -> Any:
    from prune_assets.tables.opening import open_table

    return open_table(location, semantics=semantics_of(session), session=session).empty_frame(session).schema
