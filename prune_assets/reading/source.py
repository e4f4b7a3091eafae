"""The Python data source `prune`: a table planned where Spark plans, and read by its Python workers with Arrow.

Spark gives these processes no session, so what its settings decide comes from options.
"""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import datasource as spark_source
from pyspark.sql import types

from parquet_core.errors import StaleTable, UnsupportedFeature, WrongUse
from parquet_core.format.comparable_values import bounds_type
from parquet_core.predicate import OnPartitions, OnValues, Unsupported, columns_of, leaves
from parquet_core.storage import is_remote, local_path
from prune_assets.cache_directory import metadata_cache
from prune_assets.planner.plan_read import plan_read
from prune_assets.reading.source_tasks import Piece, Rows, read_task, refused, tasks_of
from prune_assets.session.lower_predicate import lower_predicate
from prune_assets.session.spark_versions import arrow_schema, check_python_data_source
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.tables.column_names import resolve
from prune_assets.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Predicate
    from prune_assets.tables.table import Table

_OPTIONS = ("path", "where", "columns", "timeZone", "ansi", "caseSensitive", "pushFilters")
_TYPES = {
    pa.bool_(): types.BooleanType(),
    pa.int8(): types.ByteType(),
    pa.int16(): types.ShortType(),
    pa.int32(): types.IntegerType(),
    pa.int64(): types.LongType(),
    pa.float32(): types.FloatType(),
    pa.float64(): types.DoubleType(),
    pa.string(): types.StringType(),
    pa.binary(): types.BinaryType(),
    pa.date32(): types.DateType(),
    pa.timestamp("us", "UTC"): types.TimestampType(),
    pa.timestamp("us"): types.TimestampNTZType(),
}
# By their names: Spark 4.0 has no filters.
_OPERATORS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}


class PruneDataSource(spark_source.DataSource):
    """A table of Parquet files or Delta Lake; what `where` selects of it."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "prune"

    def schema(self) -> types.StructType:
        """Return the columns that are read."""
        options = _ReadOptions.of(self.options)
        return _schema(options.open(), options)

    def reader(self, schema: types.StructType) -> PruneReader:
        """Return the reader of these columns."""
        options = _ReadOptions.of(self.options)
        check_python_data_source(pushing_filters=options.pushes)
        return PushingReader(options, schema) if options.pushes else PruneReader(options, schema)


@dataclass(frozen=True)
class _ReadOptions:
    """The options of a read, checked."""

    path: str
    where: str
    columns: tuple[str, ...] | None
    semantics: SparkSemantics
    pushes: bool

    @classmethod
    def of(cls, options: Mapping[str, str]) -> _ReadOptions:
        unknown = sorted({name.lower() for name in options} - {name.lower() for name in _OPTIONS})
        if unknown:
            raise WrongUse(f"option {unknown[0]!r}: no such option; the options are {', '.join(_OPTIONS)}")
        path, columns = options.get("path"), options.get("columns")
        if not path:
            raise WrongUse("option path: give the table's path")
        semantics = SparkSemantics(
            time_zone=options.get("timeZone"),
            ansi=_flag(options, "ansi", default=True),
            case_sensitive=_flag(options, "caseSensitive", default=False),
        )
        return cls(
            path if is_remote(path) else os.path.abspath(local_path(path)),
            options.get("where") or "true",
            None if columns is None else tuple(name.strip() for name in columns.split(",")),
            semantics,
            _flag(options, "pushFilters", default=False),
        )

    def open(self) -> Table:
        return open_table(self.path, semantics=self.semantics, cache=metadata_cache())


def _flag(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = options.get(name, str(default)).lower()
    if text not in {"true", "false"}:
        raise WrongUse(f"option {name}={text!r}: must be true or false")
    return text == "true"


def _schema(table: Table, options: _ReadOptions) -> types.StructType:
    described = _logical(table)
    fields = []
    for name, column in _chosen(table, options).items():
        known = described.get(name, types.StructField(name, _spark_type(column)))
        fields.append(types.StructField(name, _spark_type(column), metadata=known.metadata))
    return types.StructType(fields)


def _logical(table: Table) -> dict[str, types.StructField]:
    """Return the fields as the table declares them."""
    schema = table.declared_schema()
    return {} if schema is None else {field.name: field for field in schema.fields}


def _chosen(table: Table, options: _ReadOptions) -> dict[str, LeafColumn]:
    """Return the columns that are asked for, in order."""
    tops = list(dict.fromkeys(column.path[0] for column in _all(table)))
    names = tops if options.columns is None else [resolve(name, _all(table)) for name in options.columns]
    return {name: _column(name, table) for name in names}


def _all(table: Table) -> list[LeafColumn]:
    """Return every column once: of both files and directories that which predicates name."""
    return list({column.path: column for column in (*table.columns, *table.partitions)}.values())


def _column(name: str, table: Table) -> LeafColumn:
    matching = [column for column in _all(table) if column.path[0] == name]
    if len(matching) > 1 or len(matching[0].path) > 1 or matching[0].max_repetition_level:
        raise refused(name, "it is nested")
    if matching[0].unsupported:
        raise refused(name, matching[0].unsupported)
    return matching[0]


def _spark_type(column: LeafColumn) -> types.DataType:
    kind = column.type
    if kind is not None and pa.types.is_decimal128(kind):
        return types.DecimalType(kind.precision, kind.scale)
    if kind is not None and pa.types.is_timestamp(kind):
        kind = bounds_type(column)
    if kind not in _TYPES:
        raise refused(column.path[0], f"type {kind}")
    return _TYPES[kind]


@dataclass(frozen=True)
class Task(spark_source.InputPartition):
    """The row groups that one task reads; Spark sends the reader itself before it has planned."""

    rows: Rows
    pieces: tuple[Piece, ...]


class PruneReader(spark_source.DataSourceReader):
    """Plans where Spark plans, and reads in its workers."""

    def __init__(self, options: _ReadOptions, schema: types.StructType) -> None:
        self._options, self._schema = options, schema
        self._pushed: list[str] = []

    def partitions(self) -> Sequence[Task]:
        """Plan the read: a task for each group of surviving row groups."""
        options = self._options
        where = " AND ".join(f"({part})" for part in (options.where, *self._pushed))
        planned = plan_read(options.path, where=where, columns=self._schema.names, session=options.semantics)
        if [(field.name, field.dataType) for field in _schema(planned.table, options)] != [
            (field.name, field.dataType) for field in self._schema
        ]:
            raise StaleTable(
                f"{options.path}: the file's columns differ from the given schema; load the table again, "
                "without a schema"
            )
        lowered = lower_predicate(options.where, planned.table, session=options.semantics, now=planned.lowered.now)
        filtered = _decidable(lowered.predicate)
        columns = _chosen(planned.table, options)
        columns |= {path[0]: _column(path[0], planned.table) for path in columns_of(filtered)}
        read = types.StructType([types.StructField(name, _spark_type(leaf)) for name, leaf in columns.items()])
        rows = Rows(
            schema=arrow_schema(self._schema),
            types={field.name: field.type for field in arrow_schema(read)},
            compared={name: bounds_type(leaf) for name, leaf in columns.items()},
            where=filtered,
        )
        # Spark reads once where there is no task.
        return [Task(rows, pieces) for pieces in tasks_of(planned, columns)] or [Task(rows, ())]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read a task."""
        return read_task(partition.rows, partition.pieces)


class PushingReader(PruneReader):
    """Skips by the filters of the query too; Spark refuses such a reader unless it is allowed to push filters."""

    def pushFilters(self, filters: list[spark_source.Filter]) -> list[spark_source.Filter]:  # noqa: N802 - Spark's name
        """Take filters for the plan; Spark applies all of them itself."""
        self._pushed += [text for text in map(filter_sql, filters) if text is not None]
        return filters


def filter_sql(pushed: spark_source.Filter) -> str | None:
    """Return a filter of Spark's as SQL, None for one that is left to Spark.

    >>> from pyspark.sql.datasource import In, Not
    >>> filter_sql(Not(In(("a",), (1, 2))))
    'NOT (`a` IN (1, 2))'
    """
    match pushed:
        case spark_source.Not(child):
            inner = filter_sql(child)
            return None if inner is None else f"NOT ({inner})"
        case spark_source.IsNull(attribute):
            return f"{_quoted(attribute)} IS NULL"
        case spark_source.IsNotNull(attribute):
            return f"{_quoted(attribute)} IS NOT NULL"
        case spark_source.In(attribute, value):
            literals = [_literal(one) for one in value]
            return (
                None
                if None in literals or not literals
                else f"{_quoted(attribute)} IN ({', '.join(map(str, literals))})"
            )
    operator, literal = _OPERATORS.get(type(pushed).__name__), _literal(getattr(pushed, "value", None))
    return None if operator is None or literal is None else f"{_quoted(pushed.attribute)} {operator} {literal}"  # type: ignore[attr-defined]


def _quoted(path: Sequence[str]) -> str:
    return ".".join("`" + name.replace("`", "``") + "`" for name in path)


def _literal(value: object) -> str | None:
    """Return a value as a literal of its own type; None where it is not certain that it means the same."""
    match value:
        case bool() | int():
            return str(value).lower()
        case str() if value.isascii() and value.replace(" ", "").replace("-", "").isalnum():
            return f"'{value}'"
        case Decimal() if value.is_finite():
            return f"{value:f}BD"
        case dt.date() if not isinstance(value, dt.datetime):
            return f"DATE '{value.isoformat()}'"
        case _:
            return None


def _decidable(predicate: Predicate) -> Predicate:
    """Return a predicate that values decide; raises UnsupportedFeature with the first part that they do not."""
    for leaf in leaves(predicate):
        part = leaf.part if isinstance(leaf, OnValues | OnPartitions) else leaf
        if isinstance(part, Unsupported):
            raise UnsupportedFeature(
                f"option where: {part.sql}: {part.reason}; move this part into the WHERE of the query"
            )
    return predicate
