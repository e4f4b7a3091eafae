"""Where the bloom filter of a column chunk and the chunk's bounds cannot both be as the file says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import flags_from, from_numpy, ordered_numbers
from parquet_core.bloom import can_hash, may_hold, probe_hashes
from parquet_core.format.schema import Physical
from parquet_core.trust.bound_values import flags_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.bloom import Blocks
    from parquet_core.format.schema import LeafColumn
    from parquet_core.trust.bounds import Bounds

    Flags = NDArray[np.bool_]

# Filters that are asked at once, each for the bounds of all of them.
_BLOCK = 16


def contradict_filters(column: LeafColumn, chunks: Bounds, filters: Sequence[Blocks | str]) -> Flags:
    """Tell which chunks have a filter that denies their least or largest value.

    A text as a bound is one only where the file says so. `filters`: one for each chunk, or why there is none.
    `column`: as all files store it.
    """
    wrong = np.zeros(len(chunks), np.bool_)
    if not _tells_values(column, chunks):
        return wrong
    as_a_rule = not pa.types.is_binary(chunks.lower.type)
    present = np.array([not isinstance(found, str) for found in filters], np.bool_)
    for values, exact in ((chunks.lower, chunks.min_exact), (chunks.upper, chunks.max_exact)):
        asked = np.flatnonzero(present & flags_of(values) & flags_from(exact.fill_null(as_a_rule)))
        for part in (asked[i : i + _BLOCK] for i in range(0, len(asked), _BLOCK)):
            blocks = [found for i in part.tolist() if not isinstance(found := filters[i], str)]
            held = may_hold(blocks, probe_hashes(column, values.take(from_numpy(part))))
            wrong[part] |= ~held.diagonal()
    return wrong


def _tells_values(column: LeafColumn, chunks: Bounds) -> bool:
    kind = chunks.lower.type
    if column.physical is Physical.BYTE_ARRAY:
        return pa.types.is_binary(kind) and can_hash(column)
    return kind == column.type and not pa.types.is_boolean(kind) and _is_number(chunks.lower) and can_hash(column)


def _is_number(values: pa.Array) -> bool:
    return ordered_numbers(values) is not None
