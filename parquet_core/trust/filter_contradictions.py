"""Contradictions between the bloom filter of a column chunk and the chunk's bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import flags_from, from_numpy, ordered_numbers, valid_flags
from parquet_core.bloom import can_hash, each_may_contain, hash_values
from parquet_core.format.schema import Physical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.bloom import Blocks
    from parquet_core.format.schema import LeafColumn
    from parquet_core.trust.bounds import Bounds

    Flags = NDArray[np.bool_]


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
        asked = np.flatnonzero(
            present & valid_flags(values) & ~_is_zero(values) & flags_from(exact.fill_null(as_a_rule))
        )
        if len(asked):
            hashes = hash_values(column, values.take(from_numpy(asked)))
            wrong[asked] |= ~each_may_contain([cast("Blocks", filters[i]) for i in asked.tolist()], hashes)
    return wrong


def _is_zero(values: pa.Array) -> Flags:
    """Tell which bounds are a zero, which stands for the other one too."""
    numbers = ordered_numbers(values) if pa.types.is_floating(values.type) else None
    return np.zeros(len(values), np.bool_) if numbers is None else numbers == 0


def _tells_values(column: LeafColumn, chunks: Bounds) -> bool:
    kind = chunks.lower.type
    if column.physical is Physical.BYTE_ARRAY:
        return pa.types.is_binary(kind) and can_hash(column)
    return kind == column.type and not pa.types.is_boolean(kind) and _is_number(chunks.lower) and can_hash(column)


def _is_number(values: pa.Array) -> bool:
    return ordered_numbers(values) is not None
