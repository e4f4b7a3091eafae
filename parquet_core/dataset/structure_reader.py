"""Read page indexes or bloom filters of many column chunks at once."""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.errors import MalformedFile
from parquet_core.format.page_index import IndexBytes
from parquet_core.ragged import distinct
from parquet_core.storage import Ranges, gather

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_core.arrays import Positions, Reasons
    from parquet_core.dataset.row_group_table import RowGroupTable
    from parquet_core.format.schema import LeafColumn


class NoStructure(StrEnum):
    """Reasons for a missing structure, for code that distinguishes them."""

    ABSENT = "the file lacks it for this column"


class Wanted(NamedTuple):
    """Structures of one column to read.

    `positions`: row groups.
    `ranges`: for each row group, offset and length of the structure in the file, in bytes.
    `refused`: for each row group, why the structure must not be read; "" if it may be read.
    """

    column: LeafColumn
    positions: Positions
    ranges: Positions
    refused: Reasons


def read_structures(groups: RowGroupTable, wanted: Sequence[Wanted], *, purpose: str) -> list[IndexBytes]:
    """Read the structures of several columns together; return one `IndexBytes` per column.

    Entries that are absent or refused hold the reason. Raises MalformedFile for a range outside of its file, and the
    errors of `gather`.
    """
    if not any(len(part.positions) for part in wanted):
        return [_placed(b"", _NO_ROWS, np.zeros(0, object), str) for _ in wanted]
    position = np.concatenate([_NO_ROWS, *(part.positions for part in wanted)])
    offset, length = np.concatenate([_NO_RANGES, *(part.ranges for part in wanted)]).T
    part = np.repeat(np.arange(len(wanted)), [len(part.positions) for part in wanted])

    def place(i: int) -> str:
        return groups.place(int(position[i]), wanted[part[i]].column)

    absent = np.concatenate([_NO_REASONS, *(part.refused for part in wanted)])
    file, there = groups.file[position], (offset > 0) & (absent == "")
    of_file = distinct(np.sort(file))
    sizes = np.array([groups.files[i].size for i in of_file.tolist()], np.int64)[np.searchsorted(of_file, file)]
    for i in np.flatnonzero(there & ((offset > sizes) | (length > sizes - offset))):
        raise MalformedFile(
            f"{place(int(i))}: its {purpose} is at {offset[i]} and {length[i]} bytes on, outside of the file "
            f"({sizes[i]} bytes); the footer is damaged"
        )
    absent[~there & (absent == "")] = NoStructure.ABSENT
    read = np.flatnonzero(there)
    edges = np.cumsum([0, *(len(part.positions) for part in wanted)])
    counts = np.diff(np.searchsorted(read, edges)).tolist()
    ranges = Ranges(file[read], offset[read], length[read])
    buffers = gather(groups.files, ranges, counts=counts, purpose=purpose, traffic=groups.traffic)
    lengths = np.full(len(position), -1, np.int64)
    lengths[read] = length[read]
    return [
        _placed(buffer, lengths[low:high], absent[low:high], _shifted(place, low))
        for buffer, (low, high) in zip(buffers, pairwise(edges.tolist()), strict=True)
    ]


def _placed(buffer: bytes, lengths: Positions, absent: Reasons, place: Callable[[int], str]) -> IndexBytes:
    """Return the positions of consecutive structures in a buffer. A negative length means missing.

    `absent`: reasons for missing structures.
    """
    ends = np.cumsum(np.maximum(lengths, 0))
    start = ends - np.maximum(lengths, 0)
    return IndexBytes(buffer, start, np.where(lengths < 0, -1, ends), absent, place)


_NO_ROWS = np.zeros(0, dtype=np.int64)
_NO_REASONS = np.zeros(0, object)
_NO_RANGES = np.zeros((0, 2), dtype=np.int64)


def _shifted(place: Callable[[int], str], by: int) -> Callable[[int], str]:
    return lambda i: place(i + by)
