"""Bounds of files for the columns of a query, from the cached snapshot or, if missing there, from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.arrow_arrays import from_numpy
from parquet_core.trust.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltalog.log.file_block import FileBlock, Numbers, StatisticsBatch
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.snapshot.write_cache import CachedSnapshot
    from parquet_core.arrays import Flags

    Answers = Iterator[tuple[Numbers, list[Bounds]]]


class StatisticsQuery(NamedTuple):
    """A query for the bounds of columns.

    `keys`: keys of the bounds in the cache, one per column.
    `paths`: fields of the statistics that the query reads.
    `read`: computes the bounds from a batch of statistics, one entry per key.
    `silent`: returns unknown bounds for a given number of files, which have no statistics.
    """

    keys: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]
    read: Callable[[StatisticsBatch], list[Bounds]]
    silent: Callable[[int], list[Bounds]]


def answers(snapshot: Snapshot, block: FileBlock, query: StatisticsQuery, wanted: Flags) -> Answers:
    """Yield positions of wanted files with statistics, and their bounds by key.

    Bounds from the log are noted in the cached snapshot, if there is one. Cached files without statistics are included,
    with unknown bounds.
    """
    cached = snapshot._cached  # noqa: SLF001 - same package
    if cached is None or block.position is None:
        yield from _from_log(block, query, wanted)
        return
    columns = [cached.column(key) for key in query.keys]
    known = wanted & np.logical_and.reduce([column.slot[block.position] >= 0 for column in columns])
    if known.any():
        at = np.flatnonzero(known)
        yield at, [column.take(block.position[at]) for column in columns]
    silent = wanted & ~known
    if not silent.any():
        return
    for positions, bounds in _from_log(block, query, silent.copy()):
        silent[positions] = False
        _note(cached, query, block.position[positions], bounds)
        yield positions, bounds
    at = np.flatnonzero(silent)
    if len(at):
        _note(cached, query, block.position[at], query.silent(len(at)))


def _from_log(block: FileBlock, query: StatisticsQuery, wanted: Flags) -> Answers:
    for batch in block.statistics.read(list(query.paths), wanted):
        yield batch.positions, query.read(batch)


def _note(cached: CachedSnapshot, query: StatisticsQuery, positions: Numbers, bounds: list[Bounds]) -> None:
    for key, of_key in zip(query.keys, bounds, strict=True):
        cached.note(key, positions, of_key)


def as_bounds(numbers: Numbers) -> Bounds:
    """Return one number per file in the form of bounds, so that the cache can store it."""
    none = from_numpy(numbers, valid=np.zeros(len(numbers), np.bool_))
    values = from_numpy(numbers)
    return Bounds.of(values, values, none, np.ones(len(numbers), np.int64))
