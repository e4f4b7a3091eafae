"""Gather many byte ranges of many files into one buffer."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.storage import read_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.storage import DataFile, Traffic

    Numbers = NDArray[np.int64]


def gather(
    files: Sequence[DataFile], file: Numbers, start: Numbers, length: Numbers, *, purpose: str, traffic: Traffic
) -> tuple[bytes, Numbers]:
    """Read `length` bytes from `start` of `files[file]`, for each element; returns the bytes, and where each begins.

    Raises as `read_each` does.
    """
    order = np.lexsort((start, file))
    owner, lengths = file[order], length[order]
    edges = np.append(np.flatnonzero(np.diff(owner, prepend=-1)), len(owner)).tolist()
    ranges = list(zip(start[order].tolist(), lengths.tolist(), strict=True))
    owners = owner.tolist()
    wanted = [(files[owners[low]], ranges[low:high]) for low, high in pairwise(edges)]
    # Each answer is cut down to its ranges before the next comes: the memory of one serves the next.
    buffer = b"".join(chain.from_iterable(read_each(wanted, purpose=purpose, traffic=traffic)))
    at = np.empty(len(order), np.int64)
    at[order] = np.cumsum(lengths) - lengths
    return buffer, at
