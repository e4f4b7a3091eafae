"""The values that a column of an exact ordered type can hold, and comparisons brought into them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, Compare, Constant, IsNull, Not, Op, Or

if TYPE_CHECKING:
    from parquet_core.predicate import Path, Predicate
    from prune_assets.sql.types.spark_values import SparkValue

_NULL = Constant(Outcomes.NULL)
# Spark reads unsigned integers as the next wider signed type, and 64 bits as decimal(20,0).
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
_UNSIGNED_DIGITS = {8: 5, 16: 10, 32: 20, 64: 20}


@dataclass(frozen=True, slots=True)
class Domain:
    """All multiples of 10**-scale from `low` to `high` (both unscaled, included).

    `digits`: of the decimal that Spark widens the column to when it compares with a decimal.
    """

    type: pa.DataType
    low: int
    high: int
    digits: int
    scale: int = 0


def domain_of(arrow_type: pa.DataType) -> Domain | None:
    """Return the domain of an integer or decimal type, None for any other."""
    if pa.types.is_decimal128(arrow_type):
        high = 10**arrow_type.precision - 1
        return Domain(arrow_type, -high, high, arrow_type.precision, arrow_type.scale)
    if pa.types.is_signed_integer(arrow_type):
        half = 1 << arrow_type.bit_width - 1
        return Domain(arrow_type, -half, half - 1, _DIGITS[arrow_type.bit_width])
    if pa.types.is_unsigned_integer(arrow_type):
        return Domain(arrow_type, 0, (1 << arrow_type.bit_width) - 1, _UNSIGNED_DIGITS[arrow_type.bit_width])
    return None


def snap(column: Path, domain: Domain, op: Op, value: SparkValue) -> Predicate:
    """Return the comparison with a number as one with a value of the domain.

    What holds for no value becomes `never`, what holds for all `always`: both are NULL for null.
    """
    bound, remainder = divmod(value.number * 10**domain.scale, 10**value.scale)
    if op in {Op.EQ, Op.NE}:
        held, holds = remainder == 0, op is Op.NE
        if remainder and pa.types.is_decimal(domain.type):
            return unequal_to_all(column, op)
    else:
        # x < 2.5 is x < 3, x >= 2.5 is x >= 3; x <= 2.5 is x <= 2, x > 2.5 is x > 2.
        bound += bool(remainder) and op in {Op.LT, Op.GE}
        held, holds = True, (bound > domain.high) == (op in {Op.LT, Op.LE})
    if held and domain.low <= bound <= domain.high:
        return Compare(column, op, scalar(domain, bound))
    return (always if holds else never)(column, domain)


def unequal_to_all(column: Path, op: Op) -> Predicate:
    """Return `column op number` for a number with more places than the column has, which no value equals."""
    is_null = IsNull(column)
    return And((is_null, _NULL)) if op is Op.EQ else Or((Not(is_null), _NULL))


def members(domain: Domain, values: list[SparkValue]) -> list[int]:
    """Return those of the numbers that the domain holds, unscaled, each once, in order of appearance."""
    return [number for number in multiples(domain, values) if domain.low <= number <= domain.high]


def is_at_end(leaf: Compare) -> bool:
    """Tell whether a comparison may be what `never` and `always` return of a type that is read wider."""
    domain = domain_of(leaf.value.type) if is_read_wider(leaf.value.type) else None
    return domain is not None and leaf.op in {Op.GT, Op.LE} and leaf.value == scalar(domain, domain.high)


def is_any_read_wider(domain: Domain, values: list[SparkValue]) -> bool:
    """Tell whether a list finds numbers in a file that the domain does not hold.

    Of a list Spark's optimizer leaves out what the type does not hold that it reads: of decimals the column's own.
    """
    beyond = (number < domain.low or number > domain.high for number in multiples(domain, values))
    return is_read_wider(domain.type) and not pa.types.is_decimal(domain.type) and any(beyond)


def multiples(domain: Domain, values: list[SparkValue]) -> dict[int, None]:
    """Return those of the numbers that need no more digits behind the point, unscaled, in order of appearance."""
    divided = (divmod(value.number * 10**domain.scale, 10**value.scale) for value in values)
    return dict.fromkeys(number for number, remainder in divided if not remainder)


def never(column: Path, domain: Domain) -> Compare:
    """Return a comparison that is FALSE for every value of the domain and NULL for null.

    What a file holds beyond its type, a decimal with more digits or a byte without a sign above 255, Spark reads:
    there nothing may follow from bounds within the type.
    """
    if is_read_wider(domain.type):
        return Compare(column, Op.GT, scalar(domain, domain.high))
    return Compare(column, Op.LT, scalar(domain, domain.low))


def always(column: Path, domain: Domain) -> Compare:
    """Return a comparison that is TRUE for every value of the domain and NULL for null."""
    if is_read_wider(domain.type):
        return Compare(column, Op.LE, scalar(domain, domain.high))
    return Compare(column, Op.GE, scalar(domain, domain.low))


def is_read_wider(kind: pa.DataType) -> bool:
    """Tell whether Spark reads values that a type cannot hold as they stand in the file."""
    return bool(pa.types.is_decimal(kind) or pa.types.is_uint8(kind) or pa.types.is_uint16(kind))


def scalar(domain: Domain, unscaled: int) -> pa.Scalar:
    """Return a value of the domain as a scalar of its type."""
    return scalar_of(plain(domain, unscaled), domain.type)


def plain(domain: Domain, unscaled: int) -> Any:
    """Return a value of the domain as Python's int or Decimal."""
    if not pa.types.is_decimal(domain.type):
        return unscaled
    return Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -domain.scale))
