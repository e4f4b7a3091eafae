"""A builder of bounds, block by block: the blocks never stand beside the whole in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from
from parquet_core.format.comparable_values import bounds_type
from parquet_core.trust.bounds import Bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn


class BoundsBuilder:
    """The bounds of containers of which `row_count` is known from the start."""

    def __init__(self, column: LeafColumn, row_count: NDArray[np.int64]) -> None:
        kinds = dict.fromkeys(("lower", "upper"), bounds_type(column))
        kinds |= dict.fromkeys(("null_count", "nan_count"), pa.int64())
        kinds |= dict.fromkeys(("min_exact", "max_exact"), pa.bool_())
        self._row_count = row_count
        self._parts = {name: _part(kind, len(row_count)) for name, kind in kinds.items()}

    def put(self, first: int, bounds: Bounds) -> None:
        """Put the bounds of successive containers, in order."""
        for name, part in self._parts.items():
            part.put(first, getattr(bounds, name))

    def bounds(self) -> Bounds:
        """Return the whole."""
        return Bounds(row_count=self._row_count, **{name: part.array() for name, part in self._parts.items()})


class _Numbers:
    def __init__(self, kind: pa.DataType, size: int) -> None:
        self._kind = kind
        code = "f" if pa.types.is_floating(kind) else "u" if pa.types.is_unsigned_integer(kind) else "i"
        form = "?" if pa.types.is_boolean(kind) else f"{code}{kind.bit_width // 8}"
        # Zeros that nobody wrote take no memory.
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
