"""An entry of the registry: all that is said of one of Spark's functions, under all of its names."""

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

    # `None`: what these arguments come to is not known.
    Bind: TypeAlias = Callable[[Sequence[Value], SparkType], Value | None]

ANY_NUMBER = 1 << 30


class Role(Enum):
    """What a function is besides a value of its arguments: conditions and choices are lowered by their roles."""

    # Operands that say something of a column of strings or bytes.
    PREFIX = auto()
    LEFT = auto()
    # A number made of a text.
    LENGTH = auto()
    # Conditions on such a column.
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
    """A function of Spark's.

    `bind`: what it makes of constants and chains, given TIMESTAMP in the session's zone: a constant, or a chain with a
    `function.Function` more, which has the result's type, the values forwards and the preimage. Where there is none, or
    it knows no answer, `refusal` says why, with a remedy. `arity`: the least and largest number of arguments.
    `null_strict`: NULL where any argument is. `may_raise`: may fail for some rows alone.
    `casts_to`: the type that a call with one argument casts to. `casts_arguments`: to one type, before it is called.
    `keeps_fractions`: its result has a fraction where its argument's type has one. `makes_timestamp`: of what type
    spark.sql.timestampType decides. `infers_not_null`: Spark takes `f(x) > 1` for a reason that x is not null, and
    pushes that down. `field`: the field of a date that it returns. `clock`: the literal that a call without arguments
    comes to at an instant. `without_brackets`: is called by its bare name where no column has it.
    `is_syntax`: a form of the grammar, which no function of a session replaces.
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
        """Tell whether it is known with so many arguments."""
        least, most = self.arity
        return least <= arguments <= most
