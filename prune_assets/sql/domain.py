"""The values that a column of an exact ordered type can hold, and comparisons brought into them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from parquet_core.predicate import Compare, Op

if TYPE_CHECKING:
    from parquet_core.predicate import Path
    from prune_assets.sql.values import SparkValue

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


def snap(column: Path, domain: Domain, op: Op, value: SparkValue) -> Compare:
    """Return the comparison with a number as one with a value of the domain.

    What holds for no value becomes `column < least`, what holds for all `column >= least`: both are
    NULL for null.
    """
    bound, remainder = divmod(value.number * 10**domain.scale, 10**value.scale)
    if op in {Op.EQ, Op.NE}:
        held, always = remainder == 0, op is Op.NE
    else:
        # x < 2.5 is x < 3, x >= 2.5 is x >= 3; x <= 2.5 is x <= 2, x > 2.5 is x > 2.
        bound += bool(remainder) and op in {Op.LT, Op.GE}
        held, always = True, (bound > domain.high) == (op in {Op.LT, Op.LE})
    if held and domain.low <= bound <= domain.high:
        return Compare(column, op, scalar(domain, bound))
    return Compare(column, Op.GE if always else Op.LT, scalar(domain, domain.low))


def members(domain: Domain, values: list[SparkValue]) -> list[int]:
    """Return those of the numbers that the domain holds, unscaled, each once, in order of appearance."""
    kept: dict[int, None] = {}
    for value in values:
        number, remainder = divmod(value.number * 10**domain.scale, 10**value.scale)
        if not remainder and domain.low <= number <= domain.high:
            kept[number] = None
    return list(kept)


def never(column: Path, domain: Domain) -> Compare:
    """Return a comparison that is FALSE for every value and NULL for null."""
    return Compare(column, Op.LT, scalar(domain, domain.low))


def scalar(domain: Domain, unscaled: int) -> pa.Scalar:
    """Return a value of the domain as a scalar of its type."""
    return scalar_of(plain(domain, unscaled), domain.type)


def plain(domain: Domain, unscaled: int) -> Any:
    """Return a value of the domain as Python's int or Decimal."""
    if not pa.types.is_decimal(domain.type):
        return unscaled
    return Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -domain.scale))
