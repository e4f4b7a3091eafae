"""Functions of a float that Java computes with its own arithmetic, as functions of ordinals."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from prune_assets.sql.functions.function import Function, Piece
from prune_assets.sql.types.spark_types import float_of_ordinal, ordinal_of_float

if TYPE_CHECKING:
    from collections.abc import Callable

    from prune_assets.sql.types.spark_types import SparkType


def of_float(name: str, argument: SparkType, compute: Callable[[float], float], *, rises: bool = True) -> Function:
    """Return a function that is monotone from -Infinity to Infinity and makes NaN of NaN.

    `compute` works in double precision; of a single one sums, products and quotients come out the same when they are
    rounded a second time.
    """
    bits, nan = argument.bits, argument.nan

    def value(ordinal: int) -> int:
        if ordinal == nan:
            return nan
        return ordinal_of_float(rounded(compute(float_of_ordinal(ordinal, bits)), bits), bits)

    return Function(name, argument, value, (Piece(argument.least, argument.infinity, rises=rises), Piece(nan, nan)))


def rounded(value: float, bits: int) -> float:
    """Return the nearest float of so many bits."""
    if bits == 64 or not math.isfinite(value):
        return value
    try:
        single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return single
