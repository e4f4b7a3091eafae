"""Bounds of one column over a batch of containers, as Arrow arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from
from parquet_core.columnar import Columnar
from parquet_core.format.comparable_values import bounds_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.arrays import Flags
    from parquet_core.format.schema import LeafColumn


@dataclass(frozen=True, slots=True)
class Bounds(Columnar):
    """Bounds and counts of the values in each container; null means unknown.

    `lower`, `upper`: enclose every value that is neither null nor NaN. They need not occur in the data, unless
    `min_exact` or `max_exact` (bool) is true. Strings are stored as binary, because a truncated bound need not be
    UTF-8; half floats are stored as float.
    `null_count`, `nan_count`: int64. The null count of a repeated column is always unknown, because files count levels,
    not rows.
    `row_count`: known for every container.
    """

    lower: pa.Array
    upper: pa.Array
    null_count: pa.Array
    row_count: NDArray[np.int64]
    nan_count: pa.Array
    min_exact: pa.Array
    max_exact: pa.Array

    @classmethod
    def of(
        cls,
        lower: pa.Array,
        upper: pa.Array,
        null_count: pa.Array,
        row_count: NDArray[np.int64],
        nan_count: pa.Array | None = None,
    ) -> Bounds:
        """Return bounds that may be inexact; without `nan_count`, the NaN counts are unknown."""
        nan_count = pa.nulls(len(row_count), pa.int64()) if nan_count is None else nan_count
        exact = pa.nulls(len(row_count), pa.bool_())
        return cls(lower, upper, null_count, row_count, nan_count, exact, exact)


class Presence(NamedTuple):
    """Flags of containers that may hold nulls, NaN and other values.

    `value`: values of any type that are neither null nor NaN.
    """

    null: Flags
    nan: Flags
    value: Flags


def presence_of(bounds: Bounds) -> Presence:
    """Derive from the counts what each container may hold."""
    rows = bounds.row_count > 0
    has_value = rows & ~_equals(bounds.null_count, bounds.row_count)
    null = rows & ~_equals(bounds.null_count, 0)
    if not pa.types.is_floating(bounds.lower.type):
        return Presence(null, np.zeros(len(bounds), np.bool_), has_value)
    without_number = pc.add(bounds.nan_count, bounds.null_count)
    return Presence(
        null, has_value & ~_equals(bounds.nan_count, 0), has_value & ~_equals(without_number, bounds.row_count)
    )


def _equals(counts: pa.Array, expected: NDArray[np.int64] | int) -> Flags:
    """Flag counts that are known and equal to `expected`."""
    same: Flags = np.equal(numbers_from(counts), expected)
    return same if counts.null_count == 0 else same & flags_from(counts.is_valid())


def unknown_bounds(column: LeafColumn, row_count: NDArray[np.int64]) -> Bounds:
    """Return bounds with only the row counts known."""
    nothing = pa.nulls(len(row_count), bounds_type(column))
    return Bounds.of(nothing, nothing, pa.nulls(len(row_count), pa.int64()), row_count)


def spread_bounds(bounds: Bounds, at: NDArray[np.int64], row_count: NDArray[np.int64]) -> Bounds:
    """Place bounds at the containers `at`; in all other containers, only the row counts are known."""
    if len(at) == len(row_count):
        return bounds
    source = np.full(len(row_count), -1, np.int64)
    source[at] = np.arange(len(at))
    indices = from_numpy(source, valid=source >= 0)
    arrays = {f.name: getattr(bounds, f.name) for f in fields(Bounds)}
    return Bounds(**{name: row_count if name == "row_count" else array.take(indices) for name, array in arrays.items()})


def without(bounds: Bounds, doubted: NDArray[np.bool_]) -> Bounds:
    """Reset flagged containers to unknown bounds; their row counts remain."""
    if not doubted.any():
        return bounds
    rest = np.flatnonzero(~doubted)
    return spread_bounds(bounds.take(rest), rest, bounds.row_count)


def first_known(bounds: Bounds, others: Bounds) -> Bounds:
    """Replace bounds by `others` in containers whose values are unknown."""
    is_null = flags_from(pc.equal(bounds.null_count, from_numpy(bounds.row_count)))
    unknown = ~(flags_from(bounds.lower.is_valid()) | flags_from(bounds.upper.is_valid()) | is_null)
    if not unknown.any():
        return bounds
    return Bounds.concat([bounds, others]).take(np.arange(len(bounds)) + unknown * len(bounds))


def with_nulls(bounds: Bounds, absent: NDArray[np.bool_]) -> Bounds:
    """Mark the flagged containers, whose bounds are unknown, as containing only nulls."""
    if not absent.any():
        return bounds
    flags = from_numpy(absent)
    return replace(
        bounds,
        null_count=pc.if_else(flags, from_numpy(bounds.row_count), bounds.null_count),
        nan_count=pc.if_else(flags, from_numpy(np.zeros(len(bounds), np.int64)), bounds.nan_count),
    )


class BoundsBuilder:
    """Assembles the bounds of containers whose row counts are known."""

    def __init__(self, column: LeafColumn, row_count: NDArray[np.int64]) -> None:
        kinds = dict.fromkeys(("lower", "upper"), bounds_type(column))
        kinds |= dict.fromkeys(("null_count", "nan_count"), pa.int64())
        kinds |= dict.fromkeys(("min_exact", "max_exact"), pa.bool_())
        self._row_count = row_count
        self._parts = {name: _part(kind, len(row_count)) for name, kind in kinds.items()}

    def put(self, first: int, bounds: Bounds) -> None:
        """Set the bounds of the containers from `first` on. Calls must be in the order of containers."""
        for name, part in self._parts.items():
            part.put(first, getattr(bounds, name))

    def bounds(self) -> Bounds:
        """Return the assembled bounds."""
        return Bounds(row_count=self._row_count, **{name: part.array() for name, part in self._parts.items()})


class _Numbers:
    def __init__(self, kind: pa.DataType, size: int) -> None:
        self._kind = kind
        code = "f" if pa.types.is_floating(kind) else "u" if pa.types.is_unsigned_integer(kind) else "i"
        form = "?" if pa.types.is_boolean(kind) else f"{code}{kind.bit_width // 8}"
        # Zeros that are never written take no memory.
        self._values: NDArray[Any] = np.zeros(size, form)
        self._valid: NDArray[np.bool_] | None = None

    def put(self, first: int, array: pa.Array) -> None:
        block = slice(first, first + len(array))
        values = flags_from(array) if pa.types.is_boolean(self._kind) else numbers_from(array)
        if values.view(np.uint8).any():
            self._values[block] = values
        if array.null_count:
            if self._valid is None:
                self._valid = np.ones(len(self._values), np.bool_)
            self._valid[block] = flags_from(array.is_valid())

    def array(self) -> pa.Array:
        return from_numpy(self._values, self._kind, valid=self._valid)


class _Others:
    def __init__(self) -> None:
        self._blocks: list[pa.Array] = []

    def put(self, first: int, array: pa.Array) -> None:
        assert first == sum(map(len, self._blocks))
        self._blocks.append(array)

    def array(self) -> pa.Array:
        return pa.concat_arrays(self._blocks)


def _part(kind: pa.DataType, size: int) -> _Numbers | _Others:
    simple = pa.types.is_boolean(kind) or (pa.types.is_primitive(kind) and kind.bit_width <= 64)
    return _Numbers(kind, size) if simple else _Others()
