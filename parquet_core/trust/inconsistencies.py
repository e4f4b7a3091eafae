"""Doubts: statements of a file about a row group that contradict each other, so that none of them is believed.

Doubts are a set of flags for each row group, and for each of its columns once more is read of it.
"""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.format.chunk_places import Conflict
from parquet_core.ragged import any_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.format.footer import Footers

    Doubts = NDArray[np.uint8]


class Doubt(IntFlag):
    """Statements that exclude each other; of whole row groups up to `SHARED_INDEX`, of a column the others."""

    ROWS = 1
    PLACES = 2
    SHARED_FILTER = 4
    SHARED_INDEX = 8
    PAGES = 16
    FILTER = 32


_REASONS = {
    Doubt.ROWS: "the footer contradicts itself about the number of rows",
    Doubt.PLACES: "the footer puts a column chunk where it cannot be, or where something else is",
    Doubt.SHARED_FILTER: "the footer puts several structures into the same bytes, one of them a bloom filter",
    Doubt.SHARED_INDEX: "the footer puts several structures into the same bytes, one of them a page index",
    Doubt.PAGES: "the page index and the statistics of the column chunk contradict each other",
    Doubt.FILTER: "the bloom filter denies a bound that the statistics of the column chunk have",
}
_OF_ALL = Doubt.ROWS | Doubt.PLACES
AGAINST_STATISTICS = _OF_ALL | Doubt.PAGES | Doubt.FILTER
AGAINST_INDEXES = _OF_ALL | Doubt.SHARED_INDEX | Doubt.PAGES
AGAINST_FILTERS = _OF_ALL | Doubt.SHARED_FILTER | Doubt.FILTER
AGAINST_DICTIONARIES = _OF_ALL


def reason_of(doubt: int) -> str:
    """Say why something is not believed, empty when nothing speaks against it.

    >>> reason_of(Doubt.ROWS | Doubt.PAGES), reason_of(0)
    ('the footer contradicts itself about the number of rows', '')
    """
    return next((reason for flag, reason in _REASONS.items() if doubt & flag), "")


def reasons_of(doubts: Doubts, against: Doubt) -> NDArray[np.object_]:
    """Return by entry why it is not believed, empty where it is; `against`: the doubts that count."""
    counted = doubts & np.uint8(against)
    reasons = np.full(len(doubts), "", object)
    for i in np.flatnonzero(counted).tolist():
        reasons[i] = reason_of(int(counted[i]))
    return reasons


def doubts_about(footers: Footers) -> Doubts:
    """Return the doubts about each row group that its footer gives rise to, whatever will be asked of it."""
    added = np.bincount(footers.file, footers.row_count, minlength=len(footers.files))
    doubts = np.zeros(len(footers), np.uint8)
    doubts[(added != footers.num_rows)[footers.file]] |= np.uint8(Doubt.ROWS)
    chunk = np.flatnonzero(footers.conflicts)
    if len(chunk) == 0:
        return doubts
    conflicts, group = footers.conflicts[chunk], np.searchsorted(footers.first_chunk, chunk, side="right") - 1
    few, many = (conflicts & np.uint8(Conflict.FEWER_VALUES)) != 0, (conflicts & np.uint8(Conflict.MORE_VALUES)) != 0
    for doubt, flags in (
        (Doubt.ROWS, few | (many & ~footers.is_repeated()[chunk])),
        (Doubt.PLACES, conflicts & np.uint8(Conflict.DATA)),
        (Doubt.SHARED_FILTER, conflicts & np.uint8(Conflict.SHARED_FILTER)),
        (Doubt.SHARED_INDEX, conflicts & np.uint8(Conflict.SHARED_INDEX)),
    ):
        doubts[any_in(flags != 0, group, len(footers))] |= np.uint8(doubt)
    return doubts
