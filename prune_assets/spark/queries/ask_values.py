"""Queries to a session while planning: conditions on column values, constants, function names.

A condition is evaluated as a filter on a local relation of the values, which Spark's optimizer evaluates without a
job. Conditions that Spark would not evaluate there (a subquery, a Python UDF), or whose result may change (the time,
the user, randomness, a session variable), are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from parquet_core.pruning.outcomes import Outcomes
from prune_assets.spark.spark_versions import from_arrow, names_variables, quiet
from prune_assets.sql.functions.clock_calls import instant
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.syntax.string_literals import has_relative_date, is_relative_date
from prune_assets.sql.types.spark_types import type_of_column
from prune_assets.sql.types.spark_values import ValueKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField

    from parquet_core.format.schema import LeafColumn


# Maximum number of queries for one set of values, which is split if some values raise errors.
MAX_QUERIES = 9
_MAX_NODES = 200
_NOT_LASTING = ("CURRENT_LIKE", "PLAN_EXPRESSION")
_OUTCOME_OF_ROW = {"[true]": Outcomes.TRUE, "[false]": Outcomes.FALSE, "[null]": Outcomes.NULL}
# Types whose literals have one spelling that means the same in every session.
_EXACT_LITERALS = frozenset({"date", "string", "tinyint", "smallint", "int", "bigint"})
_OUTCOME = "outcome"
_OWN_CLASS = "Class: org.apache.spark.sql.catalyst.expressions."
_MOVES_ON = "it depends on the current day"


def ask_values(
    session: SparkSession, columns: Sequence[LeafColumn], sql: str, values: Sequence[pa.Array]
) -> list[Outcomes]:
    """Return the outcome of a condition for each row of values.

    The outcome is UNKNOWN if the condition raises an error on the row. Raises Refusal.
    `values`: one Arrow array per column, nulls included.
    """
    if has_relative_date(sql):
        raise Refusal(_MOVES_ON)
    rows = pa.table(list(values), [str(i) for i in range(len(values))])
    by_row = [Outcomes.UNKNOWN] * len(rows)
    waiting, queries = [(0, len(rows))], 0
    while waiting and queries < MAX_QUERIES:
        start, stop = waiting.pop(0)
        queries += 1
        outcomes = _ask(session, columns, sql, rows[start:stop])
        if outcomes is not None:
            by_row[start:stop] = outcomes
        elif stop - start > 1:
            middle = (start + stop) // 2
            waiting += [(start, middle), (middle, stop)]
    return by_row


def _ask(session: SparkSession, columns: Sequence[LeafColumn], sql: str, rows: pa.Table) -> list[Outcomes] | None:
    """Return the outcome of a condition for each row; None if the condition raises for one of the rows."""
    from pyspark.errors import AnalysisException, ParseException, PySparkException

    try:
        with quiet():
            query = _relation(session, columns, rows).selectExpr(f"({sql}) AS {_OUTCOME}")
            execution: Any = query._jdf.queryExecution()  # noqa: SLF001  # no public API for plans
            _check_condition(session, execution.analyzed())
            optimized = execution.optimizedPlan()
    except (AnalysisException, ParseException) as error:
        raise Refusal("Spark cannot parse it on its own") from error
    except PySparkException:
        return None
    if optimized.nodeName() != "LocalRelation":
        raise Refusal("Spark does not evaluate it while planning")
    return [_OUTCOME_OF_ROW[row] for row in optimized.data().mkString("|").split("|")]


def literal_of(session: SparkSession, sql: str) -> str | None:
    """Return the literal to which Spark folds a constant, or None.

    The result is the literal of a date, an instant, a plain string or a whole number. A decimal literal is not
    returned, because its type may differ from the type of the constant.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    if has_relative_date(sql):
        return None
    try:
        with quiet():
            execution: Any = session.sql(f"SELECT ({sql}) AS {_OUTCOME}")._jdf.queryExecution()  # noqa: SLF001
            part = execution.analyzed().expressions().head()
            _check_lasting(session, part)
            folded = execution.optimizedPlan().expressions().head().child()
    except (PySparkException, Py4JError, Refusal):
        return None
    if folded.getClass().getSimpleName() != "Literal" or folded.value() is None:
        return None
    spark_type = folded.dataType().simpleString()
    if spark_type == "timestamp":
        # Spark's own literal may be ambiguous between two instants.
        return instant(int(folded.value()))
    literal = str(folded.sql())
    # Spark would substitute a variable for ${..}, even inside a string.
    return literal if spark_type in _EXACT_LITERALS and "${" not in literal else None


def _relation(session: SparkSession, columns: Sequence[LeafColumn], rows: pa.Table) -> DataFrame:
    from pyspark.sql.types import StructType

    named = [_nested(column, values.combine_chunks()) for column, values in zip(columns, rows.columns, strict=True)]
    schema = StructType([field for field, _ in named])
    return from_arrow(session, pa.table([values for _, values in named], schema.names), schema)


def _nested(column: LeafColumn, values: pa.Array) -> tuple[StructField, pa.Array]:
    from pyspark.sql.types import StructField, StructType

    field = StructField(column.path[-1], _spark_type(column))
    for outer in reversed(column.path[:-1]):
        values, field = pa.StructArray.from_arrays([values], [field.name]), StructField(outer, StructType([field]))
    return field, values


def _spark_type(column: LeafColumn) -> DataType:
    from pyspark.sql import types

    assert column.type is not None
    type_ = type_of_column(column.type)
    assert type_ is not None
    whole = {8: types.ByteType(), 16: types.ShortType(), 32: types.IntegerType(), 64: types.LongType()}
    plain: dict[ValueKind, DataType] = {
        ValueKind.BOOLEAN: types.BooleanType(),
        ValueKind.DATE: types.DateType(),
        ValueKind.TIMESTAMP: types.TimestampType(),
        ValueKind.TIMESTAMP_NTZ: types.TimestampNTZType(),
        ValueKind.STRING: types.StringType(),
        ValueKind.BINARY: types.BinaryType(),
    }
    match type_.kind:
        case ValueKind.INTEGER:
            return whole[type_.bits]
        case ValueKind.DECIMAL:
            return types.DecimalType(type_.digits, type_.scale)
        case ValueKind.DOUBLE:
            return types.FloatType() if type_.bits == 32 else types.DoubleType()
        case kind:
            return plain[kind]


def _check_condition(session: SparkSession, analyzed: Any) -> None:
    """Raise Refusal unless an expression is a condition whose value cannot change between plan and read."""
    if analyzed.nodeName() != "Project" or analyzed.schema().head().dataType().typeName() != "boolean":
        raise Refusal("it is not a condition on its own")
    _check_lasting(session, analyzed.expressions().head())


def _check_lasting(session: SparkSession, part: Any) -> None:
    """Raise Refusal for an expression whose value may differ when Spark reads."""
    patterns: Any = session._jvm.org.apache.spark.sql.catalyst.trees.TreePattern  # type: ignore[union-attr]  # noqa: SLF001
    is_lasting = part.deterministic() and not names_variables(session, part)
    if not is_lasting or any(part.containsPattern(getattr(patterns, name)()) for name in _NOT_LASTING):
        raise Refusal("its value may differ when Spark reads")
    if part.containsPattern(patterns.CAST()) and any(map(_names_moving_day, _nodes(part))):
        raise Refusal(_MOVES_ON)


def _nodes(root: Any) -> Iterator[Any]:
    stack, count = [root], 0
    while stack:
        node = stack.pop()
        count += 1
        if count > _MAX_NODES:
            raise Refusal("it is too long")
        yield node
        children = node.children()
        stack += [children.apply(i) for i in range(children.size())]


def _names_moving_day(node: Any) -> bool:
    """Return True if a cast turns a constant such as 'yesterday' into a day relative to today.

    Spark does so only for constants.
    """
    if not node.nodeName().lower().endswith("cast"):
        return False
    operand = node.child()
    if not operand.foldable() or operand.dataType().typeName() != "string":
        return False
    return is_relative_date(str(operand.eval(None)))


def is_builtin_function(session: SparkSession, name: str) -> bool:
    """Return True if Spark resolves a function name to its own function; False if unknown.

    A session may register another function of that name. In older Spark versions, such a function hides Spark's own.
    In versions with a search path for functions, it does so only if spark.sql.functionResolution.sessionOrder=first.
    """
    from pyspark.errors import PySparkException

    try:
        with quiet():
            lines = session.sql(f"DESCRIBE FUNCTION `{name.replace('`', '``')}`").collect()
    except PySparkException:
        return False
    return any(str(line[0]).startswith(_OWN_CLASS) for line in lines)
