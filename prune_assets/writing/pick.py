"""Pick the files that need to be rewritten, from numbers about them alone.

What is picked comes in groups. The files of a group lie in one partition and follow each other in the order of the
leading sort key, with none between them that is not in the group: written as one, they overlap with no other file.

A group is what overlaps, directly or through others; or a file with a fault of its own; or a run of small ones. Of
those a run is merged only if each file at least doubles by it, so that data that arrive day by day are rewritten
a number of times that grows with the logarithm of the target size alone, and what was merged is left alone.
Where a layout says how many files a partition should have, small files of a partition with at most that many stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prune_assets.tables.delete_debt import DELETED_SHARE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

# Files below this part of the target size are small.
SMALL_PART = 4


class RewriteReason(StrEnum):
    """Why a file is rewritten."""

    OVERLAP = "overlaps"
    SMALL = "small"
    DELETED = "deleted rows"
    DELETE_FILES = "delete files"
    BLOOM = "lacks a bloom filter"
    ORDER = "not sorted"
    PAGES = "lacks a page index"
    FULL = "full rewrite"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNumbers:
    """What is known of files, one entry a file.

    `partition`: a number for it. `low`, `high`: the leading sort key as ranks, UNKNOWN where no bounds tell; all the
    same where files have no order. `size`: bytes. `deleted`: the share of deleted rows. `faults`: by reason whether a
    file has it.
    """

    partition: Numbers
    low: Numbers
    high: Numbers
    size: Numbers
    deleted: NDArray[np.float64]
    faults: Mapping[RewriteReason, Flags]

    def live_bytes(self) -> NDArray[np.float64]:
        """Return the approximate bytes of the live rows."""
        live: NDArray[np.float64] = self.size * (1 - self.deleted)
        return live


UNKNOWN = -1


class Group(NamedTuple):
    """Files to be written as one; `outputs`: into how many."""

    files: tuple[int, ...]
    outputs: int


class Picked(NamedTuple):
    """The groups, and for each of their files why."""

    groups: tuple[Group, ...]
    reasons: Mapping[int, tuple[RewriteReason, ...]]


def pick(files: FileNumbers, *, target: int, wanted: int | None = None) -> Picked:
    """Pick the files of a table that need it; `target`: the bytes that a file should have.

    `wanted`: how many files the layout aims for; None to go by the target alone. A partition that has no more of them
    is left alone, as a write of it alone makes so many; if all files of a partition are picked, they become its share
    of them, by bytes.

    >>> numbers = {"partition": [0, 0, 0], "low": [1, 3, 9], "high": [5, 8, 9], "size": [100, 100, 100]}
    >>> arrays = {name: np.array(values, np.int64) for name, values in numbers.items()}
    >>> picked = pick(FileNumbers(**arrays, deleted=np.zeros(3), faults={}), target=100)
    >>> [(group.files, group.outputs) for group in picked.groups]
    [((0, 1), 2)]
    """
    order, first = _units(files)
    unit = np.zeros(len(order), np.int64)
    unit[first[1:]] = 1
    unit = np.cumsum(unit)
    faults = _faults(files)
    overlapping = np.diff(first, append=len(order)) > 1
    faulty = np.zeros(len(first), np.bool_)
    for flags in faults.values():
        np.logical_or.at(faulty, unit, flags[order])
    size = np.bincount(unit, files.live_bytes()[order], minlength=len(first)).astype(np.float64)
    merged = np.arange(len(first))
    is_small = files.live_bytes() < target / SMALL_PART
    small = np.zeros(len(first), np.bool_)
    beside = _files_beside(files)
    is_spare = beside[order][first] > (0 if wanted is None else wanted)
    for start, stop in _small_runs(size, files.partition[order][first], (size < target / SMALL_PART) & is_spare):
        merged[start:stop] = start
        small[start:stop] = True
    needed = overlapping | faulty | small
    is_whole = _all_in_partition(files, order[needed[unit]])
    groups, reasons = [], dict[int, tuple[RewriteReason, ...]]()
    for group in np.unique(merged[needed]).tolist():
        here = order[merged[unit] == group].tolist()
        live = float(size[merged == group].sum())
        aimed = wanted if is_whole[here[0]] else None
        groups.append(Group(tuple(here), _outputs(live, of=float(size.sum()), target=target, wanted=aimed)))
    for file, of in zip(order.tolist(), unit.tolist(), strict=True):
        if needed[of]:
            # What overlaps is written as one anyway; that it is small is worth saying all the same.
            merged_small = small[of] or (overlapping[of] and is_small[file])
            found = [RewriteReason.OVERLAP] * bool(overlapping[of]) + [RewriteReason.SMALL] * bool(merged_small)
            reasons[file] = (*found, *(reason for reason, flags in faults.items() if flags[file]))
    return Picked(tuple(groups), reasons)


def pick_all(files: FileNumbers, *, target: int, wanted: int | None = None) -> Picked:
    """Pick every file, those of a partition as one group; arguments are those of `pick`.

    >>> numbers = {"partition": [0, 1, 0], "low": [1, 3, 9], "high": [5, 8, 9], "size": [100, 100, 100]}
    >>> arrays = {name: np.array(values, np.int64) for name, values in numbers.items()}
    >>> picked = pick_all(FileNumbers(**arrays, deleted=np.zeros(3), faults={}), target=150)
    >>> [(group.files, group.outputs) for group in picked.groups]
    [((0, 2), 2), ((1,), 1)]
    """
    live, groups = files.live_bytes(), []
    for partition in np.unique(files.partition).tolist():
        here = np.flatnonzero(files.partition == partition)
        outputs = _outputs(float(live[here].sum()), of=float(live.sum()), target=target, wanted=wanted)
        groups.append(Group(tuple(here.tolist()), outputs))
    return Picked(tuple(groups), dict.fromkeys(range(len(files.size)), (RewriteReason.FULL,)))


def _outputs(live: float, *, of: float, target: int, wanted: int | None) -> int:
    """Return into how many files so many bytes `of` those of all files are written.

    >>> _outputs(90, of=90, target=40, wanted=None), _outputs(90, of=90, target=40, wanted=2)
    (3, 2)

    Of the four files of a table by day a day of many has none, and goes by the target:

    >>> _outputs(45, of=90, target=40, wanted=4), _outputs(9, of=90, target=40, wanted=4)
    (2, 1)
    """
    share = 0 if wanted is None else round(wanted * live / of) if of else wanted
    return share or max(1, -int(-live // target))


def within(picked: Picked, files: FileNumbers, budget: int | None) -> tuple[Picked, int]:
    """Return the groups of at most so many bytes together, the largest first, and how many files are left out.

    >>> sizes = {"size": np.array([50, 90, 30]), "deleted": np.zeros(3), "faults": {}}
    >>> files = FileNumbers(partition=np.zeros(3), low=np.zeros(3), high=np.zeros(3), **sizes)
    >>> picked = Picked((Group((0,), 1), Group((1,), 1), Group((2,), 1)), {0: (), 1: (), 2: ()})
    >>> some, left_out = within(picked, files, 125)
    >>> [group.files for group in some.groups], left_out
    ([(1,), (2,)], 1)
    """
    if budget is None:
        return picked, 0
    sizes = [int(files.size[list(group.files)].sum()) for group in picked.groups]
    chosen = set[int]()
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        if sizes[number] <= budget:
            chosen.add(number)
            budget -= sizes[number]
    groups = tuple(group for number, group in enumerate(picked.groups) if number in chosen)
    reasons = {file: picked.reasons[file] for group in groups for file in group.files}
    return Picked(groups, reasons), len(picked.reasons) - len(reasons)


def _faults(files: FileNumbers) -> dict[RewriteReason, Flags]:
    return {RewriteReason.DELETED: files.deleted > DELETED_SHARE, **files.faults}


def _units(files: FileNumbers) -> tuple[Numbers, Numbers]:
    """Return the files in the order of the key, and where those begin that overlap with none before them.

    Bounds that touch are no overlap. What has no bounds comes last in its partition, each file by itself.
    """
    if not len(files.size):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    known = (files.low != UNKNOWN) & (files.high != UNKNOWN)
    last = int(files.high.max(initial=0)) + 1
    low, high = np.where(known, files.low, last), np.where(known, files.high, last)
    # Further apart than all values are: what lies in two partitions never overlaps.
    apart = files.partition * (last + 2)
    order = np.lexsort((high, low + apart))
    reach = np.maximum.accumulate((high + apart)[order])
    begins = np.concatenate([[True], (low + apart)[order][1:] >= reach[:-1]])
    return order, np.flatnonzero(begins)


def _files_beside(files: FileNumbers) -> Numbers:
    """Return of each file how many its partition has, itself among them."""
    _, at, counts = np.unique(files.partition, return_inverse=True, return_counts=True)
    beside: Numbers = counts[at]
    return beside


def _all_in_partition(files: FileNumbers, picked: Numbers) -> Flags:
    """Return for each file whether all files of its partition are picked."""
    _, partitions = np.unique(files.partition, return_inverse=True)
    left = np.ones(len(partitions), np.bool_)
    left[picked] = False
    whole: Flags = np.bincount(partitions, left)[partitions] == 0
    return whole


def _small_runs(size: NDArray[np.float64], partition: Numbers, is_small: Flags) -> Iterator[tuple[int, int]]:
    """Yield the runs of small units, one behind the other in a partition, that are to be merged."""
    ends = np.flatnonzero(np.diff(partition) != 0) + 1
    for start, stop in zip([0, *ends.tolist()], [*ends.tolist(), len(size)], strict=True):
        edges = np.flatnonzero(np.diff(is_small[start:stop].astype(np.int8), prepend=0, append=0)) + start
        for begin, end in edges.reshape(-1, 2).tolist():
            yield from _doubling(size, begin, end)


def _doubling(size: NDArray[np.float64], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a run in which the largest has at most half: each of its units at least doubles."""
    # What lies beside the largest holds less than it, so that this goes as deep as sizes can be halved.
    if stop - start < 2:
        return
    run = size[start:stop]
    largest = start + int(np.argmax(run))
    if 2 * size[largest] <= run.sum():
        yield start, stop
    else:
        yield from _doubling(size, start, largest)
        yield from _doubling(size, largest + 1, stop)
