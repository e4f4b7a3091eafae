"""Registry entries: the properties of one Spark function, under all of its names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prune_assets.sql.functions.clock_calls import Clock
    from prune_assets.sql.functions.date_fields import DateField
    from prune_assets.sql.functions.terms import Value
    from prune_assets.sql.types.spark_types import SparkType

    # `None`: the result for these arguments is unknown.
    Bind: TypeAlias = Callable[[Sequence[Value], SparkType], Value | None]

ANY_NUMBER = 1 << 30


class Role(Enum):
    """Role of a function in a predicate; conditions and choices are lowered by their roles."""

    # Operands computed from a string or binary column.
    PREFIX = auto()
    LEFT = auto()
    # Number computed from a string.
    LENGTH = auto()
    # Conditions on a string or binary column.
    STARTS_WITH = auto()
    ENDS_WITH = auto()
    CONTAINS = auto()
    LIKE = auto()
    ILIKE = auto()
    REGEX = auto()
    # Choices between operands.
    IF = auto()
    FIRST_NOT_NULL = auto()
    NVL2 = auto()
    NULL_IF = auto()
    # Conditions that are never NULL.
    IS_NULL = auto()
    IS_NOT_NULL = auto()
    IS_NAN = auto()
    RAISE = auto()
    IDENTITY = auto()


AFFIXES = frozenset({Role.STARTS_WITH, Role.ENDS_WITH, Role.CONTAINS})
TESTS = frozenset({Role.IS_NULL, Role.IS_NOT_NULL, Role.IS_NAN})
CHOICES = frozenset({Role.IF, Role.FIRST_NOT_NULL, Role.NVL2, Role.NULL_IF})


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlFunction:
    """A Spark function.

    `bind`: evaluates the call on bound arguments, given TIMESTAMP in the session's zone. The result is a constant, or a
    chain with one more `function.Function`, which has the result type, forward evaluation and the preimage. None if the
    result is unknown.
    `refusal`: reason and remedy if there is no `bind`, or if it returns None.
    `arity`: the least and largest number of arguments.
    `null_strict`: True if the result is NULL whenever an argument is NULL.
    `may_raise`: True if the function may raise for some rows only.
    `casts_to`: type to which a call with one argument casts.
    `casts_arguments`: True if all arguments are cast to one common type first.
    `keeps_fractions`: True if the result has a fraction if the argument's type has one.
    `makes_timestamp`: True if spark.sql.timestampType decides the result type.
    `infers_not_null`: True if Spark infers from `f(x) > 1` that x is not null, and pushes that down.
    `field`: the date field that the function returns.
    `clock`: returns the literal for a call without arguments at an instant.
    `without_brackets`: True if the bare name is a call, provided that no column has the name.
    `is_syntax`: True for syntax such as EXTRACT(.. FROM ..), which a function of the session cannot replace.
    """

    names: tuple[str, ...]
    arity: tuple[int, int] = (1, 1)
    bind: Bind | None = None
    refusal: tuple[str, str] | None = None
    null_strict: bool = False
    may_raise: bool = True
    role: Role | None = None
    casts_to: SparkType | None = None
    casts_arguments: bool = False
    keeps_fractions: bool = False
    makes_timestamp: bool = False
    infers_not_null: bool = False
    field: DateField | None = None
    clock: Callable[[Clock], str | None] | None = None
    without_brackets: bool = False
    is_syntax: bool = False

    def takes(self, arguments: int) -> bool:
        """Return whether the function accepts a number of arguments."""
        least, most = self.arity
        return least <= arguments <= most
