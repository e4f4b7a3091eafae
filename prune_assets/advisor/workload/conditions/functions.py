"""Functions of Spark's plans that can be translated to SQL, with the types of their results and arguments."""

from __future__ import annotations

from typing import NamedTuple

# Marks a result that has the type of the first argument.
SAME = "same"
# Marks a result that is a decimal for a decimal argument, and a `bigint` for any other number.
WHOLE_OF = "whole"


class KnownFunction(NamedTuple):
    """Name in SQL, type of the result, and types of the arguments."""

    sql: str
    result: str
    arguments: tuple[str, ...]


_DATE_FIELDS = ("year", "quarter", "month", "day", "dayofmonth", "dayofweek", "weekday", "weekofyear", "dayofyear")

# Keyed by the name that a plan prints. Functions of the time of day depend on the session time zone and are omitted.
FUNCTIONS = {
    **{name: KnownFunction(name, "int", ("date",)) for name in _DATE_FIELDS},
    **{name: KnownFunction(name, "string", ("string",)) for name in ("upper", "lower", "reverse", "initcap")},
    **{name: KnownFunction(name, "string", ("string",)) for name in ("trim", "ltrim", "rtrim")},
    **{name: KnownFunction("length", "int", ("string",)) for name in ("length", "char_length", "len")},
    **{name: KnownFunction(name, SAME, (SAME, SAME)) for name in ("mod", "pmod")},
    **{name: KnownFunction(name.lower(), WHOLE_OF, (SAME,)) for name in ("FLOOR", "CEIL")},
    "round": KnownFunction("round", SAME, (SAME, "int")),
    "substr": KnownFunction("substr", "string", ("string", "int", "int")),
    "substring": KnownFunction("substring", "string", ("string", "int", "int")),
    "date_add": KnownFunction("date_add", "date", ("date", "int")),
    "date_sub": KnownFunction("date_sub", "date", ("date", "int")),
    **{name: KnownFunction("datediff", "int", ("date", "date")) for name in ("datediff", "date_diff")},
    "add_months": KnownFunction("add_months", "date", ("date", "int")),
    "date_format": KnownFunction("date_format", "string", ("date", "string")),
    "trunc": KnownFunction("trunc", "date", ("date", "string")),
    "last_day": KnownFunction("last_day", "date", ("date",)),
    "abs": KnownFunction("abs", SAME, (SAME,)),
    "coalesce": KnownFunction("coalesce", SAME, (SAME, SAME)),
    "isnan": KnownFunction("isnan", "boolean", (SAME,)),
    "StartsWith": KnownFunction("startswith", "boolean", ("string", "string")),
    "EndsWith": KnownFunction("endswith", "boolean", ("string", "string")),
    "Contains": KnownFunction("contains", "boolean", ("string", "string")),
    "RLIKE": KnownFunction("regexp_like", "boolean", ("string", "string")),
    "concat": KnownFunction("concat", "string", ("string", "string")),
}
