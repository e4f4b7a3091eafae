"""Value ranges of integer and decimal types, and comparisons with the same result for every value of a range."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from parquet_core.pruning.predicate import Compare, Op

if TYPE_CHECKING:
    from parquet_core.format.schema import Path


@dataclass(frozen=True, slots=True)
class Domain:
    """The values of an exact type: `n * 10**-scale` for each integer n from `low` to `high`, both included."""

    type: pa.DataType
    low: int
    high: int
    scale: int = 0


def domain_of(arrow_type: pa.DataType) -> Domain | None:
    """Return the domain of an integer or decimal type; None for other types."""
    if pa.types.is_decimal128(arrow_type):
        high = 10**arrow_type.precision - 1
        return Domain(arrow_type, -high, high, arrow_type.scale)
    if pa.types.is_signed_integer(arrow_type):
        half = 1 << arrow_type.bit_width - 1
        return Domain(arrow_type, -half, half - 1)
    if pa.types.is_unsigned_integer(arrow_type):
        return Domain(arrow_type, 0, (1 << arrow_type.bit_width) - 1)
    return None


def is_at_end(leaf: Compare) -> bool:
    """Return whether a comparison is `>` or `<=` the greatest value of a type that Spark reads wider.

    `never` and `always` return such comparisons.
    """
    domain = domain_of(leaf.value.type) if is_read_wider(leaf.value.type) else None
    return domain is not None and leaf.op in {Op.GT, Op.LE} and leaf.value == scalar(domain, domain.high)


def never(column: Path, domain: Domain) -> Compare:
    """Return a comparison that is FALSE for all values of a type, and NULL for null.

    Spark also reads stored values beyond the type, such as a decimal with more digits or an unsigned byte above 255.
    For such types the comparison is `> greatest value`, so that stored bounds beyond the type do not prune.
    """
    if is_read_wider(domain.type):
        return Compare(column, Op.GT, scalar(domain, domain.high))
    return Compare(column, Op.LT, scalar(domain, domain.low))


def always(column: Path, domain: Domain) -> Compare:
    """Return a comparison that is TRUE for all values of a type, and NULL for null."""
    if is_read_wider(domain.type):
        return Compare(column, Op.LE, scalar(domain, domain.high))
    return Compare(column, Op.GE, scalar(domain, domain.low))


def is_read_wider(arrow_type: pa.DataType) -> bool:
    """Return whether Spark reads stored values of a type even if they are beyond the type."""
    return bool(pa.types.is_decimal(arrow_type) or pa.types.is_uint8(arrow_type) or pa.types.is_uint16(arrow_type))


def scalar(domain: Domain, unscaled: int) -> pa.Scalar:
    """Return an unscaled value of the domain as a scalar of its type."""
    return scalar_of(plain(domain, unscaled), domain.type)


def plain(domain: Domain, unscaled: int) -> Any:
    """Return an unscaled value of the domain as a Python int or Decimal."""
    if not pa.types.is_decimal(domain.type):
        return unscaled
    return Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -domain.scale))
