"""Dagster's partitions as SQL: the rows of a table that belong to the partitions of a run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import dagster as dg
import pyarrow as pa

from parquet_core.errors import LayoutError, UnsupportedFeature
from prune_assets.sql.render import column_sql, literal_sql
from prune_assets.tables.same_partitions import column_of_partition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    known = [column_of_partition(name).casefold() for name in layout.partition_by]
    for name in named:
        if name.casefold() not in known:
            raise LayoutError(
                f"partition_expr: {name} is not a partition column of the layout; partition_by: "
                f"[{', '.join(dict.fromkeys([*layout.partition_by, *named]))}] makes each partition a directory"
            )


def partition_predicate(
    context: dg.OutputContext | dg.InputContext | CheckedPartitions,
    columns: str | Mapping[str, str],
    kinds: Mapping[str, str],
) -> str:
    """Return the condition that rows of the partitions of a run meet.

    `columns`: that of the partition, or one for each dimension; `kinds`: the columns of the table, each with Spark's
    name of its type.
    """
    partitions = context.asset_partitions_def
    keys = list(context.asset_partition_keys)
    if not keys:
        return "false"  # an input that has no partition yet has no rows
    if isinstance(columns, str):
        if _is_window(partitions, kinds, columns):
            return _window(columns, kinds, context.asset_partitions_time_window)
        return _in(columns, kinds, keys)
    if not isinstance(partitions, dg.MultiPartitionsDefinition):
        raise LayoutError(
            "partition_expr: it names columns by dimension, but the asset has one dimension; name one column"
        )
    return " OR ".join(f"({_of_dimensions(partitions, columns, kinds, key)})" for key in keys)


def _of_dimensions(
    partitions: dg.MultiPartitionsDefinition, columns: Mapping[str, str], kinds: Mapping[str, str], key: str
) -> str:
    values = partitions.get_partition_key_from_str(key).keys_by_dimension
    parts = []
    for name, value in values.items():
        if name not in columns:
            raise LayoutError(f"partition_expr: the dimension {name} has no column; it has {', '.join(columns)}")
        dimension = partitions.get_partitions_def_for_dimension(name)
        column = columns[name]
        if isinstance(dimension, dg.TimeWindowPartitionsDefinition) and _is_window(dimension, kinds, column):
            parts.append(_window(column, kinds, dimension.time_window_for_partition_key(value)))
        else:
            parts.append(_in(column, kinds, [value]))
    return " AND ".join(parts)


def _is_window(partitions: dg.PartitionsDefinition[Any], kinds: Mapping[str, str], column: str) -> bool:
    """Tell whether partitions are ranges of the values of a column; a text, or a number, has their names."""
    named = _TYPES.get(_kind(kinds, column)) in {pa.string(), pa.int64()}
    return isinstance(partitions, dg.TimeWindowPartitionsDefinition) and not named


def _in(column: str, kinds: Mapping[str, str], keys: Sequence[str]) -> str:
    literals = [_literal(column, _kind(kinds, column), key) for key in keys]
    return f"{column_sql((column,))} IN ({', '.join(literals)})"


def _literal(column: str, kind: str, key: str) -> str:
    if kind not in _TYPES:
        raise UnsupportedFeature(
            f"partition_expr: {column} is {kind}; a partition column holds dates, times, numbers or strings"
        )
    try:
        return literal_sql(pa.scalar(key).cast(_TYPES[kind]))
    except pa.ArrowInvalid:
        raise LayoutError(
            f"partition_expr: the partition {key!r} is not a valid {kind}, the type of {column}"
        ) from None


def _window(column: str, kinds: Mapping[str, str], window: dg.TimeWindow) -> str:
    """Return the half-open range of times of a window, as the type of the column has it."""
    kind = _kind(kinds, column)
    if kind not in _TIMES:
        raise UnsupportedFeature(
            f"partition_expr: {column} is {kind}; for time windows it must be a date, a time or a string"
        )
    if kind == "date" and window.start.time() != window.end.time():
        raise LayoutError(
            f"partition_expr: {column} is a date, but the partitions are shorter than a day; use a time or a string"
        )
    low, high = (literal_sql(_TIMES[kind](end)) for end in (window.start, window.end))
    name = column_sql((column,))
    return f"{name} >= {low} AND {name} < {high}"


def _kind(kinds: Mapping[str, str], column: str) -> str:
    found = [kind for name, kind in kinds.items() if name.casefold() == column.casefold()]
    if not found:
        raise LayoutError(f"partition_expr: no column {column!r}; the columns are {', '.join(kinds)}")
    return found[0]


@dataclass(frozen=True, slots=True)
class CheckedPartitions:
    """The partitions of a run of checks, in the words of Dagster's contexts of outputs and inputs."""

    asset_partitions_def: dg.PartitionsDefinition[Any]
    asset_partition_keys: Sequence[str]

    @classmethod
    def of(cls, partitions: dg.PartitionsDefinition[Any], context: dg.AssetCheckExecutionContext) -> CheckedPartitions:
        """Return those of a run; its context knows only those of assets."""
        if context.has_partition_key:
            return cls(partitions, [context.partition_key])
        return cls(partitions, partitions.get_partition_keys_in_range(context.partition_key_range))

    @property
    def asset_partitions_time_window(self) -> dg.TimeWindow:
        """The window of all of them."""
        assert isinstance(self.asset_partitions_def, dg.TimeWindowPartitionsDefinition)
        first, last = (
            self.asset_partitions_def.time_window_for_partition_key(self.asset_partition_keys[i]) for i in (0, -1)
        )
        return dg.TimeWindow(first.start, last.end)


def kinds_of_partitions(table: str) -> dict[str, str]:
    """Return the partition columns that a table has, with Spark's names of their types; needs no Spark.

    Those that transforms of Iceberg are of are among them.
    """
    from prune_assets.session.queries.table_schema import spark_type
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.opening import open_table

    opened = open_table(table, semantics=SparkSemantics())
    named = {column_of_partition(name) for name in opened.partition_names()}
    columns = (*opened.partitions, *(column for column in opened.columns if ".".join(column.path) in named))
    return {column.path[0]: spark_type(column.type) for column in columns if column.type is not None}


def partition_key_of(
    partitions: dg.PartitionsDefinition[Any],
    columns: str | Mapping[str, str],
    kinds: Mapping[str, str],
    values: Mapping[str, str | None],
) -> str | None:
    """Return the partition that files with these values of partition columns belong to; None where there is none.

    `columns`: as of `partition_predicate`; `values`: by column, as the log or the names of folders have them.
    """
    if isinstance(columns, str):
        return _key_of_value(partitions, columns, kinds, values[columns])
    if not isinstance(partitions, dg.MultiPartitionsDefinition):
        raise LayoutError(
            "partition_expr: it names columns by dimension, but the asset has one dimension; name one column"
        )
    keys = {
        name: _key_of_value(partitions.get_partitions_def_for_dimension(name), column, kinds, values[column])
        for name, column in columns.items()
    }
    if None in keys.values():
        return None
    return dg.MultiPartitionKey({name: key for name, key in keys.items() if key is not None})


def _key_of_value(
    partitions: dg.PartitionsDefinition[Any], column: str, kinds: Mapping[str, str], value: str | None
) -> str | None:
    if value is None:
        return None
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition) and _is_window(partitions, kinds, column):
        return _key_at(partitions, _kind(kinds, column), value)
    return value if partitions.has_partition_key(value) else None


def _key_at(partitions: dg.TimeWindowPartitionsDefinition, kind: str, value: str) -> str | None:
    """Return the window that a date or time falls into."""
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    if time.tzinfo is None:
        if kind == "timestamp":
            return None  # of which zone, only its writer knows
        time = time.replace(tzinfo=ZoneInfo(partitions.timezone))
    if time < partitions.start:
        return None
    key = partitions.get_partition_key_for_timestamp(time.timestamp())
    if not partitions.has_partition_key(key):
        return None
    window = partitions.time_window_for_partition_key(key)
    return key if window.start <= time < window.end else None
