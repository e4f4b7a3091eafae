"""SQL predicates for Dagster's partitions: the rows that belong to the partitions of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dagster as dg
import pyarrow as pa

from parquet_core.errors import LayoutError, UnsupportedFeature
from prune_assets.dagster.window_values import TIME_TYPES, TimeType, is_made_of_days
from prune_assets.sql.render import column_sql, literal_sql
from prune_assets.tables.same_partitions import column_of_partition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_core.layout.spec import LayoutSpec

# The metadata key that names the partition column for Dagster's own IO managers.
PARTITION_EXPR = "partition_expr"
VALUE_TYPES = {
    "string": pa.string(),
    "date": pa.date32(),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), pa.int64()),
}


def check_partitions(
    partitions: dg.PartitionsDefinition[Any] | None, columns: str | Mapping[str, str] | None, layout: LayoutSpec
) -> None:
    """Raise LayoutError if a partitioned asset does not name the partition columns of its table."""
    if partitions is None:
        return
    if columns is None:
        raise LayoutError(
            "partitions_def: the partition column is unknown; pass partition_expr='day', or a column for each dimension"
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
    *,
    is_exact: bool = False,
) -> str:
    """Return the SQL condition that selects the rows of a run's partitions.

    `columns`: the partition column, or one for each dimension.
    `kinds`: Spark's type names by column of the table.
    `is_exact`: raise LayoutError if the condition would also match rows of other partitions, for example rows with a
    local time that occurs twice when the clocks are set back. By default the condition includes such rows.
    """
    partitions = context.asset_partitions_def
    keys = list(context.asset_partition_keys)
    if not keys:
        return "false"  # an input whose partitions do not exist yet has no rows
    if isinstance(columns, str):
        if is_window(partitions, kinds, columns):
            assert isinstance(partitions, dg.TimeWindowPartitionsDefinition)
            return _window(columns, kinds, partitions, context.asset_partitions_time_window, is_exact=is_exact)
        return _in(columns, kinds, keys)
    partitions = multi_partitions(partitions)
    return " OR ".join(
        f"({_predicate_of_dimensions(partitions, columns, kinds, key, is_exact=is_exact)})" for key in keys
    )


def multi_partitions(partitions: dg.PartitionsDefinition[Any]) -> dg.MultiPartitionsDefinition:
    """Return partitions of several dimensions; raise LayoutError for partitions of one dimension."""
    if isinstance(partitions, dg.MultiPartitionsDefinition):
        return partitions
    raise LayoutError("partition_expr: it names columns by dimension, but the asset has one dimension; name one column")


def _predicate_of_dimensions(
    partitions: dg.MultiPartitionsDefinition,
    columns: Mapping[str, str],
    kinds: Mapping[str, str],
    key: str,
    *,
    is_exact: bool,
) -> str:
    values = partitions.get_partition_key_from_str(key).keys_by_dimension
    parts = []
    for name, value in values.items():
        if name not in columns:
            raise LayoutError(f"partition_expr: the dimension {name} has no column; it has {', '.join(columns)}")
        dimension = partitions.get_partitions_def_for_dimension(name)
        column = columns[name]
        if isinstance(dimension, dg.TimeWindowPartitionsDefinition) and is_window(dimension, kinds, column):
            window = dimension.time_window_for_partition_key(value)
            parts.append(_window(column, kinds, dimension, window, is_exact=is_exact))
        else:
            parts.append(_in(column, kinds, [value]))
    return " AND ".join(parts)


def is_window(partitions: dg.PartitionsDefinition[Any], kinds: Mapping[str, str], column: str) -> bool:
    """Return True if partitions are ranges of column values.

    False if the column is a string or number, which holds the partition keys themselves.
    """
    named = VALUE_TYPES.get(kind_of(kinds, column)) in {pa.string(), pa.int64()}
    return isinstance(partitions, dg.TimeWindowPartitionsDefinition) and not named


def _in(column: str, kinds: Mapping[str, str], keys: Sequence[str]) -> str:
    literals = [_literal(column, kind_of(kinds, column), key) for key in keys]
    return f"{column_sql((column,))} IN ({', '.join(literals)})"


def _literal(column: str, kind: str, key: str) -> str:
    value = value_of(column, kind, key)
    if value is None:
        raise LayoutError(f"partition_expr: the partition {key!r} is not a valid {kind}, the type of {column}")
    return literal_sql(value)


def value_of(column: str, kind: str, key: str) -> pa.Scalar | None:
    """Return the column value of a partition key.

    None if the key is invalid for the type.
    """
    if kind not in VALUE_TYPES:
        raise UnsupportedFeature(
            f"partition_expr: {column} is {kind}; a partition column holds dates, times, numbers or strings"
        )
    try:
        return pa.scalar(key).cast(VALUE_TYPES[kind])
    except pa.ArrowInvalid:
        return None


def _window(
    column: str,
    kinds: Mapping[str, str],
    partitions: dg.TimeWindowPartitionsDefinition,
    window: dg.TimeWindow,
    *,
    is_exact: bool,
) -> str:
    """Return a time window as a half-open range of a column.

    The literals have the column's type.
    """
    kind = kind_of(kinds, column)
    values = time_type(column, kind).values_of(window)
    if kind == "date" and not is_made_of_days(window, partitions):
        raise LayoutError(
            f"partition_expr: {column} is a date, but the partitions are shorter than a day; use a time or a string"
        )
    if is_exact and values.repeated is not None:
        first, last = values.repeated
        raise LayoutError(
            f"partition_expr: {column} has no time zone, and the clocks of {partitions.timezone} show the time from "
            f"{first} to {last} twice, so its rows belong to several partitions; use a column of type timestamp, or "
            "partitions in UTC"
        )
    low, high = (literal_sql(pa.scalar(limit, values.type)) for limit in (values.low, values.high))
    name = column_sql((column,))
    return f"{name} >= {low} AND {name} < {high}"


def time_type(column: str, kind: str) -> TimeType:
    """Return the conversions for a column of time windows; raise UnsupportedFeature for another type."""
    if kind not in TIME_TYPES:
        raise UnsupportedFeature(
            f"partition_expr: {column} is {kind}; for time windows it must be a date, a time or a string"
        )
    return TIME_TYPES[kind]


def kind_of(kinds: Mapping[str, str], column: str) -> str:
    """Return Spark's type name of a column; names match without case."""
    found = [kind for name, kind in kinds.items() if name.casefold() == column.casefold()]
    if not found:
        raise LayoutError(f"partition_expr: no column {column!r}; the columns are {', '.join(kinds)}")
    return found[0]


@dataclass(frozen=True, slots=True)
class CheckedPartitions:
    """Partitions of a run of checks, with the attributes of Dagster's input and output contexts."""

    asset_partitions_def: dg.PartitionsDefinition[Any]
    asset_partition_keys: Sequence[str]

    @classmethod
    def of(cls, partitions: dg.PartitionsDefinition[Any], context: dg.AssetCheckExecutionContext) -> CheckedPartitions:
        """Return the partitions of a check run, whose context has no attributes for them."""
        if context.has_partition_key:
            return cls(partitions, [context.partition_key])
        return cls(partitions, partitions.get_partition_keys_in_range(context.partition_key_range))

    @property
    def asset_partitions_time_window(self) -> dg.TimeWindow:
        """The time window from the first to the last partition."""
        assert isinstance(self.asset_partitions_def, dg.TimeWindowPartitionsDefinition)
        first, last = (
            self.asset_partitions_def.time_window_for_partition_key(self.asset_partition_keys[i]) for i in (0, -1)
        )
        return dg.TimeWindow(first.start, last.end)


def kinds_of_partitions(table: str) -> dict[str, str]:
    """Return Spark's type names of a table's partition columns; needs no Spark.

    Source columns of Iceberg's partition transforms are included.
    """
    from prune_assets.spark.queries.table_schema import spark_type
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.opening import open_table

    opened = open_table(table, semantics=SparkSemantics())
    named = {column_of_partition(name) for name in opened.partition_names()}
    columns = (*opened.partitions, *(column for column in opened.columns if ".".join(column.path) in named))
    return {column.path[0]: spark_type(column.type) for column in columns if column.type is not None}
