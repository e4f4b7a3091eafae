"""Stored types that Spark reads as another type of the table without a loss.

Of the other types, Spark refuses some and truncates the values of the rest. Source: observed with both readers of Spark
4.3; a type that the two read differently is excluded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import array_of, from_numpy, numbers_from
from parquet_core.format.comparable_values import bounds_type, timestamp_step
from parquet_core.format.schema import Physical, SortOrder

if TYPE_CHECKING:
    from decimal import Decimal

    from parquet_core.format.schema import LeafColumn

_WIDER: dict[pa.DataType, frozenset[pa.DataType]] = {
    pa.int8(): frozenset({pa.int16(), pa.int32(), pa.int64(), pa.float64()}),
    pa.int16(): frozenset({pa.int32(), pa.int64(), pa.float64()}),
    pa.int32(): frozenset({pa.int64(), pa.float64()}),
    pa.uint8(): frozenset({pa.int16(), pa.int32(), pa.int64(), pa.uint16(), pa.uint32(), pa.float64()}),
    pa.uint16(): frozenset({pa.int32(), pa.int64(), pa.uint32(), pa.float64()}),
    pa.uint32(): frozenset({pa.int64()}),
    pa.float32(): frozenset({pa.float64()}),
    pa.string(): frozenset({pa.binary()}),
    pa.binary(): frozenset({pa.string()}),
}
# Spark reads integers as a decimal if the decimal has at least this many digits before the point: first for integers of
# up to 32 bits, then for 64 bits.
_DIGITS, _DIGITS_OF_INT64 = 10, 20
_INT32 = np.iinfo(np.int32)


def is_read_as(leaf: LeafColumn, column: LeafColumn) -> bool:
    """Return True if Spark reads a leaf as the table's column without a loss.

    Each value of the leaf is then the same value in the type of the column.
    """
    if leaf.type is None or column.type is None or leaf.unsupported or column.unsupported:
        return False
    if leaf.max_repetition_level or column.max_repetition_level:
        return False
    if _are_instants(leaf, column):
        # INT96 has no order, but Spark reads both INT96 and the type that replaces it as instants.
        return True
    if SortOrder.UNDEFINED in {leaf.order, column.order}:
        return False
    return is_wider(column.type, leaf.type)


def is_wider(wanted: pa.DataType, stored: pa.DataType) -> bool:
    """Return True if Spark reads type `stored` as type `wanted` without a loss."""
    if pa.types.is_decimal128(wanted):
        return _as_decimal(stored, wanted)
    return wanted in _WIDER.get(stored, ())


def _are_instants(*leaves: LeafColumn) -> bool:
    kinds = [leaf.type for leaf in leaves if leaf.physical in {Physical.INT96, Physical.INT64}]
    instants = [
        arrow_type
        for arrow_type in kinds
        if arrow_type is not None and pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None
    ]
    return len(instants) == len(leaves) and all(
        leaf.physical is Physical.INT96 or arrow_type.unit != "ns"
        for leaf, arrow_type in zip(leaves, instants, strict=True)
    )


def _as_decimal(stored: pa.DataType, wanted: pa.DataType) -> bool:
    before_point = wanted.precision - wanted.scale
    if pa.types.is_decimal128(stored):
        return bool(wanted.scale >= stored.scale and before_point >= stored.precision - stored.scale)
    digits = _DIGITS_OF_INT64 if stored == pa.int64() else _DIGITS
    return bool(pa.types.is_signed_integer(stored) and before_point >= digits)


def stored_form(leaf: LeafColumn) -> object:
    """Return a key for the representation in which a leaf stores its values."""
    return leaf.physical, leaf.type, leaf.byte_width


def as_read(values: pa.Array, column: LeafColumn) -> pa.Array:
    """Convert values of a leaf's `bounds_type` to `bounds_type(column)`, as Spark reads them."""
    target = bounds_type(column)
    return values if values.type == target else values.cast(target)


def as_stored(values: pa.Array, leaf: LeafColumn) -> pa.Array | None:
    """Convert values of a table's column to the type of a file's leaf.

    Values that the leaf cannot hold are left out. None if a value is outside the declared type of the leaf but fits its
    physical type, because a file may contain such a value.
    """
    stored = leaf.type
    if stored is None or values.type == stored:
        return values
    if pa.types.is_timestamp(stored):
        return _as_timestamps(values, leaf)
    if pa.types.is_decimal128(stored):
        return _as_decimals(values, stored)
    if pa.types.is_float32(stored):
        return _as_floats(values)
    narrower = pa.types.is_integer(stored) and stored != pa.uint64()
    return _as_integers(values, leaf) if narrower else values


def _as_timestamps(values: pa.Array, leaf: LeafColumn) -> pa.Array:
    counts, step = numbers_from(values), timestamp_step(leaf)
    return from_numpy(counts[counts % step == 0] // step, leaf.type)


def _as_decimals(values: pa.Array, stored: pa.DataType) -> pa.Array | None:
    unscaled = [_unscaled(value, stored.scale) for value in values.to_pylist()]
    if any(integer is not None and abs(integer) >= 10**stored.precision for integer in unscaled):
        return None
    exact = [value for value, integer in zip(values.to_pylist(), unscaled, strict=True) if integer is not None]
    return array_of(exact, stored)


def _unscaled(value: Decimal, scale: int) -> int | None:
    """Return a value's unscaled integer; None if the scale would lose digits."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    integer = int("".join(map(str, digits))) * (-1 if sign else 1)
    shift = exponent + scale
    whole, rest = divmod(integer * int(10 ** max(shift, 0)), int(10 ** max(-shift, 0)))
    return None if rest else whole


def _as_floats(values: pa.Array) -> pa.Array:
    doubles = numbers_from(values)
    with np.errstate(over="ignore", under="ignore"):
        narrow = doubles.astype(np.float32)
    return from_numpy(narrow[(narrow == doubles) | np.isnan(doubles)])


def _as_integers(values: pa.Array, leaf: LeafColumn) -> pa.Array:
    """Return the integers among values, in the physical type regardless of the declared width."""
    integers = [_whole(value) for value in values.to_pylist()]
    if leaf.physical is Physical.INT64:
        return from_numpy(np.array([n for n in integers if n is not None and -(1 << 63) <= n < 1 << 63], np.int64))
    unsigned = leaf.type == pa.uint32()
    low, high = (0, (1 << 32) - 1) if unsigned else (_INT32.min, _INT32.max)
    fitting = [integer for integer in integers if integer is not None and low <= integer <= high]
    return from_numpy(np.array(fitting, np.uint32 if unsigned else np.int32))


def _whole(value: Any) -> int | None:
    """Return a whole number as int; None for fractions, NaN and infinity."""
    return int(value) if value - value == 0 and value == int(value) else None
