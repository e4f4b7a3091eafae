"""Dagster's partitions as SQL: the rows of a table that belong to the partitions of a run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import dagster as dg
import pyarrow as pa

from parquet_core.errors import LayoutError, UnsupportedFeature
from prune_assets.sql.render import column_sql, literal_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql.types import StructType

    from parquet_core.layout.spec import LayoutSpec

# The metadata key by which Dagster's own IO managers for tables are told the column.
PARTITION_EXPR = "partition_expr"
_TYPES = {
    "string": pa.string(),
    "date": pa.date32(),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), pa.int64()),
}
# Of a window's end, which has the zone of the partitions.
_TIMES: dict[str, Callable[[datetime], pa.Scalar]] = {
    "date": lambda time: pa.scalar(time.date()),
    "timestamp": lambda time: pa.scalar(time.astimezone(UTC), pa.timestamp("us", "UTC")),
    "timestamp_ntz": lambda time: pa.scalar(time.replace(tzinfo=None), pa.timestamp("us")),
}


def check_partitions(
    partitions: dg.PartitionsDefinition[Any] | None, columns: str | Mapping[str, str] | None, layout: LayoutSpec
) -> None:
    """Raise LayoutError where a partitioned asset does not say which columns of its table make the partitions."""
    if partitions is None:
        return
    if columns is None:
        raise LayoutError(
            "partitions_def: which column has the partition? Pass partition_expr='day', or a column for each dimension"
        )
    named = [columns] if isinstance(columns, str) else list(columns.values())
    known = [name.casefold() for name in layout.partition_by]
    for name in named:
        if name.casefold() not in known:
            raise LayoutError(
                f"partition_expr: {name} is no partition column of the layout; partition_by: "
                f"[{', '.join(dict.fromkeys([*layout.partition_by, *named]))}] makes each partition a directory"
            )


def partition_predicate(
    context: dg.OutputContext | dg.InputContext, columns: str | Mapping[str, str], schema: StructType
) -> str:
    """Return the condition that rows of the partitions of a run meet.

    `columns`: that of the partition, or one for each dimension; `schema`: that of the table.
    """
    partitions = context.asset_partitions_def
    keys = list(context.asset_partition_keys)
    if not keys:
        return "false"  # an input that has no partition yet has no rows
    if isinstance(columns, str):
        if _is_window(partitions, schema, columns):
            return _window(columns, schema, context.asset_partitions_time_window)
        return _in(columns, schema, keys)
    if not isinstance(partitions, dg.MultiPartitionsDefinition):
        raise LayoutError("partition_expr: names columns by dimension, and the asset has one; name one column")
    return " OR ".join(f"({_of_dimensions(partitions, columns, schema, key)})" for key in keys)


def _of_dimensions(
    partitions: dg.MultiPartitionsDefinition, columns: Mapping[str, str], schema: StructType, key: str
) -> str:
    values = partitions.get_partition_key_from_str(key).keys_by_dimension
    parts = []
    for name, value in values.items():
        if name not in columns:
            raise LayoutError(f"partition_expr: the dimension {name} has no column; it has {', '.join(columns)}")
        dimension = partitions.get_partitions_def_for_dimension(name)
        column = columns[name]
        if isinstance(dimension, dg.TimeWindowPartitionsDefinition) and _is_window(dimension, schema, column):
            parts.append(_window(column, schema, dimension.time_window_for_partition_key(value)))
        else:
            parts.append(_in(column, schema, [value]))
    return " AND ".join(parts)


def _is_window(partitions: dg.PartitionsDefinition[Any], schema: StructType, column: str) -> bool:
    """Tell whether partitions are ranges of the values of a column; a text, or a number, has their names."""
    named = _TYPES.get(_kind(schema, column)) in {pa.string(), pa.int64()}
    return isinstance(partitions, dg.TimeWindowPartitionsDefinition) and not named


def _in(column: str, schema: StructType, keys: Sequence[str]) -> str:
    literals = [_literal(column, _kind(schema, column), key) for key in keys]
    return f"{column_sql((column,))} IN ({', '.join(literals)})"


def _literal(column: str, kind: str, key: str) -> str:
    if kind not in _TYPES:
        raise UnsupportedFeature(f"partition_expr: {column} is {kind}; partitions are dates, times, numbers or texts")
    try:
        return literal_sql(pa.scalar(key).cast(_TYPES[kind]))
    except pa.ArrowInvalid:
        raise LayoutError(f"partition_expr: the partition {key!r} is no {kind}, which {column} is") from None


def _window(column: str, schema: StructType, window: dg.TimeWindow) -> str:
    """Return the half-open range of times of a window, as the type of the column has it."""
    kind = _kind(schema, column)
    if kind not in _TIMES:
        raise UnsupportedFeature(f"partition_expr: {column} is {kind}; of time windows it is a date, a time or a text")
    if kind == "date" and window.start.time() != window.end.time():
        raise LayoutError(
            f"partition_expr: {column} is a date, and the partitions are shorter than days; use a time or a text"
        )
    low, high = (literal_sql(_TIMES[kind](end)) for end in (window.start, window.end))
    name = column_sql((column,))
    return f"{name} >= {low} AND {name} < {high}"


def _kind(schema: StructType, column: str) -> str:
    found = [field for field in schema.fields if field.name.casefold() == column.casefold()]
    if not found:
        raise LayoutError(f"partition_expr: no column {column!r}; the columns are {', '.join(schema.names)}")
    return found[0].dataType.simpleString()
