"""Bounds of one column over a batch of containers, as Arrow arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.schema import LeafColumn, Physical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# 1582-10-15 in days since 1970-01-01: the first day that Julian and Gregorian readers agree on.
GREGORIAN_START = -141427
# 1900-01-01 in seconds since 1970-01-01: from here on they agree on instants too, in every time zone.
COMMON_TIME_START = -2208988800
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of the values in each container; null is unknown, never 0 or empty.

    `lower` and `upper` enclose every value that is neither null nor NaN; they need not occur, unless
    `min_exact` or `max_exact` (bool) says so. `null_count` and `nan_count` are int64. `row_count` is known
    for every container. Strings are held as binary: a cut bound need not be UTF-8. Half floats are held as
    float. Of a repeated column the null count is never known: it would count levels, not rows.
    """

    lower: pa.Array
    upper: pa.Array
    null_count: pa.Array
    row_count: NDArray[np.int64]
    nan_count: pa.Array = None
    min_exact: pa.Array = None
    max_exact: pa.Array = None

    def __post_init__(self) -> None:
        for name, kind in (("nan_count", pa.int64()), ("min_exact", pa.bool_()), ("max_exact", pa.bool_())):
            if getattr(self, name) is None:
                object.__setattr__(self, name, pa.nulls(len(self.row_count), kind))

    def __len__(self) -> int:
        return len(self.row_count)

    def take(self, indices: NDArray[np.int64]) -> Bounds:
        """Return the bounds of the containers at these indices."""
        return Bounds(
            lower=self.lower.take(indices),
            upper=self.upper.take(indices),
            null_count=self.null_count.take(indices),
            row_count=self.row_count[indices],
            nan_count=self.nan_count.take(indices),
            min_exact=self.min_exact.take(indices),
            max_exact=self.max_exact.take(indices),
        )


@dataclass(frozen=True, slots=True)
class EncodedBounds:
    """What a writer says of successive containers, PLAIN-encoded; None is unknown."""

    min_values: Sequence[bytes | None]
    max_values: Sequence[bytes | None]
    null_counts: Sequence[int | None]
    row_counts: Sequence[int]


def unknown_containers(row_counts: Sequence[int]) -> EncodedBounds:
    """Stand for containers of which nothing but their rows is known."""
    nothing = [None] * len(row_counts)
    return EncodedBounds(nothing, nothing, nothing, row_counts)


def decode_bounds(column: LeafColumn, parts: Sequence[EncodedBounds]) -> Bounds:
    """Decode successive parts into one batch; the values are those of the column's type."""
    return make_bounds(
        column,
        [value for part in parts for value in part.min_values],
        [value for part in parts for value in part.max_values],
        [count for part in parts for count in part.null_counts],
        [count for part in parts for count in part.row_counts],
    )


def bounds_type(column: LeafColumn) -> pa.DataType:
    """Return the Arrow type that bounds and literals of a column are compared in."""
    kind = column.type
    if kind is None or pa.types.is_string(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    # Arrow compares no half floats; a float holds every one of them.
    return pa.float32() if pa.types.is_float16(kind) else kind


def make_bounds(
    column: LeafColumn,
    lower: Sequence[bytes | None],
    upper: Sequence[bytes | None],
    null_counts: Sequence[int | None],
    row_counts: Sequence[int],
) -> Bounds:
    """Decode PLAIN-encoded bounds and drop what contradicts itself.

    Unknown become: both bounds when one is of a wrong width or the lower is above the upper, a null count
    outside of 0 to the row count, and all three when bounds stand beside a count that leaves no value.
    """
    rows = np.asarray(row_counts, dtype=np.int64)
    low, high = decode_plain(column, lower), decode_plain(column, upper)
    counts = _credible_counts(null_counts, rows)
    only_nulls = pc.and_(_certain(pc.equal(counts, pa.array(rows))), pa.array(rows > 0))
    lying = pc.and_(only_nulls, pc.or_(pc.is_valid(low), pc.is_valid(high)))
    garbled = pc.or_(_is_garbled(lower, low), _is_garbled(upper, high))
    unusable = pc.or_(pc.or_(lying, garbled), _certain(pc.greater(low, high)))
    return Bounds(
        lower=_without(low, unusable),
        upper=_without(high, unusable),
        null_count=_without(counts, lying),
        row_count=rows,
    )


def _is_garbled(written: Sequence[bytes | None], decoded: pa.Array) -> pa.Array:
    given = pa.array(np.fromiter((value is not None for value in written), np.bool_, len(written)))
    return pc.and_(given, pc.is_null(decoded))


def _certain(answer: pa.Array) -> pa.Array:
    return pc.fill_null(answer, fill_value=False)


def _without(values: pa.Array, flags: pa.Array) -> pa.Array:
    return pc.if_else(flags, pa.scalar(None, values.type), values)


def without_dates_before_gregorian(bounds: Bounds) -> Bounds:
    """Forget bounds before 1582-10-15, of timestamps before 1900: a session may read them in another calendar.

    A later bound stands: what Spark rebases stays before that day.
    """
    start = common_calendar_start(bounds.lower.type)
    return replace(
        bounds,
        lower=_without(bounds.lower, _certain(pc.less(bounds.lower, start))),
        upper=_without(bounds.upper, _certain(pc.less(bounds.upper, start))),
    )


def common_calendar_start(kind: pa.DataType) -> pa.Scalar:
    """Return the first date or timestamp that Spark reads alike in both of its calendars."""
    if pa.types.is_date32(kind):
        return pa.scalar(GREGORIAN_START, pa.int32()).cast(kind)
    return pa.scalar(COMMON_TIME_START * _PER_SECOND[kind.unit], pa.int64()).cast(kind)


def _credible_counts(counts: Sequence[int | None], rows: NDArray[np.int64]) -> pa.Array:
    array = pa.array(counts, pa.int64())
    credible = pc.and_(pc.greater_equal(array, 0), pc.less_equal(array, pa.array(rows)))
    return _without(array, pc.invert(_certain(credible)))


def decode_plain(column: LeafColumn, values: Sequence[bytes | None]) -> pa.Array:
    """Decode PLAIN-encoded single values; None and what the type cannot hold become null."""
    match column.physical:
        case Physical.INT32:
            return _from_integers(column, *_fixed(values, 4), np.dtype("<i4"))
        case Physical.INT64:
            return _from_integers(column, *_fixed(values, 8), np.dtype("<i8"))
        case Physical.FIXED_LEN_BYTE_ARRAY if pa.types.is_decimal128(bounds_type(column)):
            return _from_big_endian(column, *_fixed(values, column.type_length))
        case Physical.BYTE_ARRAY:
            return pa.array(values, pa.binary())
        case _:
            return pa.nulls(len(values), bounds_type(column))


def _fixed(values: Sequence[bytes | None], width: int) -> tuple[bytes, NDArray[np.bool_]]:
    """Join values of one width; returns the bytes and where a value really stands."""
    zero = bytes(width)
    valid = np.fromiter((value is not None and len(value) == width for value in values), np.bool_, len(values))
    data = b"".join(value if ok and value is not None else zero for value, ok in zip(values, valid, strict=True))
    return data, valid


def _from_integers(column: LeafColumn, data: bytes, valid: NDArray[np.bool_], stored: np.dtype) -> pa.Array:
    numbers = np.frombuffer(data, stored)
    target = bounds_type(column)
    if pa.types.is_decimal128(target):
        return _decimals(numbers.astype(np.int64), np.where(numbers < 0, -1, 0), valid, target)
    if pa.types.is_unsigned_integer(target):
        numbers = numbers.view(stored.str.replace("i", "u"))
    if pa.types.is_integer(target):
        narrow = numbers.astype(target.to_pandas_dtype())
        # A stored number that the declared width cannot hold is a lie.
        return pa.array(narrow, target, mask=~(valid & (narrow == numbers)))
    if pa.types.is_date32(target):
        return pa.array(numbers, pa.int32(), mask=~valid).view(target)
    return pa.nulls(len(valid), target)


def _from_big_endian(column: LeafColumn, data: bytes, valid: NDArray[np.bool_]) -> pa.Array:
    width = column.type_length
    raw = np.frombuffer(data, np.uint8).reshape(len(valid), width)
    wide = np.where(raw[:, :1] >= 128, np.uint8(0xFF), np.uint8(0)).repeat(16, axis=1)
    wide[:, 16 - width :] = raw
    words = np.ascontiguousarray(wide[:, ::-1]).view("<i8")
    return _decimals(words[:, 0], words[:, 1], valid, bounds_type(column))


def _decimals(
    low: NDArray[np.int64], high: NDArray[np.int64], valid: NDArray[np.bool_], target: pa.DataType
) -> pa.Array:
    words = np.ascontiguousarray(np.column_stack([low, high]).astype("<i8"))
    validity = pa.array(valid).buffers()[1]
    stored = pa.Array.from_buffers(target, len(valid), [validity, pa.py_buffer(words.tobytes())])
    # Predicates count on the declared precision; a value beyond it, which Spark may read, must not look bounded.
    largest = Decimal((0, (9,) * target.precision, -target.scale))
    beyond = pc.or_(
        pc.greater(stored, pa.scalar(largest, target)), pc.less(stored, pa.scalar(largest.copy_negate(), target))
    )
    return _without(stored, _certain(beyond))
