"""Literals of Spark SQL: a value and its SQL type."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prune_assets.sql.types.timestamps import Moment

MAX_DIGITS = 38
# Decimal digits that Spark gives an integer, by its bits (DecimalType.forType).
DIGITS_OF_BITS = {8: 3, 16: 5, 32: 10, 64: 20}


class ValueKind(StrEnum):
    """Families of SQL types that comparisons distinguish."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"
    STRING = "string"
    DATE = "date"
    BOOLEAN = "boolean"
    BINARY = "binary"
    NULL = "null"
    MONTHS = "interval of months"
    DAYS = "interval of days"
    TIME = "interval of time"
    INTERVAL = "interval"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp without time zone"
    OTHER = "literal"


_NUMBERS = dict.fromkeys((ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.DOUBLE), "number")


def kind_text(kind: ValueKind) -> str:
    """Return the name of a kind with its article, for messages.

    >>> kind_text(ValueKind.DECIMAL), kind_text(ValueKind.INTERVAL)
    ('a number', 'an interval')
    """
    name = _NUMBERS.get(kind, kind)
    return f"{'an' if name.startswith('i') else 'a'} {name}"


@dataclass(frozen=True, slots=True)
class SparkValue:
    """A literal, or the result of folding literals.

    `value`: an int for INTEGER, MONTHS, DAYS and TIME (microseconds), the unscaled int for DECIMAL, a str, the days
    since 1970-01-01 for DATE, a Moment for timestamps, a bool, bytes, or a float for DOUBLE. None for NULL, and if
    unknown.
    `digits`, `scale`: the decimal type to which Spark widens an exact number.
    `bits`: width of an INTEGER or DOUBLE.
    `name`: text of a string in double quotes, which a Spark setting turns into a column name.
    """

    kind: ValueKind
    value: int | str | bool | float | bytes | Moment | None = None
    bits: int = 0
    digits: int = 0
    scale: int = 0
    name: str | None = None

    @property
    def is_exact_number(self) -> bool:
        """Whether the value is an integer or a decimal."""
        return self.kind in {ValueKind.INTEGER, ValueKind.DECIMAL}

    @property
    def number(self) -> int:
        """Value as an int: integer, unscaled decimal, interval, or days since 1970-01-01."""
        assert isinstance(self.value, int)
        return self.value


def integer(value: int, bits: int) -> SparkValue:
    """Return an integer literal. Spark widens a tinyint to 3 decimal digits, other integers to the digits they have."""
    digits = DIGITS_OF_BITS[8] if bits == 8 else len(str(abs(value)))
    return SparkValue(ValueKind.INTEGER, value, bits=bits, digits=digits)


def decimal(unscaled: int, digits: int, scale: int) -> SparkValue:
    """Return `unscaled / 10**scale` as a literal with this many digits and this scale."""
    return SparkValue(ValueKind.DECIMAL, unscaled, digits=digits, scale=scale)


def computed(value: SparkValue) -> SparkValue:
    """Return a value as the result of an operation: Spark widens a computed integer to a decimal by its full width."""
    return replace(value, digits=DIGITS_OF_BITS[value.bits]) if value.kind is ValueKind.INTEGER else value
