"""Gather many byte ranges of many files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.storage import hole_of, read_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.storage import DataFile, Traffic

    Numbers = NDArray[np.int64]


def gather(
    files: Sequence[DataFile], file: Numbers, start: Numbers, length: Numbers, *, purpose: str, traffic: Traffic
) -> list[bytes]:
    """Read `length` bytes from `start` of `files[file]`, for each element.

    The ranges lie inside of their files. Neighbours are read together. Raises as `read_each` does.
    """
    if len(file) == 0:
        return []
    order = np.lexsort((start, file))
    owner, first, lengths = file[order], start[order], length[order]
    heads = _block_heads(owner, first, first + lengths, hole_of(files[owner[0]].path))
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
