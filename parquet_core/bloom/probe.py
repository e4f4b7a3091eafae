"""Probes of bloom filters: whether a filter may contain values. "No" is certain, "yes" is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import from_numpy, numbers_from
from parquet_core.bloom.blocks import BLOCK_BYTES, Blocks, block_numbers, masks
from parquet_core.bloom.hashing import hash_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.bloom.blocks import Hashes
    from parquet_core.format.schema import LeafColumn

_WORK_BYTES = 1 << 18  # blocks gathered at a time, which stay in the cache
_HALVES = BLOCK_BYTES // 8
_ALL_SET = np.uint32(0x01010101)


class Probes(NamedTuple):
    """What to look for in a column's filters, of successive values.

    `hashes` has one for each value and behind them one more for each value of `again`, which has a second
    encoding. `provable`: whether the absence of a value can be proven.
    """

    hashes: Hashes
    again: NDArray[np.intp]
    provable: NDArray[np.bool_]


def probe_hashes(column: LeafColumn, values: pa.Array) -> Probes:
    """Hash values of the column's type under all encodings that compare equal to them.

    Both zeros are looked for when one is asked for, and the absence of NaN, which has many encodings, is
    never proven. Raises as `hash_values` does.
    """
    everything = np.ones(len(values), np.bool_)
    if not pa.types.is_floating(values.type):
        return Probes(hash_values(column, values), np.zeros(0, np.intp), everything)
    hashes = hash_values(column, values)
    numbers = numbers_from(values)
    again = np.flatnonzero(numbers == 0)
    others = from_numpy(np.negative(numbers[again]), values.type)
    return Probes(np.concatenate([hashes, hash_values(column, others)]), again, ~np.isnan(numbers))


def may_hold(filters: Sequence[Blocks], probes: Probes) -> NDArray[np.bool_]:
    """Tell which filters may hold which values; False is proof of absence. Shape (filters, values)."""
    maybe = may_contain(filters, probes.hashes)
    values = len(probes.provable)
    maybe[:, probes.again] |= maybe[:, values:]
    maybe[:, :values] |= ~probes.provable
    return maybe[:, :values]


def each_may_contain(filters: Sequence[Blocks], hashes: Hashes) -> NDArray[np.bool_]:
    """Probe every filter for a hash of its own; False is proof of absence."""
    numbers = block_numbers(hashes, np.fromiter(map(len, filters), np.uint64, len(filters)))
    blocks = np.array([blocks[number] for blocks, number in zip(filters, numbers.tolist(), strict=True)])
    wanted = masks(hashes)
    found: NDArray[np.bool_] = ((blocks & wanted) == wanted).all(axis=1)
    return found


def may_contain(filters: Sequence[Blocks], hashes: Hashes) -> NDArray[np.bool_]:
    """Probe every filter for every hash; False is proof of absence. Shape (filters, hashes)."""
    maybe = np.empty((len(filters), len(hashes)), np.bool_)
    step = _WORK_BYTES // BLOCK_BYTES
    for start in range(0, len(hashes), step):
        part = hashes[start : start + step]
        _probe(filters, part, maybe[:, start : start + step])
    return maybe


def _probe(filters: Sequence[Blocks], hashes: Hashes, found: NDArray[np.bool_]) -> None:
    sizes = np.fromiter(map(len, filters), np.uint64, len(filters))
    wanted = masks(hashes).view(np.uint64)
    step = max(1, _WORK_BYTES // (BLOCK_BYTES * len(hashes)))
    gathered = np.empty((min(step, len(filters)), len(hashes), _HALVES), np.uint64)
    for start in range(0, len(filters), step):
        part = filters[start : start + step]
        numbers = block_numbers(hashes[None, :], sizes[start : start + step, None])
        work = gathered[: len(part)]
        for blocks, number, out in zip(part, numbers, work, strict=True):
            # "clip" spares a copy of the result; no number lies outside.
            np.take(blocks.view(np.uint64), number, axis=0, out=out, mode="clip")
        np.bitwise_and(work, wanted, out=work)
        found[start : start + step] = (work == wanted).view(np.uint32)[..., 0] == _ALL_SET
