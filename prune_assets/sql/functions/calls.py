"""The functions that are known by name: what they make of their arguments, each a constant or a chain."""

from __future__ import annotations

from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING

from prune_assets.sql.functions.absolute import absolute
from prune_assets.sql.functions.arithmetic import REMAINDER, Sign, arithmetic
from prune_assets.sql.functions.clock_calls import CLOCK_CALLS, CLOCK_NEEDED
from prune_assets.sql.functions.coercion import apply, cast_to, to_type
from prune_assets.sql.functions.negate import negate
from prune_assets.sql.functions.terms import Fixed
from prune_assets.sql.functions.texts import text_call
from prune_assets.sql.functions.to_whole import ceil, floor, round_half_up
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.types.spark_types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TINYINT,
    decimal_type,
)
from prune_assets.sql.types.spark_values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prune_assets.sql.functions.function import Function
    from prune_assets.sql.functions.terms import Value
    from prune_assets.sql.types.spark_types import SparkType

    Call = Callable[[Sequence[Value]], Value]

_ROUNDING_ARGUMENTS = 2


def minus(arguments: Sequence[Value]) -> Value:
    """Return -x."""
    (value,) = _arguments(arguments, 1)
    return apply(negate(_as_number(value).type), value)


def plus(arguments: Sequence[Value]) -> Value:
    """Return +x."""
    (value,) = _arguments(arguments, 1)
    return cast_to(_as_number(value), value.type)


def _abs(arguments: Sequence[Value]) -> Value:
    (value,) = _arguments(arguments, 1)
    return apply(absolute(_as_number(value).type), value)


def _to_whole(function: Callable[[SparkType], Function | None], arguments: Sequence[Value]) -> Value:
    value = _as_number(_arguments(arguments, 1)[0])
    if value.type.kind is Kind.INTEGER:
        value = to_type(value, BIGINT)
    elif value.type == FLOAT:
        value = to_type(value, DOUBLE)
    return _applied(function(value.type), value)


def _round(arguments: Sequence[Value]) -> Value:
    value, *places = _arguments(arguments, 1, _ROUNDING_ARGUMENTS)
    if any(not isinstance(place, Fixed) or place.type.kind is not Kind.INTEGER for place in places):
        raise Refusal("the places of round() have to be a constant")
    count = places[0].ordinal if places and isinstance(places[0], Fixed) else 0
    if count is None:
        raise Refusal("round() to NULL places is NULL", "write NULL")
    if abs(count) > 38:
        raise Refusal("this many places are not looked into")
    return _applied(round_half_up(_as_number(value).type, count), value)


def _cast(to: SparkType, arguments: Sequence[Value]) -> Value:
    (value,) = _arguments(arguments, 1)
    return cast_to(value, to)


def _operator(sign: Sign, arguments: Sequence[Value]) -> Value:
    left, right = _arguments(arguments, 2)
    return arithmetic(sign, left, right)


CALLS: Mapping[str, Call] = {
    "mod": partial(_operator, Sign.REST),
    "negative": minus,
    "positive": plus,
    "abs": _abs,
    "floor": partial(_to_whole, floor),
    "ceil": partial(_to_whole, ceil),
    "ceiling": partial(_to_whole, ceil),
    "round": _round,
    "tinyint": partial(_cast, TINYINT),
    "smallint": partial(_cast, SMALLINT),
    "int": partial(_cast, INT),
    "bigint": partial(_cast, BIGINT),
    "float": partial(_cast, FLOAT),
    "double": partial(_cast, DOUBLE),
    "decimal": partial(_cast, decimal_type(10, 0)),
    "boolean": partial(_cast, BOOLEAN),
    "date": partial(_cast, DATE),
}
# Names that lead to another refusal than "unknown": Spark knows them.
_CHOICES = ("coalesce", "ifnull", "nvl", "nvl2", "nullif", "if", "isnull", "isnotnull", "isnan")
_UNSTABLE = frozenset({"rand", "randn", "random", "uuid", "shuffle", "monotonically_increasing_id", "randstr"})


def call(name: str, arguments: Sequence[Value]) -> Value:
    """Return what the function of this name makes of constants and chains; raises Refusal."""
    found = CALLS.get(name)
    if name in CLOCK_CALLS and not arguments:
        raise Refusal(*CLOCK_NEEDED)
    if found is None:
        text = text_call(name, arguments)
        if text is None:
            raise unknown_call(name)
        return text
    return found(arguments)


def unknown_call(name: str) -> Refusal:
    """Return why a call of this name is not looked into."""
    if name in _UNSTABLE:
        return Refusal(f"{name}() has another value for every row")
    if name == "pmod":
        return Refusal(*REMAINDER)
    near = get_close_matches(name, [*CALLS, *_CHOICES], n=1, cutoff=0.8)
    hint = f"did you mean {near[0]}()?" if near and near[0] != name else "compare the plain column"
    return Refusal(f"{name}() is not turned into a range yet", hint)


def _arguments(arguments: Sequence[Value], least: int, most: int = 0) -> Sequence[Value]:
    if not least <= len(arguments) <= (most or least):
        raise Refusal("this number of arguments is not looked into")
    return arguments


def _as_number(value: Value) -> Value:
    if not value.type.is_number:
        raise Refusal(f"Spark casts the {value.type} to a number here", "write a number")
    return value


def _applied(function: Function | None, value: Value) -> Value:
    if function is None:
        raise Refusal(f"this function of {value.type} is not turned into a range")
    return apply(function, value)
