"""Gather many byte ranges of many files into a few buffers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.ragged import order_of
from parquet_core.storage import local
from parquet_core.storage.ranges import hole_of, read_each

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from parquet_core.storage.files import DataFile, Traffic

    Numbers = NDArray[np.int64]


class Ranges(NamedTuple):
    """Byte ranges inside of files: `length` bytes from `start` of the file of number `file`, for each element."""

    file: Numbers
    start: Numbers
    length: Numbers

    def take(self, at: Numbers) -> Ranges:
        """Return chosen ranges."""
        return Ranges(self.file[at], self.start[at], self.length[at])


def gather(
    files: Sequence[DataFile],
    ranges: Ranges,
    *,
    counts: Sequence[int],
    purpose: str,
    traffic: Traffic,
    before: bytes = b"",
    arrived: Callable[[bytes, int], None] | None = None,
) -> list[bytes]:
    """Read ranges end to end into buffers, `counts` of them into each; the first buffer begins with `before`.

    Neighbours in a file are read together. Raises as `read_each` does. `arrived` may be called meanwhile, with the
    first buffer and how many ranges are in it already, counted in order of file and start.
    """
    if len(ranges.file) == 0:
        return [before, *(b"" for _ in counts[1:])][: len(counts)]
    order = order_of(ranges.file, ranges.start)
    ordered = ranges.take(order)
    heads = np.flatnonzero(np.diff(ordered.file, prepend=-1))
    paths = [files[i].path for i in ordered.file[heads].tolist()]
    edges = np.cumsum([0, *counts])
    if local.reads_at_once(paths):
        ends = np.cumsum(ranges.length)
        begins = np.concatenate([np.zeros(1, np.int64), ends])[edges]
        target = np.repeat(np.arange(len(counts)), counts)
        at = ends - ranges.length - begins[target] + np.where(target == 0, len(before), 0)
        wanted = local.Wanted(np.append(heads, len(order)), ordered.start, ordered.length, target[order], at[order])
        sizes = np.diff(begins).tolist()
        found = local.read_at_once(paths, wanted, sizes, before, arrived, purpose=purpose, traffic=traffic)
        if found is not None:
            return found
    pieces = _pieces(files, ordered, order, purpose, traffic)
    parts = [pieces[low:high] for low, high in pairwise(edges.tolist())]
    return [b"".join([before, *part] if i == 0 and before else part) for i, part in enumerate(parts)]


def _pieces(files: Sequence[DataFile], ordered: Ranges, order: Numbers, purpose: str, traffic: Traffic) -> list[bytes]:
    """Read ranges that are ordered by file and start; the answers stand where `order` says."""
    owner, first, lengths = ordered
    heads = _block_heads(owner, first, first + lengths, hole_of(files[int(owner[0])].path))
    reach = np.maximum.reduceat(first + lengths, heads)
    wanted = [
        (files[number], [(begin, stop - begin)])
        for number, begin, stop in zip(owner[heads].tolist(), first[heads].tolist(), reach.tolist(), strict=True)
    ]
    inside = first - np.repeat(first[heads], np.diff(heads, append=len(first)))
    begins, stops = inside.tolist(), (inside + lengths).tolist()
    edges = [*heads.tolist(), len(first)]
    pieces: list[bytes] = [b""] * len(order)
    places = order.tolist()
    # Each block is cut down to its ranges before the next comes: the memory of one serves the next.
    for i, (block,) in enumerate(read_each(wanted, purpose=purpose, traffic=traffic)):
        for j in range(edges[i], edges[i + 1]):
            pieces[places[j]] = block[begins[j] : stops[j]]
    return pieces


def _block_heads(owner: Numbers, first: Numbers, stop: Numbers, hole: int) -> Numbers:
    """Return which ranges begin a block: the first of a file, and those far behind all before them."""
    # Shifted so that a later file always reaches further than an earlier one.
    rank = np.cumsum(np.diff(owner, prepend=owner[:1]) != 0)
    span = int(stop.max()) + 1
    reach = np.maximum.accumulate(stop + rank * span) - rank * span
    begins = np.ones(len(owner), np.bool_)
    begins[1:] = (owner[1:] != owner[:-1]) | (first[1:] > reach[:-1] + hole)
    return np.flatnonzero(begins)
