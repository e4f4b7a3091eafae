"""Columns of Spark Connect as SQL text, read from the messages that the client would send.

Source: `expressions.proto` of Spark Connect.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

_INFIX = {"==": "=", "or": "OR", "and": "AND", "in": "IN"}
_INFIX |= {sign: sign for sign in (">", "<", ">=", "<=", "<=>", "+", "-", "*", "/", "%", "&", "|", "^")}
_PATTERNS = {"like": "LIKE", "rlike": "RLIKE", "ilike": "ILIKE"}
_SUFFIXES = {"isNull": "IS NULL", "isNotNull": "IS NOT NULL"}
_PREFIXES = {"not": "NOT", "negative": "-", "~": "~"}
_WHOLE = {"byte": "Y", "short": "S", "integer": "", "long": "L"}
_NAME = re.compile(r"\w+")
_DAY = 24 * 60 * 60 * 1_000_000
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class NoText(Exception):
    """An expression that SQL text has no certain words for."""


def messages_of_conjuncts(message: Any) -> Iterator[Any]:
    """Yield the operands of the topmost AND of an Expression message."""
    stack = [message]
    while stack:
        part = stack.pop()
        function = part.unresolved_function
        if part.WhichOneof("expr_type") == "unresolved_function" and function.function_name == "and":
            stack += reversed(function.arguments)
        else:
            yield part


def column_of_message(message: Any) -> Column:
    """Return the Column that sends a message, its decimals written as `text_of_message` does.

    The server gives a decimal a type that no literal of SQL has, only a cast of one.
    """
    from pyspark.sql.connect.column import Column
    from pyspark.sql.connect.expressions import Expression

    class Sent(Expression):
        def to_plan(self, session: object) -> Any:  # noqa: ARG002  # the message is made already
            return message

        def __repr__(self) -> str:
            return "a part of the predicate"

    message = _with_decimals_as_text(message)
    return Column(Sent())


def _with_decimals_as_text(message: Any) -> Any:
    changed = type(message)()
    changed.CopyFrom(message)
    stack = [changed]
    while stack:
        part = stack.pop()
        match part.WhichOneof("expr_type"):
            case "literal" if part.literal.WhichOneof("literal_type") == "decimal":
                part.expression_string.expression = _decimal(part.literal.decimal)
            case "unresolved_function":
                stack += part.unresolved_function.arguments
            case "cast":
                stack.append(part.cast.expr)
            case "alias":
                stack.append(part.alias.expr)
            case "unresolved_extract_value":
                stack.append(part.unresolved_extract_value.child)
    return changed


def text_of_message(expression: Any) -> str:
    """Return the SQL of an Expression message, in brackets where it has operators; raises NoText."""
    kind = expression.WhichOneof("expr_type")
    match kind:
        case "unresolved_attribute":
            return str(expression.unresolved_attribute.unparsed_identifier)
        case "literal":
            return _literal(expression.literal)
        case "alias":
            return text_of_message(expression.alias.expr)
        case "expression_string":
            # The line ends a comment that the text may end with.
            return f"({expression.expression_string.expression}\n)"
        case "cast":
            return _cast(expression.cast)
        case "unresolved_extract_value":
            return _field(expression.unresolved_extract_value)
        case "unresolved_function":
            return _function(expression.unresolved_function)
        case _:
            raise NoText(str(kind))


def _function(function: Any) -> str:
    name = function.function_name
    if function.is_distinct or function.is_user_defined_function:
        raise NoText(name)
    arguments = [text_of_message(argument) for argument in function.arguments]
    match name, arguments:
        case "in", [value, *members]:
            return f"({value} IN ({', '.join(members)}))"
        case _, [left, right] if name in _INFIX:
            return f"({left} {_INFIX[name]} {right})"
        case _, [left, right] if name in _PATTERNS:
            return f"({left} {_PATTERNS[name]} {right})"
        case _, [operand] if name in _SUFFIXES:
            return f"({operand} {_SUFFIXES[name]})"
        case _, [operand] if name in _PREFIXES:
            return f"({_PREFIXES[name]} {operand})"
        case "when", _:
            return _case(arguments)
        case _ if _NAME.fullmatch(name):
            return f"{name}({', '.join(arguments)})"
        case _:
            raise NoText(name)


def _case(arguments: list[str]) -> str:
    pairs = zip(arguments[::2], arguments[1::2], strict=False)
    arms = "".join(f" WHEN {condition} THEN {value}" for condition, value in pairs)
    rest = f" ELSE {arguments[-1]}" if len(arguments) % 2 else ""
    return f"(CASE{arms}{rest} END)"


def _cast(cast: Any) -> str:
    if cast.WhichOneof("cast_to_type") != "type_str":
        raise NoText("a cast to a type that is given as an object")
    # 0: as the session casts; 2: ANSI, 3: TRY.
    if cast.eval_mode not in {0, 3}:
        raise NoText("a cast of another mode than the session's")
    name = "TRY_CAST" if cast.eval_mode else "CAST"
    return f"{name}({text_of_message(cast.expr)} AS {cast.type_str})"


def _field(extract: Any) -> str:
    child, key = text_of_message(extract.child), extract.extraction
    if key.WhichOneof("expr_type") == "literal" and key.literal.WhichOneof("literal_type") == "string":
        return f"{child}.`{key.literal.string.replace('`', '``')}`"
    return f"{child}[{text_of_message(key)}]"


def _literal(literal: Any) -> str:
    kind = literal.WhichOneof("literal_type")
    value = getattr(literal, kind)
    if kind in _WHOLE:
        return f"{value}{_WHOLE[kind]}"
    match kind:
        case "null":
            return "NULL"
        case "boolean":
            return "TRUE" if value else "FALSE"
        case "string":
            return _string(value)
        case "binary":
            return f"X'{bytes(value).hex()}'"
        case "double":
            return _double(value, "DOUBLE", "D")
        case "float":
            # The message holds the nearest double; its shortest text would be another float.
            return _double(struct.unpack("f", struct.pack("f", value))[0], "FLOAT", "F")
        case "decimal":
            return _decimal(value)
        case "date":
            return f"DATE '{_moment(value * _DAY):%Y-%m-%d}'"
        case "timestamp":
            return f"TIMESTAMP '{_moment(value).isoformat(' ')}'"
        case "timestamp_ntz":
            return f"TIMESTAMP_NTZ '{_moment(value).replace(tzinfo=None).isoformat(' ')}'"
        case _:
            raise NoText(f"a literal of kind {kind}")


def _double(value: float, name: str, suffix: str) -> str:
    if math.isfinite(value):
        return f"{value!r}{suffix}"
    return f"CAST('{'NaN' if math.isnan(value) else 'Infinity' if value > 0 else '-Infinity'}' AS {name})"


def _decimal(value: Any) -> str:
    number = decimal.Decimal(value.value)
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise NoText(f"the decimal {value.value}")
    scale = max(value.scale, -exponent, 0)
    precision = max(value.precision, len(digits) + max(exponent, 0), scale)
    return f"CAST({number:f}BD AS DECIMAL({precision},{scale}))"


def _moment(microseconds: int) -> dt.datetime:
    try:
        return _EPOCH + dt.timedelta(microseconds=microseconds)
    except OverflowError:
        raise NoText("a date beyond the years 1 to 9999") from None


def _string(value: str) -> str:
    r"""Return a string literal.

    >>> print(_string("it's a \\"))
    'it\'s a \\'
    """
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
