"""Gather many byte ranges of many files into one buffer, neighbours fetched together."""

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
) -> tuple[bytes, Numbers]:
    """Read `length` bytes from `start` of `files[file]`, for each element; returns the bytes, and where each begins.

    Raises as `read_range` does, for the first file whose ranges cannot be read.
    """
    order = np.lexsort((start, file))
    owner, first, stop = file[order], start[order], (start + length)[order]
    reach = _reach_in_file(owner, stop)
    hole = hole_of(files[owner[0]].path) if len(owner) else 0
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (owner[1:] != owner[:-1]) | (first[1:] > reach[:-1] + hole)
    heads = np.flatnonzero(begins)
    block_start = first[heads]
    block_stop = reach[np.append(heads[1:], len(order)) - 1] if len(heads) else block_start
    wanted = [
        (files[number], [(begin, end - begin)])
        for number, begin, end in zip(owner[heads].tolist(), block_start.tolist(), block_stop.tolist(), strict=True)
    ]
    blocks = [block for (block,) in read_each(wanted, purpose=purpose, traffic=traffic)]
    lengths = block_stop - block_start
    offset = np.cumsum(lengths) - lengths
    block = np.cumsum(begins) - 1
    at = np.empty(len(order), np.int64)
    at[order] = offset[block] + first - block_start[block] if len(heads) else at
    return b"".join(blocks), at


def _reach_in_file(owner: Numbers, stop: Numbers) -> Numbers:
    """Return how far the ranges of a file up to each one reach; `owner` ascends.

    A later range may end before an earlier one does, so what was covered so far decides about a hole.
    """
    # Shifted so that a later file always reaches further than an earlier one.
    rank = np.cumsum(np.diff(owner, prepend=owner[:1]) != 0)
    span = int(stop.max(initial=0)) + 1
    reach: Numbers = np.maximum.accumulate(stop + rank * span) - rank * span
    return reach
