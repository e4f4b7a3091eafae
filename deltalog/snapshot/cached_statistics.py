"""Bounds of columns, cached for the files of one version once they were parsed.

Of each column the files that were asked are known: partition values leave few, and more are added as they are asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deltalog.log.file_block import ChosenStatistics
from parquet_core.arrow_arrays import from_numpy
from parquet_core.trust.bounds import Bounds, concat_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from deltalog.log.file_block import Numbers, StatisticsBatch, StatisticsSource

    Flags = NDArray[np.bool_]
    Answers = Iterator[tuple[Numbers, list[Bounds]]]


class Question(NamedTuple):
    """What is asked of statistics: for each key the bounds that `read` makes of a batch of texts or structs.

    `paths`: what must be read for it. `silent`: what is said of so many files that have no statistics.
    """

    keys: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]
    read: Callable[[StatisticsBatch], list[Bounds]]
    silent: Callable[[int], list[Bounds]]


@dataclass(slots=True)
class CachedColumn:
    """What is known under a key: `asked` by file, and the bounds of those that were asked, in their order."""

    asked: Flags
    bounds: Bounds
    _slot: Numbers | None = None

    def of(self, positions: Numbers) -> Bounds:
        """Return the bounds of files that were asked, in ascending order."""
        if len(positions) and positions[-1] - positions[0] == len(positions) - 1:
            first = int(np.count_nonzero(self.asked[: positions[0]]))
            return self.bounds.slice(first, first + len(positions))
        if self._slot is None:
            self._slot = np.cumsum(self.asked) - 1
        return self.bounds.take(self._slot[positions])


@dataclass(slots=True)
class StatisticsStore:
    """What is known of the statistics of `count` files; `load` finds what is cached under a key, or None."""

    count: int
    load: Callable[[str], CachedColumn | None]
    changed: set[str] = field(default_factory=set)
    _columns: dict[str, CachedColumn | None] = field(default_factory=dict)
    _noted: list[tuple[str, Numbers, Bounds]] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def column(self, key: str) -> CachedColumn | None:
        """Return the cached column of a key, without what was noted since `settle`."""
        with self._lock:
            if key not in self._columns:
                self._columns[key] = self.load(key)
            return self._columns[key]

    def note(self, key: str, positions: Numbers, bounds: Bounds) -> None:
        """Remember what was found of files."""
        self._noted.append((key, positions, bounds))

    def settle(self) -> None:
        """Make what was noted known."""
        with self._lock:
            noted, self._noted = self._noted, []
        found: dict[str, list[tuple[Numbers, Bounds]]] = {}
        for key, positions, bounds in noted:
            found.setdefault(key, []).append((positions, bounds))
        for key, parts in found.items():
            before = self.column(key)
            if before is not None:
                parts.insert(0, (np.flatnonzero(before.asked), before.bounds))
            self._columns[key] = _merged(parts, self.count)
            self.changed.add(key)

    def known(self) -> dict[str, CachedColumn]:
        """Return everything that is known by now."""
        self.settle()
        return {key: column for key, column in self._columns.items() if column is not None}


def _merged(parts: Sequence[tuple[Numbers, Bounds]], count: int) -> CachedColumn:
    positions = np.concatenate([at for at, _ in parts])
    order = np.argsort(positions, kind="stable")
    # What was asked twice at the same time is there twice.
    order = order[np.diff(positions[order], prepend=-1) > 0]
    asked = np.zeros(count, np.bool_)
    asked[positions] = True
    bounds = concat_bounds([bounds for _, bounds in parts])
    return CachedColumn(asked, bounds if _is_range(order, len(bounds)) else bounds.take(order))


def _is_range(order: Numbers, count: int) -> bool:
    return len(order) == count and bool((order[:-1] < order[1:]).all())


@dataclass(frozen=True, slots=True)
class CachedStatistics:
    """The statistics of the files from `first` on in a store, read from where they stand when they are not in it."""

    store: StatisticsStore
    first: int
    inner: StatisticsSource

    def read(self, columns: Sequence[tuple[str, ...]], wanted: Flags) -> Iterator[StatisticsBatch]:
        """Read what stands in the log."""
        return self.inner.read(columns, wanted)

    def answers(self, question: Question, wanted: Flags) -> Answers:
        """Answer from the store, and from the log for files that it does not know; what that says is noted."""
        cached = [self.store.column(key) for key in question.keys]
        there = [column for column in cached if column is not None]
        here = slice(self.first, self.first + len(wanted))
        known = wanted & np.logical_and.reduce([column.asked[here] for column in there])
        if len(there) == len(cached) and known.any():
            at = np.flatnonzero(known)
            yield at, [column.of(self.first + at) for column in there]
        rest = wanted & ~known if len(there) == len(cached) else wanted
        if rest.any():
            yield from self._from_log(question, cached, rest)

    def _from_log(self, question: Question, cached: Sequence[CachedColumn | None], wanted: Flags) -> Answers:
        silent = wanted.copy()
        for positions, bounds in answers(self.inner, question, wanted):
            silent[positions] = False
            self._note(question, cached, positions, bounds)
            yield positions, bounds
        at = np.flatnonzero(silent)
        if len(at):
            self._note(question, cached, at, question.silent(len(at)))

    def _note(
        self, question: Question, cached: Sequence[CachedColumn | None], at: Numbers, bounds: Sequence[Bounds]
    ) -> None:
        for key, column, found in zip(question.keys, cached, bounds, strict=True):
            if column is None:
                self.store.note(key, self.first + at, found)
            elif (new := np.flatnonzero(~column.asked[self.first + at])).size:
                self.store.note(key, self.first + at[new], found.take(new))


def answers(source: StatisticsSource, question: Question, wanted: Flags) -> Answers:
    """Answer of those files of a block that are wanted and have statistics: positions, and bounds for each key."""
    match source:
        case CachedStatistics():
            yield from source.answers(question, wanted)
        case ChosenStatistics(inner, chosen, total):
            everywhere = np.zeros(total, np.bool_)
            everywhere[chosen[wanted]] = True
            for positions, bounds in answers(inner, question, everywhere):
                yield np.searchsorted(chosen, positions), bounds
        case _:
            for batch in source.read(list(question.paths), wanted):
                yield batch.positions, question.read(batch)


def as_bounds(numbers: Numbers) -> Bounds:
    """Put plain numbers, one a file, into the form of bounds."""
    none = from_numpy(numbers, valid=np.zeros(len(numbers), np.bool_))
    values = from_numpy(numbers)
    return Bounds(values, values, none, np.ones(len(numbers), np.int64))
