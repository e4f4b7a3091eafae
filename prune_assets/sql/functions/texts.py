"""Functions of texts and casts to text: they keep no order, so only constants are evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.functions.terms import Fixed
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.types.calendar import date_of
from prune_assets.sql.types.spark_types import INT, STRING
from prune_assets.sql.types.spark_values import Kind, SparkValue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prune_assets.sql.functions.terms import Value

_LAST_YEAR = 9_999
# In other alphabets the tables of Python and Java need not be of one version.
_OF_ASCII: Mapping[str, Callable[[str], str]] = {
    **dict.fromkeys(("upper", "ucase"), str.upper),
    **dict.fromkeys(("lower", "lcase"), str.lower),
    "trim": lambda text: text.strip(" "),
    "ltrim": lambda text: text.lstrip(" "),
    "rtrim": lambda text: text.rstrip(" "),
}
_LENGTHS = frozenset({"length", "len", "char_length", "character_length"})


def as_text(value: Value) -> Value:
    """Return a value as CAST(value AS STRING) makes it; raises Refusal for that of a column."""
    if value.type == STRING:
        return value
    if isinstance(value, Fixed) and value.is_null:
        return Fixed(STRING, None)
    text = _text_of(value) if isinstance(value, Fixed) else None
    if text is None:
        advice = "without the cast, e.g. x = 5 for CAST(x AS STRING) = '5'"
        raise Refusal("the order of texts is not that of their values", advice)
    return _fixed(text)


def text_call(name: str, arguments: Sequence[Value]) -> Value | None:
    """Return what a function makes of constant texts, None for any other."""
    texts = [_constant(argument) for argument in arguments]
    if None in texts or not texts:
        return None
    known = [text for text in texts if text is not None]
    if name == "concat":
        return _fixed("".join(known))
    if len(known) > 1 or not known[0].isascii():
        return None
    if name in _LENGTHS:
        return Fixed(INT, len(known[0]))
    return _fixed(_OF_ASCII[name](known[0])) if name in _OF_ASCII else None


def _constant(value: Value) -> str | None:
    if not isinstance(value, Fixed) or value.type != STRING or value.plain is None:
        return None
    return str(value.plain.value)


def _text_of(value: Fixed) -> str | None:
    match value.type.kind, value.ordinal:
        case _, None:
            return None
        case Kind.INTEGER, number:
            return str(number)
        case Kind.BOOLEAN, number:
            return "true" if number else "false"
        case Kind.DATE, number:
            year, month, day = date_of(number)
            return f"{year:04}-{month:02}-{day:02}" if 0 <= year <= _LAST_YEAR else None
        case _:
            return None


def _fixed(text: str) -> Fixed:
    return Fixed(STRING, None, plain=SparkValue(Kind.STRING, text))
