"""Predicates given as a PySpark Column, lowered as equivalent SQL text."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from parquet_core.errors import WrongUse
from parquet_core.pruning.predicate import Unsupported, leaves, replaced
from prune_assets.errors import PredicateSyntaxError
from prune_assets.spark.spark_versions import message_of, quiet
from prune_assets.sql.binding import clock
from prune_assets.sql.lower import LoweredPredicate, lower, lowered_conjunction, refused
from prune_assets.sql.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame

    from parquet_core.format.schema import LeafColumn
    from prune_assets.sql.semantics import SparkSemantics

_REASON = "this part of the Column has no equivalent SQL text"
_REMEDY = "give the predicate as text"
_INFIX = {"==": "=", "or": "OR", "and": "AND", "like": "LIKE", "rlike": "RLIKE", "ilike": "ILIKE"}
_INFIX |= {sign: sign for sign in (">", "<", ">=", "<=", "<=>", "+", "-", "*", "/", "%")}
_USES_CLOCK = ("a part of this Column has no SQL text, so Spark reads the clock later", _REMEDY)


def lower_column(
    where: Column,
    columns: Sequence[LeafColumn],
    *,
    frame: DataFrame,
    semantics: SparkSemantics,
    now: int | None = None,
) -> LoweredPredicate:
    """Lower a Column to a predicate, with literals in the types of `columns`.

    `frame` has the schema of the table.
    For classic Spark, the analyzed condition is written as SQL, conjunct by conjunct. A conjunct that Spark does not
    read back as the same condition (a UDF, a lambda, a name that a UDF has taken) becomes Unsupported. For Spark
    Connect, the client's protobuf messages are written as SQL, if they have an SQL form. If the whole Column can be
    written as SQL, clock functions are frozen at `now`, and Spark must then evaluate the frozen SQL. Raises WrongUse if
    Spark cannot analyze the Column, and the errors of `lower`.
    """
    filtered = _analyzed(frame, where)
    conjuncts = [*(_connect_conjuncts(where, frame) if _is_connect(where) else _classic_conjuncts(filtered, frame))]
    now = clock.now() if now is None else now
    parts = []
    for sql, means in conjuncts:
        part = _lowered(sql, columns, semantics, now)
        if _holds(means):
            parts.append(part)
        else:
            parts.append(refused(sql, _REASON, _REMEDY) if _has_supported_leaf(part) else _mark_as_partial(part))
    if any(part.frozen is not None for part in parts) and not all(_holds(means) for _, means in conjuncts):
        parts = [part if part.frozen is None else refused(part.sql, *_USES_CLOCK) for part in parts]
    return lowered_conjunction(parts)


def _classic_conjuncts(filtered: DataFrame, frame: DataFrame) -> Iterator[tuple[str, Callable[[], bool]]]:
    """Yield the SQL of each conjunct, and a check of it.

    The check returns True if Spark reads the SQL back as the same condition.
    """
    for condition in catalyst_conjuncts(_condition(filtered)):
        sql = condition.sql()
        yield sql, partial(_reads_back, condition, sql, frame)


def _connect_conjuncts(where: Column, frame: DataFrame) -> Iterator[tuple[str, Callable[[], bool]]]:
    """Yield the SQL of each conjunct of a Connect Column, and a check.

    The check returns True if the server resolves the SQL and the Column to the same plan.
    """
    client: Any = frame.sparkSession.client
    stack = [where.to_plan(client)]  # type: ignore[operator]  # Connect's own Column
    while stack:
        part = stack.pop()
        if part.WhichOneof("expr_type") == "unresolved_function" and part.unresolved_function.function_name == "and":
            stack += reversed(part.unresolved_function.arguments)
            continue
        try:
            sql = _message_sql(part)
        except (Refusal, OverflowError) as reason:
            yield f"no_sql_text('{reason}')", lambda: False
        else:
            yield sql, partial(_means_the_same, frame, _column_of_message(part), sql)


def _column_of_message(message: Any) -> Column:
    from pyspark.sql.connect.column import Column
    from pyspark.sql.connect.expressions import Expression

    class Sent(Expression):
        def to_plan(self, session: object) -> Any:  # noqa: ARG002  # the message is made already
            return message

        def __repr__(self) -> str:
            return "a part of the predicate"

    return Column(Sent())


def _message_sql(expression: Any) -> str:
    """Return the SQL of an Expression message (`expressions.proto`), in parentheses if it has operators."""
    match expression.WhichOneof("expr_type"):
        case "unresolved_attribute":
            return str(expression.unresolved_attribute.unparsed_identifier)
        case "literal":
            return _literal(expression.literal)
        case "alias":
            return _message_sql(expression.alias.expr)
        case "expression_string":
            # The newline ends a comment at the end of the text.
            return f"({expression.expression_string.expression}\n)"
        case "cast":
            return f"CAST({_message_sql(expression.cast.expr)} AS {expression.cast.type_str})"
        case "unresolved_function":
            arguments = map(_message_sql, expression.unresolved_function.arguments)
            return _call(expression.unresolved_function.function_name, *arguments)
        case kind:
            raise Refusal(str(kind))


def _call(name: str, *arguments: str) -> str:
    match name, arguments:
        case _, [left, right] if name in _INFIX:
            return f"({left} {_INFIX[name]} {right})"
        case "in", [value, *members]:
            return f"({value} IN ({', '.join(members)}))"
        case "isNull" | "isNotNull", [operand]:
            return f"({operand} IS {'NULL' if name == 'isNull' else 'NOT NULL'})"
        case "not", [operand]:
            return f"(NOT {operand})"
        case _ if name.isidentifier():
            return f"{name}({', '.join(arguments)})"
        case _:
            raise Refusal(name)


def _literal(literal: Any) -> str:
    literal_type = literal.WhichOneof("literal_type")
    if literal_type not in _LITERALS:
        raise Refusal(f"a literal of kind {literal_type}")
    return _LITERALS[literal_type](getattr(literal, literal_type))


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _double(value: float) -> str:
    if not math.isfinite(value):
        raise Refusal(str(value))
    return f"{value!r}D"


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_LITERALS: dict[str, Callable[[Any], str]] = {
    "byte": "{}Y".format,
    "short": "{}S".format,
    "integer": str,
    "long": "{}L".format,
    "boolean": str,
    "string": _quoted,
    "binary": lambda value: f"X'{bytes(value).hex()}'",
    "double": _double,
    "decimal": lambda value: f"{value.value}BD",
    "date": lambda days: f"DATE '{(_EPOCH + dt.timedelta(days)).date()}'",
    "timestamp": lambda micros: f"TIMESTAMP '{_EPOCH + dt.timedelta(microseconds=micros)}'",
}


def _is_connect(where: Column) -> bool:
    return type(where).__module__.startswith("pyspark.sql.connect")


def _analyzed(frame: DataFrame, where: Column | str) -> DataFrame:
    from pyspark.errors import AnalysisException

    try:
        with quiet():
            filtered = frame.where(where)
            # Spark Connect analyzes a DataFrame only when its schema is requested.
            assert filtered.schema is not None
    except AnalysisException as error:
        message = message_of(error).splitlines()[0]
        raise WrongUse(f"where: Spark refuses the Column: {message}") from None
    return filtered


def _lowered(sql: str, columns: Sequence[LeafColumn], semantics: SparkSemantics, now: int) -> LoweredPredicate:
    try:
        return lower(sql, columns, semantics=semantics, now=now)
    except PredicateSyntaxError:
        return refused(sql, _REASON, _REMEDY)


def _has_supported_leaf(part: LoweredPredicate) -> bool:
    return any(not isinstance(leaf, Unsupported) for leaf in leaves(part.predicate))


def _mark_as_partial(part: LoweredPredicate) -> LoweredPredicate:
    """Set `is_whole` of unsupported conditions to False, so that they are not evaluated on column values either."""
    replacements = {
        leaf: replace(leaf, is_whole=False) for leaf in leaves(part.predicate) if isinstance(leaf, Unsupported)
    }
    conjuncts = tuple((sql, replaced(tree, replacements)) for sql, tree in part.conjuncts)
    return replace(part, predicate=replaced(part.predicate, replacements), conjuncts=conjuncts)


def _reads_back(condition: Any, sql: str, frame: DataFrame) -> bool:
    return bool(condition.semanticEquals(_condition(frame.where(sql))))


def _means_the_same(frame: DataFrame, column: Column, sql: str) -> bool:
    return frame.where(column).sameSemantics(frame.where(sql))


def _holds(means: Callable[[], bool]) -> bool:
    from pyspark.errors import AnalysisException

    try:
        with quiet():
            return bool(means())
    except AnalysisException:
        return False


def _condition(filtered: DataFrame) -> Any:
    """Return the condition of Spark's plan without no-op casts.

    Each conversion of the condition to text and back adds such casts.
    """
    plan = filtered._jdf.queryExecution().analyzed()  # noqa: SLF001  # no public API for the condition
    while plan.nodeName() != "Filter":
        plan = plan.children().head()  # a node above the Filter removes `_metadata` from the result
    jvm: Any = filtered.sparkSession._jvm  # noqa: SLF001
    return jvm.org.apache.spark.sql.catalyst.optimizer.SimplifyCasts.apply(plan).condition()


def catalyst_conjuncts(condition: Any) -> Iterator[Any]:
    """Yield the operands of the topmost ANDs of a Catalyst expression, in order."""
    stack = [condition]
    while stack:
        part = stack.pop()
        if part.nodeName() == "And":
            stack += [part.right(), part.left()]
        else:
            yield part
