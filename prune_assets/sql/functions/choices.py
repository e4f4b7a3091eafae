"""Choices between operands, tests for NULL and NaN, and nondeterministic functions."""

from __future__ import annotations

from prune_assets.sql.functions.entry import ANY_NUMBER, Role, SqlFunction

_UNSTABLE = ("rand", "randn", "random", "uuid", "shuffle", "monotonically_increasing_id", "randstr")

FUNCTIONS = (
    SqlFunction(names=("if",), arity=(3, 3), role=Role.IF),
    SqlFunction(names=("coalesce",), arity=(1, ANY_NUMBER), role=Role.FIRST_NOT_NULL),
    SqlFunction(names=("ifnull", "nvl"), arity=(2, 2), role=Role.FIRST_NOT_NULL),
    SqlFunction(names=("nvl2",), arity=(3, 3), role=Role.NVL2),
    SqlFunction(names=("nullif",), arity=(2, 2), role=Role.NULL_IF),
    SqlFunction(names=("isnull",), role=Role.IS_NULL),
    SqlFunction(names=("isnotnull",), role=Role.IS_NOT_NULL),
    SqlFunction(names=("isnan",), role=Role.IS_NAN),
    SqlFunction(names=("raise_error",), role=Role.RAISE),
    *(SqlFunction(names=(name,), refusal=(f"{name}() has a different value for every row", "")) for name in _UNSTABLE),
)
