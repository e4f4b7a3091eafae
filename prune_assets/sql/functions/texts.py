"""Functions of strings and casts to string; only constants are evaluated, because order is lost."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from parquet_core.pruning.predicate import SkippingRemedy
from prune_assets.sql.functions.entry import ANY_NUMBER, Role, SqlFunction
from prune_assets.sql.functions.terms import Fixed
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.types.calendar import date_of
from prune_assets.sql.types.spark_types import INT, STRING
from prune_assets.sql.types.spark_values import SparkValue, ValueKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prune_assets.sql.functions.terms import Value
    from prune_assets.sql.types.spark_types import SparkType

_LAST_YEAR = 9_999
KEEP_ONE_CASE = "list the spellings, as in s IN ('Ab', 'ab'), or keep a column in one case"
_CASES = ("a change of case changes the order of values", KEEP_ONE_CASE)
_TRIMMED = (
    "the bounds describe the strings before they are trimmed",
    SkippingRemedy("trim the values when they are written"),
)
JOINED = ("a concatenated string has no bounds", SkippingRemedy("compare the columns one by one"))
_LENGTH = ("a length has no bounds", SkippingRemedy("write s = '' for an empty string, s > '' for other strings"))
_POSITION = ("the position of a substring has no bounds", "write contains(s, 'text') or startswith(s, 'text')")
_OTHER = ("this function does not preserve the order of strings", SkippingRemedy("compare the column itself"))


def as_text(value: Value) -> Value:
    """Return CAST(value AS STRING) of a constant. Raises Refusal for columns."""
    if value.type == STRING:
        return value
    if isinstance(value, Fixed) and value.is_null:
        return Fixed(STRING, None)
    string = _format_constant(value) if isinstance(value, Fixed) else None
    if string is None:
        advice = "without the cast, e.g. x = 5 for CAST(x AS STRING) = '5'"
        raise Refusal("strings do not sort like the values that they denote", advice)
    return _fixed(string)


def _apply_to_ascii(compute: Callable[[str], str | int], arguments: Sequence[Value], _: SparkType) -> Value | None:
    """Evaluate a function on a constant ASCII text; None for other arguments.

    For other characters, Python's character tables may differ from Java's.
    """
    string = _constant(arguments[0])
    if string is None or not string.isascii():
        return None
    result = compute(string)
    return Fixed(INT, result) if isinstance(result, int) else _fixed(result)


def _concat(arguments: Sequence[Value], _: SparkType) -> Value | None:
    strings = [_constant(argument) for argument in arguments]
    constants = [string for string in strings if string is not None]
    return _fixed("".join(constants)) if len(constants) == len(strings) else None


def _constant(value: Value) -> str | None:
    if not isinstance(value, Fixed) or value.type != STRING or value.plain is None:
        return None
    return str(value.plain.value)


def _format_constant(value: Fixed) -> str | None:
    if value.doubt:
        return None
    match value.type.kind, value.ordinal:
        case _, None:
            return None
        case ValueKind.INTEGER, number:
            return str(number)
        case ValueKind.BOOLEAN, number:
            return "true" if number else "false"
        case ValueKind.DATE, number:
            year, month, day = date_of(number)
            return f"{year:04}-{month:02}-{day:02}" if 0 <= year <= _LAST_YEAR else None
        case _:
            return None


def _fixed(string: str) -> Fixed:
    return Fixed(STRING, None, plain=SparkValue(ValueKind.STRING, string))


def _entry(*names: str, compute: Callable[[str], str | int] | None = None, **properties: Any) -> SqlFunction:
    """Return the entry of a string function that is NULL if any argument is NULL, and never raises."""
    bind = None if compute is None else partial(_apply_to_ascii, compute)
    return SqlFunction(names=names, **{"bind": bind, "null_strict": True, "may_raise": False, **properties})


FUNCTIONS = (
    _entry("upper", "ucase", compute=str.upper, refusal=_CASES, infers_not_null=True),
    _entry("lower", "lcase", compute=str.lower, refusal=_CASES, infers_not_null=True),
    _entry("initcap", refusal=_CASES),
    _entry("trim", compute=lambda text: text.strip(" "), refusal=_TRIMMED),
    _entry("ltrim", compute=lambda text: text.lstrip(" "), refusal=_TRIMMED),
    _entry("rtrim", compute=lambda text: text.rstrip(" "), refusal=_TRIMMED),
    _entry("concat", arity=(1, ANY_NUMBER), bind=_concat, refusal=JOINED),
    _entry("length", "len", "char_length", "character_length", compute=len, refusal=_LENGTH, role=Role.LENGTH),
    _entry("octet_length", "bit_length", refusal=_LENGTH, role=Role.LENGTH),
    _entry("substr", "substring", arity=(2, 3), role=Role.PREFIX),
    _entry("left", arity=(2, 2), role=Role.LEFT),
    _entry("right", arity=(2, 2), refusal=_OTHER),
    _entry("reverse", refusal=_OTHER),
    _entry("instr", arity=(2, 2), refusal=_POSITION),
    _entry("startswith", arity=(2, 2), role=Role.STARTS_WITH),
    _entry("endswith", arity=(2, 2), role=Role.ENDS_WITH),
    _entry("contains", arity=(2, 2), role=Role.CONTAINS),
    # The following functions are not NULL for a NULL position, or may raise.
    SqlFunction(names=("locate", "position"), arity=(2, 3), refusal=_POSITION),
    SqlFunction(names=("like",), arity=(2, 3), role=Role.LIKE),
    SqlFunction(names=("ilike",), arity=(2, 3), role=Role.ILIKE),
    SqlFunction(names=("rlike", "regexp", "regexp_like"), arity=(2, 2), role=Role.REGEX),
    SqlFunction(names=("btrim",), arity=(1, 2), refusal=_TRIMMED),
    SqlFunction(names=("concat_ws",), arity=(1, ANY_NUMBER), refusal=JOINED),
    SqlFunction(names=("replace", "translate", "lpad", "rpad", "split_part", "overlay"), arity=(2, 4), refusal=_OTHER),
    SqlFunction(names=("regexp_replace", "regexp_extract", "regexp_substr"), arity=(2, 4), refusal=_OTHER),
    SqlFunction(names=("repeat", "soundex", "ascii"), arity=(1, 2), refusal=_OTHER),
)
