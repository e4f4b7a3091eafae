"""The Python data source `prune`: a table planned where Spark plans, and read page by page by its Python workers.

Spark gives these processes no session, so what its settings decide comes from options.
"""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkTypeError
from pyspark.sql import datasource as spark_source
from pyspark.sql import types

from parquet_core.errors import StaleTable, WrongUse
from parquet_core.storage import is_remote, local_path
from prune_assets.planner.plan_read import plan_read
from prune_assets.reading.arrow_columns import names_of, refused
from prune_assets.reading.arrow_scan import scan_of
from prune_assets.reading.scan_tasks import ScanTask, tasks_of
from prune_assets.session.spark_versions import arrow_schema, check_python_data_source
from prune_assets.sql.semantics import SparkSemantics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from prune_assets.reading.arrow_scan import ArrowScan
    from prune_assets.tables.table import Table

_OPTIONS = ("path", "where", "columns", "timeZone", "ansi", "caseSensitive", "pushFilters")
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
        return _schema(*options.planned())

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

    def planned(self, pushed: Sequence[str] = ()) -> tuple[Table, ArrowScan]:
        """Plan the read; `pushed`: filters of the query."""
        where = " AND ".join(f"({part})" for part in (self.where, *pushed))
        planned = plan_read(self.path, where=where, columns=self.columns, session=self.semantics, for_rows=True)
        return planned.table, scan_of(planned, names_of(planned, self.columns), self.semantics)


def _flag(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = options.get(name, str(default)).lower()
    if text not in {"true", "false"}:
        raise WrongUse(f"option {name}={text!r}: must be true or false")
    return text == "true"


def _schema(table: Table, scan: ArrowScan) -> types.StructType:
    """Return the columns of a scan as Spark has them, with what the table says of them."""
    declared = table.declared_schema()
    said = {} if declared is None else {field.name: field.metadata for field in declared.fields}
    kinds = scan.columns.types
    return types.StructType(
        [types.StructField(name, _spark_type(name, kinds[name]), metadata=said.get(name)) for name in scan.names]
    )


def _spark_type(name: str, kind: pa.DataType) -> types.DataType:
    from pyspark.sql.pandas.types import from_arrow_type

    try:
        return from_arrow_type(kind, prefer_timestamp_ntz=True)  # the default of Spark 4.2 and later
    except PySparkTypeError:
        raise refused(name, f"type {kind}") from None


@dataclass(frozen=True)
class Task(spark_source.InputPartition):
    """What one task reads; Spark sends the reader itself before it has planned."""

    part: ScanTask | None


class PruneReader(spark_source.DataSourceReader):
    """Plans where Spark plans, and reads in its workers."""

    def __init__(self, options: _ReadOptions, schema: types.StructType) -> None:
        self._options, self._schema = options, schema
        self._pushed: list[str] = []

    def partitions(self) -> Sequence[Task]:
        """Plan the read: a task for each group of surviving row groups."""
        table, scan = self._options.planned(self._pushed)
        if [(field.name, field.dataType) for field in _schema(table, scan)] != [
            (field.name, field.dataType) for field in self._schema
        ]:
            raise StaleTable(
                f"{self._options.path}: the file's columns differ from the given schema; load the table again, "
                "without a schema"
            )
        # Spark reads once where there is no task.
        return [Task(part) for part in tasks_of(scan, table)] or [Task(None)]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read a task."""
        schema = arrow_schema(self._schema)
        for table in () if partition.part is None else partition.part.tables():
            yield from table.cast(schema).combine_chunks().to_batches()


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
