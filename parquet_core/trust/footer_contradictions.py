"""Contradictions within a footer: its numbers of rows, and the byte ranges that it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.format.chunk_places import Conflict
from parquet_core.ragged import any_in
from parquet_core.trust.doubts import Doubt

if TYPE_CHECKING:
    from parquet_core.format.footer import Footers
    from parquet_core.trust.doubts import Doubts


def doubts_about(footers: Footers) -> Doubts:
    """Return the doubts about each row group that its footer gives rise to, whatever will be asked of it."""
    added = np.bincount(footers.file, footers.row_count, minlength=len(footers.files))
    found = np.zeros(len(footers), np.uint8)
    found[(added != footers.num_rows)[footers.file]] |= np.uint8(Doubt.ROWS)
    chunk = np.flatnonzero(footers.conflicts)
    if len(chunk) == 0:
        return found
    conflicts, group = footers.conflicts[chunk], np.searchsorted(footers.first_chunk, chunk, side="right") - 1
    few, many = (conflicts & np.uint8(Conflict.FEWER_VALUES)) != 0, (conflicts & np.uint8(Conflict.MORE_VALUES)) != 0
    for doubt, flags in (
        (Doubt.ROWS, few | (many & ~footers.is_repeated()[chunk])),
        (Doubt.PLACES, conflicts & np.uint8(Conflict.DATA)),
        (Doubt.SHARED_FILTER, conflicts & np.uint8(Conflict.SHARED_FILTER)),
        (Doubt.SHARED_INDEX, conflicts & np.uint8(Conflict.SHARED_INDEX)),
    ):
        found[any_in(flags != 0, group, len(footers))] |= np.uint8(doubt)
    return found
