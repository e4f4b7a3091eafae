"""Where rows and row groups come in an order, as Spark sorts: NaN above all numbers, texts by their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from
from parquet_core.evidence.min_max import presence_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.layout.sort_key import SortKey
    from parquet_core.trust.bounds import Bounds

# Levels of a rank: what nothing is known of, nulls, NaN and values beside them, what holds no row.
_UNKNOWN, _NULL, _NAN, _VALUE, _EMPTY = 3, 2, 1, 0, 4


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where rows, or the first rows of row groups, come by one key: by level, and at level 0 by value."""

    key: SortKey
    level: NDArray[np.int8]
    value: pa.Array

    def compare(self, i: int, other: Ranks, j: int) -> int:
        """Return a number below, at or above 0 as the i-th comes before, with or after the j-th of others."""
        levels = int(self.level[i]) - int(other.level[j])
        if levels or self.level[i]:
            return levels
        mine, theirs = self.value[i], other.value[j]
        step = int(pc.greater(mine, theirs).as_py()) - int(pc.less(mine, theirs).as_py())
        return -step if self.key.descending else step


def ranks_of_values(values: pa.Array, key: SortKey) -> Ranks:
    """Return the ranks of values of the key's column, in the type of its bounds."""
    values = _comparable(values)
    level = np.where(flags_from(values.is_valid()), _VALUE, _null_level(key)).astype(np.int8)
    if pa.types.is_floating(values.type):
        level[flags_from(pc.is_nan(values))] = _nan_level(key)
    return Ranks(key, level, values)


def ranks_of_bounds(bounds: Bounds, key: SortKey) -> Ranks:
    """Return for containers ranks that none of their rows comes before; what may hold any value comes first."""
    null, nan, number = presence_of(bounds)
    value = _comparable(bounds.upper if key.descending else bounds.lower)
    level = np.full(len(bounds), _EMPTY, np.int8)
    unknown = number & ~flags_from(value.is_valid())
    for may_be, its_level in ((number, _VALUE), (nan, _nan_level(key)), (null, _null_level(key)), (unknown, -_UNKNOWN)):
        level[may_be] = np.minimum(level[may_be], its_level)
    return Ranks(key, level, value)


def sorted_positions(ranks: Sequence[Ranks]) -> NDArray[np.int64]:
    """Return the positions of rows in the order of their ranks by each key; equal ones stay in their order."""
    columns: dict[str, Any] = {}
    order = []
    for i, rank in enumerate(ranks):
        columns |= {f"level {i}": from_numpy(rank.level), f"value {i}": rank.value}
        order += [(f"level {i}", "ascending"), (f"value {i}", "descending" if rank.key.descending else "ascending")]
    found: NDArray[np.int64] = numbers_from(pc.sort_indices(pa.table(columns), sort_keys=order)).astype(np.int64)
    return found


def _nan_level(key: SortKey) -> int:
    return -_NAN if key.descending else _NAN


def _null_level(key: SortKey) -> int:
    return _NULL if key.nulls_last else -_NULL


def _comparable(values: pa.Array) -> pa.Array:
    return values.cast(pa.uint8()) if pa.types.is_boolean(values.type) else values
