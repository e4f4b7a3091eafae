"""Pick the files to rewrite, from numbers about the files alone.

Picked files are grouped. The files of a group are in one partition and adjacent in the order of the leading sort key.
Written together, they overlap no other file.

A group consists of files that overlap directly or through other files, of one file with a fault of its own, or of a run
of small files. A run is merged only if each file in it at least doubles. Daily arriving data are therefore rewritten a
number of times that is logarithmic in the target size, and merged files are left alone.

If a layout sets the number of files of a partition, small files are not merged in partitions that have at most this
number of files.
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

# Files below 1/SMALL_PART of the target size are small.
SMALL_PART = 4


class RewriteReason(StrEnum):
    """Reasons to rewrite a file."""

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
    """Measured values of files, one entry per file.

    `partition`: partition number.
    `low`, `high`: bounds of the leading sort key as ranks; UNKNOWN without bounds; all equal without a sort key.
    `size`: bytes.
    `deleted`: share of deleted rows (0 to 1).
    `faults`: per reason, a flag for each file.
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
    """Files to rewrite together; `outputs`: number of new files."""

    files: tuple[int, ...]
    outputs: int


class Picked(NamedTuple):
    """Groups of files to rewrite, and the reasons per picked file."""

    groups: tuple[Group, ...]
    reasons: Mapping[int, tuple[RewriteReason, ...]]


def pick(files: FileNumbers, *, target: int, wanted: int | None = None) -> Picked:
    """Pick the files of a table that need a rewrite; `target`: desired bytes per file.

    `wanted`: number of files in the layout; None to use only `target`. Small files of a partition that has at most
    `wanted` files are not merged, because a write of that partition alone makes that many. If all files of a partition
    are picked, the partition gets its share of `wanted`, by bytes.

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
            # Overlapping files are written together anyway; SMALL is only added as a reason.
            merged_small = small[of] or (overlapping[of] and is_small[file])
            causes = [RewriteReason.OVERLAP] * bool(overlapping[of]) + [RewriteReason.SMALL] * bool(merged_small)
            reasons[file] = (*causes, *(reason for reason, flags in faults.items() if flags[file]))
    return Picked(tuple(groups), reasons)


def pick_all(files: FileNumbers, *, target: int, wanted: int | None = None) -> Picked:
    """Pick every file, one group per partition; arguments as in `pick`.

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
    """Return the number of files to write.

    `live`: live bytes to write. `of`: live bytes of all files.

    >>> _outputs(90, of=90, target=40, wanted=None), _outputs(90, of=90, target=40, wanted=2)
    (3, 2)

    If the share of `wanted` rounds to 0, the target size decides:

    >>> _outputs(45, of=90, target=40, wanted=4), _outputs(9, of=90, target=40, wanted=4)
    (2, 1)
    """
    share = 0 if wanted is None else round(wanted * live / of) if of else wanted
    return share or max(1, -int(-live // target))


def within(picked: Picked, files: FileNumbers, budget: int | None) -> tuple[Picked, int]:
    """Return the groups that fit the budget, largest first.

    Also returns the number of files left out.

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
    for group_index in sorted(range(len(sizes)), key=lambda group_index: -sizes[group_index]):
        if sizes[group_index] <= budget:
            chosen.add(group_index)
            budget -= sizes[group_index]
    groups = tuple(group for group_index, group in enumerate(picked.groups) if group_index in chosen)
    reasons = {file: picked.reasons[file] for group in groups for file in group.files}
    return Picked(groups, reasons), len(picked.reasons) - len(reasons)


def _faults(files: FileNumbers) -> dict[RewriteReason, Flags]:
    return {RewriteReason.DELETED: files.deleted > DELETED_SHARE, **files.faults}


def _units(files: FileNumbers) -> tuple[Numbers, Numbers]:
    """Return the files in key order, and the start of each run of overlapping files.

    Bounds that only touch do not overlap. Files without bounds come last in their partition, one run each.
    """
    if not len(files.size):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    bounded = (files.low != UNKNOWN) & (files.high != UNKNOWN)
    last = int(files.high.max(initial=0)) + 1
    low, high = np.where(bounded, files.low, last), np.where(bounded, files.high, last)
    # The offset exceeds all ranks, so files of two partitions never overlap.
    apart = files.partition * (last + 2)
    order = np.lexsort((high, low + apart))
    reach = np.maximum.accumulate((high + apart)[order])
    begins = np.concatenate([[True], (low + apart)[order][1:] >= reach[:-1]])
    return order, np.flatnonzero(begins)


def _files_beside(files: FileNumbers) -> Numbers:
    """Return for each file the number of files in its partition, including itself."""
    _, partition, counts = np.unique(files.partition, return_inverse=True, return_counts=True)
    beside: Numbers = counts[partition]
    return beside


def _all_in_partition(files: FileNumbers, picked: Numbers) -> Flags:
    """Flag files whose partition is picked as a whole."""
    _, partitions = np.unique(files.partition, return_inverse=True)
    left = np.ones(len(partitions), np.bool_)
    left[picked] = False
    whole: Flags = np.bincount(partitions, left)[partitions] == 0
    return whole


def _small_runs(size: NDArray[np.float64], partition: Numbers, is_small: Flags) -> Iterator[tuple[int, int]]:
    """Yield the ranges of adjacent small units (runs of overlapping files) to merge, each within one partition."""
    ends = np.flatnonzero(np.diff(partition) != 0) + 1
    for start, stop in zip([0, *ends.tolist()], [*ends.tolist(), len(size)], strict=True):
        edges = np.flatnonzero(np.diff(is_small[start:stop].astype(np.int8), prepend=0, append=0)) + start
        for begin, end in edges.reshape(-1, 2).tolist():
            yield from _doubling(size, begin, end)


def _doubling(size: NDArray[np.float64], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield subranges in which each unit at least doubles.

    In such a subrange, the largest unit has at most half of the total size.
    """
    # Recursion is shallow, because each side of the largest unit has less than half of the size of the run.
    if stop - start < 2:
        return
    run = size[start:stop]
    largest = start + int(np.argmax(run))
    if 2 * size[largest] <= run.sum():
        yield start, stop
    else:
        yield from _doubling(size, start, largest)
        yield from _doubling(size, largest + 1, stop)
