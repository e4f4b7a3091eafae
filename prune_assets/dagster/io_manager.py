"""An IO manager that writes and reads tables with a layout."""
# No `from __future__ import annotations`: Dagster needs the annotation of `spark` as a class, not as a string.

from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field, field_validator

from parquet_core.errors import LayoutError, WrongUse
from prune_assets.checks.remedies import error_in
from prune_assets.dagster.arguments import check_written
from prune_assets.dagster.assets import no_rows
from prune_assets.dagster.metadata import FORMAT, LAYOUT, MODE, TABLE, WHEN_EMPTY, written_metadata
from prune_assets.dagster.partitions import PARTITION_EXPR, partition_predicate
from prune_assets.dagster.resources import session_of, warn_of_many_sessions
from prune_assets.spark.semantics_of_session import semantics_of
from prune_assets.writing.layout_file import load_layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


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

    Pass it to definitions as `resources={"tables": tables}`; `LayoutTable.asset` sets the location and layout of each
    table. An asset that `LayoutTable.asset` did not make declares its layout in its metadata, as `prune/layout`: the
    path of a `layout.yaml`, or the keys of a layout. The metadata of an input can select rows and columns: `where`, a
    predicate in SQL, and `columns`, a list of names. An input with an invalid predicate fails the run before any table
    is written.
    """

    root: str | None = Field(
        default=None,
        description="The directory or bucket of the tables whose assets name no location, each by the key of its "
        "asset; of Iceberg the name of the catalog, with a database where keys name none.",
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
        """Return the location of an asset's table; for Iceberg its name in the session's catalog."""
        named = _plain(metadata.get(TABLE))
        if named is not None:
            return str(named)
        if self.root is None:
            raise WrongUse(
                f"{'/'.join(path)}: the asset names no table, and the IO manager has no root; write the asset by "
                "LayoutTable.asset, or give PrunedTableIOManager(root=..)"
            )
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
            raise LayoutError(f"{name}: the asset has no layout; write it by LayoutTable.asset")
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

        The asset's partitions and the input's `where` select the rows. The input's `columns` are returned, by default
        all.
        """
        from prune_assets.reading.reader import read

        upstream = context.upstream_output
        metadata = {} if upstream is None else dict(upstream.definition_metadata or {})
        session, location = session_of(self.spark), self.place_of(context.asset_key.path, metadata)
        chosen = {name: _plain(value) for name, value in (context.definition_metadata or {}).items()}
        parts = [chosen["where"]] if chosen.get("where") is not None else []
        if context.has_asset_partitions and PARTITION_EXPR in metadata:
            columns = _plain(metadata[PARTITION_EXPR])
            parts.append(partition_predicate(context, columns, _kinds(_schema_of(session, location)), is_exact=True))
        where = " AND ".join(f"({part})" for part in parts) or "true"
        return read(location, where=where, columns=chosen.get("columns"), session=session)


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
            "pass partition_expr to its LayoutTable"
        )
    return partition_predicate(context, columns, _kinds(df.schema), is_exact=True)


def _kinds(schema: "StructType") -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def _schema_of(session: "SparkSession", location: str) -> Any:
    from prune_assets.tables.opening import open_table

    return open_table(location, semantics=semantics_of(session), session=session).empty_frame(session).schema
