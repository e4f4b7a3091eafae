"""Registry of Spark's functions.

A function is one entry in the file of its family, which defines all of its properties. Code that binds, evaluates,
inverts, pushes down or refuses calls uses the registry.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from parquet_core.pruning.predicate import SkippingRemedy
from prune_assets.sql.functions import (
    arithmetic,
    cast_calls,
    choices,
    clock_calls,
    dates,
    signs,
    texts,
    time_calls,
    to_whole,
)
from prune_assets.sql.functions.clock_calls import CLOCK_NEEDED
from prune_assets.sql.functions.date_fields import field_named
from prune_assets.sql.functions.dates import EXTRACT
from prune_assets.sql.functions.entry import CHOICES, TESTS
from prune_assets.sql.functions.spark_names import SPARK_NAMES
from prune_assets.sql.functions.terms import Fixed
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.types.spark_types import STRING
from prune_assets.sql.types.spark_values import SparkValue, ValueKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prune_assets.sql.functions.date_fields import DateField
    from prune_assets.sql.functions.entry import SqlFunction
    from prune_assets.sql.functions.terms import Value
    from prune_assets.sql.types.spark_types import SparkType

FAMILIES = (signs, to_whole, arithmetic, cast_calls, texts, dates, time_calls, clock_calls, choices)
REGISTRY: Mapping[str, SqlFunction] = {
    name: function for family in FAMILIES for function in family.FUNCTIONS for name in function.names
}
_COLUMN_ITSELF = SkippingRemedy("compare the column itself")
_SUGGESTED = [
    name for name, function in REGISTRY.items() if function.bind is not None or function.role in CHOICES | TESTS
]


def find(name: str) -> SqlFunction | None:
    """Return the function of a name; None if it is unknown.

    A unit or field that the grammar reads as a word may follow the function name, as in `extract year`.
    """
    return REGISTRY.get(name.partition(" ")[0])


def field_of_call(name: str) -> DateField | None:
    """Return the date field that a call with one argument returns; None for other functions."""
    function, word = find(name), name.partition(" ")[2]
    if word:
        return field_named(word) if function is EXTRACT else None
    return None if function is None else function.field


def call(name: str, arguments: Sequence[Value], timestamp: SparkType) -> Value:
    """Evaluate a function on constants and chains. Raises Refusal.

    `timestamp`: TIMESTAMP in the session's zone.
    """
    function, word = find(name), name.partition(" ")[2]
    if word:
        arguments = [Fixed(STRING, None, plain=SparkValue(ValueKind.STRING, word)), *arguments]
    if function is not None and function.clock is not None and not arguments:
        raise Refusal(*CLOCK_NEEDED)
    if function is None or function.bind is None:
        raise refused(name)
    if not function.takes(len(arguments)):
        raise Refusal("this number of arguments is not supported")
    result = function.bind(arguments, timestamp)
    if result is None:
        raise refused(name)
    return result


def refused(name: str) -> Refusal:
    """Return the refusal of a call of this name, with the reason."""
    function = find(name)
    if function is not None and function.refusal is not None:
        return Refusal(*function.refusal)
    if function is not None:
        return Refusal(f"{name}() is not supported", _COLUMN_ITSELF)
    if name.partition(" ")[0] in SPARK_NAMES:
        return Refusal(f"{name}() is not supported", _COLUMN_ITSELF)
    near = get_close_matches(name, _SUGGESTED, n=1, cutoff=0.8)
    hint = f"did you mean {near[0]}()?" if near else _COLUMN_ITSELF
    return Refusal(f"{name}() is not a built-in function of Spark; unless it is a UDF, Spark refuses it", hint)
