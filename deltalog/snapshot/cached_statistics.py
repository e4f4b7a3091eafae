"""Parsed bounds of columns, cached for the files of one version.

A column is cached only for files that queries examined: partition values exclude most files, and later queries add
more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deltalog.log.file_block import ChosenStatistics
from parquet_core.arrow_arrays import from_numpy
from parquet_core.trust.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from deltalog.log.file_block import Numbers, StatisticsBatch, StatisticsSource

    Flags = NDArray[np.bool_]
    Answers = Iterator[tuple[Numbers, list[Bounds]]]


class StatisticsQuery(NamedTuple):
    """A query for bounds, one per key; `read` computes them from a batch of statistics.

    `paths`: the fields it reads. `silent`: returns the bounds of a number of files without statistics.
    """

    keys: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]
    read: Callable[[StatisticsBatch], list[Bounds]]
    silent: Callable[[int], list[Bounds]]


@dataclass(slots=True)
class CachedColumn:
    """Cached bounds of a key. `cached`: one flag per file; `bounds`: of the flagged files, in order."""

    cached: Flags
    bounds: Bounds
    _slot: Numbers | None = None

    def of(self, positions: Numbers) -> Bounds:
        """Return the bounds of cached files, given in ascending order."""
        if len(positions) and positions[-1] - positions[0] == len(positions) - 1:
            first = int(np.count_nonzero(self.cached[: positions[0]]))
            return self.bounds.slice(first, first + len(positions))
        if self._slot is None:
            self._slot = np.cumsum(self.cached) - 1
        return self.bounds.take(self._slot[positions])


@dataclass(slots=True)
class StatisticsStore:
    """Statistics cached for `count` files; `load` reads the column of a key from the cache, or None."""

    count: int
    load: Callable[[str], CachedColumn | None]
    changed: set[str] = field(default_factory=set)
    _columns: dict[str, CachedColumn | None] = field(default_factory=dict)
    _noted: list[tuple[str, Numbers, Bounds]] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def column(self, key: str) -> CachedColumn | None:
        """Return the cached column of a key, without bounds noted since `settle`."""
        with self._lock:
            if key not in self._columns:
                self._columns[key] = self.load(key)
            return self._columns[key]

    def note(self, key: str, positions: Numbers, bounds: Bounds) -> None:
        """Add bounds of files, which `settle` publishes."""
        self._noted.append((key, positions, bounds))

    def settle(self) -> None:
        """Publish the noted bounds."""
        with self._lock:
            noted, self._noted = self._noted, []
        noted_by_key: dict[str, list[tuple[Numbers, Bounds]]] = {}
        for key, positions, bounds in noted:
            noted_by_key.setdefault(key, []).append((positions, bounds))
        for key, parts in noted_by_key.items():
            before = self.column(key)
            if before is not None:
                parts.insert(0, (np.flatnonzero(before.cached), before.bounds))
            self._columns[key] = _merged(parts, self.count)
            self.changed.add(key)

    def known(self) -> dict[str, CachedColumn]:
        """Return all cached columns by key, including noted bounds."""
        self.settle()
        return {key: column for key, column in self._columns.items() if column is not None}


def _merged(parts: Sequence[tuple[Numbers, Bounds]], count: int) -> CachedColumn:
    positions = np.concatenate([at for at, _ in parts])
    order = np.argsort(positions, kind="stable")
    # Concurrent queries note the same files twice.
    order = order[np.diff(positions[order], prepend=-1) > 0]
    cached = np.zeros(count, np.bool_)
    cached[positions] = True
    bounds = Bounds.concat([bounds for _, bounds in parts])
    return CachedColumn(cached, bounds if _is_range(order, len(bounds)) else bounds.take(order))


def _is_range(order: Numbers, count: int) -> bool:
    return len(order) == count and bool((order[:-1] < order[1:]).all())


@dataclass(frozen=True, slots=True)
class CachedStatistics:
    """Statistics of a block from a store, else from the log.

    `first`: position of the block's first file in the store.
    """

    store: StatisticsStore
    first: int
    inner: StatisticsSource

    def read(self, columns: Sequence[tuple[str, ...]], wanted: Flags) -> Iterator[StatisticsBatch]:
        """Yield the statistics in the log."""
        return self.inner.read(columns, wanted)

    def answers(self, query: StatisticsQuery, wanted: Flags) -> Answers:
        """Yield positions and bounds per key, from the store or the log.

        Bounds from the log are noted in the store.
        """
        cached = [self.store.column(key) for key in query.keys]
        there = [column for column in cached if column is not None]
        here = slice(self.first, self.first + len(wanted))
        known = wanted & np.logical_and.reduce([column.cached[here] for column in there])
        if len(there) == len(cached) and known.any():
            at = np.flatnonzero(known)
            yield at, [column.of(self.first + at) for column in there]
        rest = wanted & ~known if len(there) == len(cached) else wanted
        if rest.any():
            yield from self._from_log(query, cached, rest)

    def _from_log(self, query: StatisticsQuery, cached: Sequence[CachedColumn | None], wanted: Flags) -> Answers:
        silent = wanted.copy()
        for positions, bounds in answers(self.inner, query, wanted):
            silent[positions] = False
            self._note(query, cached, positions, bounds)
            yield positions, bounds
        at = np.flatnonzero(silent)
        if len(at):
            self._note(query, cached, at, query.silent(len(at)))

    def _note(
        self, query: StatisticsQuery, cached: Sequence[CachedColumn | None], at: Numbers, bounds: Sequence[Bounds]
    ) -> None:
        for key, column, of_key in zip(query.keys, cached, bounds, strict=True):
            if column is None:
                self.store.note(key, self.first + at, of_key)
            elif (new := np.flatnonzero(~column.cached[self.first + at])).size:
                self.store.note(key, self.first + at[new], of_key.take(new))


def answers(source: StatisticsSource, query: StatisticsQuery, wanted: Flags) -> Answers:
    """Yield positions and bounds per key for wanted files with statistics."""
    match source:
        case CachedStatistics():
            yield from source.answers(query, wanted)
        case ChosenStatistics(inner, chosen, total):
            everywhere = np.zeros(total, np.bool_)
            everywhere[chosen[wanted]] = True
            for positions, bounds in answers(inner, query, everywhere):
                yield np.searchsorted(chosen, positions), bounds
        case _:
            for batch in source.read(list(query.paths), wanted):
                yield batch.positions, query.read(batch)


def as_bounds(numbers: Numbers) -> Bounds:
    """Return one number per file in the form of bounds."""
    none = from_numpy(numbers, valid=np.zeros(len(numbers), np.bool_))
    values = from_numpy(numbers)
    return Bounds(values, values, none, np.ones(len(numbers), np.int64))
