"""Find contradictions in the metadata of files. Contradicting metadata are not trusted.

Contradictions are recorded as `Doubt` flags: for whole row groups when footers are read, and for a column when its
structures are read.
"""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import filled, flags_from, from_numpy, numbers_from, ordered_numbers, valid_flags
from parquet_core.bloom import can_hash, each_may_contain, hash_values
from parquet_core.format.chunk_places import Conflict
from parquet_core.format.page_index import BoundaryOrder
from parquet_core.format.schema import Physical
from parquet_core.ragged import any_in, rows_with

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.arrays import Flags, Numbers
    from parquet_core.bloom import Blocks
    from parquet_core.format.footer import Footers
    from parquet_core.format.schema import LeafColumn
    from parquet_core.trust.bounds import Bounds

    Doubts = NDArray[np.uint8]


class Doubt(IntFlag):
    """Contradictions in metadata. Members up to SHARED_INDEX concern whole row groups, later members single columns."""

    ROWS = 1
    PLACES = 2
    SHARED_FILTER = 4
    SHARED_INDEX = 8
    PAGES = 16
    FILTER = 32


_REASONS = {
    Doubt.ROWS: "the footer contradicts itself about the number of rows",
    Doubt.PLACES: "the footer gives a column chunk an impossible position, or the position of another structure",
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
    """Return why metadata are not trusted; "" if `doubt` has no flag.

    >>> reason_of(Doubt.ROWS | Doubt.PAGES), reason_of(0)
    ('the footer contradicts itself about the number of rows', '')
    """
    return next((reason for flag, reason in _REASONS.items() if doubt & flag), "")


def reasons_of(doubts: Doubts, against: Doubt) -> NDArray[np.object_]:
    """Return why each entry is not trusted; "" if it is trusted.

    `against`: the flags that matter.
    """
    counted = doubts & np.uint8(against)
    reasons = np.full(len(doubts), "", object)
    for i in np.flatnonzero(counted).tolist():
        reasons[i] = reason_of(int(counted[i]))
    return reasons


def doubts_about(footers: Footers) -> Doubts:
    """Return contradictions within footers, as Doubt bits of each row group."""
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


# Pages per block when pages are compared with the bounds of their chunks.
_BLOCK = 1 << 16


def contradict_pages(chunks: Bounds, pages: Bounds, first: Numbers) -> Flags:
    """Return flags of column chunks whose statistics contradict their pages.

    `first`: the pages of chunk i are `first[i]` to `first[i + 1]`; every chunk has a page.
    """
    if len(chunks) == 0:
        return np.zeros(0, np.bool_)
    nulls = _sums(pages.null_count, 0, first)
    bounded = valid_flags(chunks.lower) | valid_flags(chunks.upper)
    wrong: Flags = bounded & (nulls == chunks.row_count) & (chunks.row_count > 0)
    wrong |= _is_out_of_range(chunks.null_count, nulls, _sums(pages.null_count, pages.row_count, first))
    nans = _sums(pages.nan_count, 0, first), _sums(pages.nan_count, pages.row_count, first)
    wrong |= _is_out_of_range(chunks.nan_count, *nans)
    if ordered_numbers(pages.lower) is None:
        return wrong | _contradicts_text_pages(chunks, pages, first)
    return wrong | _contradicts_number_pages(chunks, pages, first)


def out_of_order(pages: Bounds, first: Numbers, order: Numbers) -> Flags:
    """Return flags of column chunks whose pages are not in the claimed boundary order.

    `order`: for each chunk, the claimed BoundaryOrder as a number.
    """
    wrong = np.zeros(len(order), np.bool_)
    claimed = [
        (claimed_order, pc.greater if claimed_order == BoundaryOrder.ASCENDING else pc.less) for claimed_order in (1, 2)
    ]
    bounded = valid_flags(pages.lower) & valid_flags(pages.upper)
    bounded_pages = np.flatnonzero(bounded)
    chunk = np.searchsorted(first, bounded_pages, side="right") - 1
    for claimed_order, compare in claimed:
        if not np.any(order == claimed_order):
            continue
        for side in (pages.lower, pages.upper):
            values = _comparable(side if len(bounded_pages) == len(side) else side.take(from_numpy(bounded_pages)))
            turned = flags_from(compare(values[:-1], values[1:])) & (chunk[1:] == chunk[:-1])
            wrong[chunk[1:][turned]] |= order[chunk[1:][turned]] == claimed_order
    return wrong


def _comparable(values: pa.Array) -> pa.Array:
    return values.cast(pa.uint8()) if pa.types.is_boolean(values.type) else values


def _sums(counts: pa.Array, unknown: int | Numbers, first: Numbers) -> Numbers:
    """Return the sum of the page counts of each chunk.

    `unknown`: replaces unknown counts.
    """
    counted = numbers_from(counts)
    if counts.null_count:
        counted = np.where(valid_flags(counts), counted, unknown)
    sums: Numbers = np.add.reduceat(counted, first[:-1])
    return sums


def _is_out_of_range(counts: pa.Array, least: Numbers, most: Numbers) -> Flags:
    totals = numbers_from(counts)
    beyond: Flags = valid_flags(counts) & ((totals < least) | (totals > most))
    return beyond


def _contradicts_text_pages(chunks: Bounds, pages: Bounds, first: Numbers) -> Flags:
    """Flag chunks of strings whose bounds contradict their pages.

    Bounds of strings may be truncated, and shorter in pages than in chunks. So a contradiction is a page outside the
    chunk's bounds, or an exact bound that no page reaches.
    """
    apart, low_met, high_met = (np.zeros(len(pages), np.bool_) for _ in range(3))
    for start in range(0, len(pages), _BLOCK):
        block = slice(start, min(start + _BLOCK, len(pages)))
        chunk = from_numpy(np.searchsorted(first, np.arange(block.start, block.stop), side="right") - 1)
        low, high, part = chunks.lower.take(chunk), chunks.upper.take(chunk), pages.slice(block.start, block.stop)
        apart[block] = flags_from(pc.greater(part.lower, high)) | flags_from(pc.less(part.upper, low))
        low_met[block], high_met[block] = (
            flags_from(pc.less_equal(part.lower, low)),
            flags_from(pc.greater_equal(part.upper, high)),
        )
    contradicted: Flags = rows_with(apart, first)
    for met, exact, of_pages in ((low_met, chunks.min_exact, pages.lower), (high_met, chunks.max_exact, pages.upper)):
        claimed = valid_flags(exact) & flags_from(exact)
        if claimed.any():
            contradicted |= claimed & _bounds_every_page(of_pages, pages, first) & ~rows_with(met, first)
    return contradicted


def _contradicts_number_pages(chunks: Bounds, pages: Bounds, first: Numbers) -> Flags:
    """Flag chunks of numbers whose bounds contradict their pages.

    Bounds of numbers are never truncated. So a contradiction is a page outside the chunk's bounds, or a bound that
    differs from the bound of all pages.
    """
    low, high = _numbers(chunks.lower), _numbers(chunks.upper)
    least_low, most_low = _extremes(pages.lower, first)
    least_high, most_high = _extremes(pages.upper, first)
    known_low, known_high = valid_flags(chunks.lower), valid_flags(chunks.upper)
    apart = ((most_low > high) & known_high) | ((least_high < low) & known_low)
    unlike_low = (
        (least_low != low) & known_low & _bounds_every_page(pages.lower, pages, first) & _may_be_exact(chunks.min_exact)
    )
    unlike_high = (most_high != high) & known_high & _bounds_every_page(pages.upper, pages, first)
    unlike: Flags = apart | unlike_low | (unlike_high & _may_be_exact(chunks.max_exact))
    return unlike


def _numbers(values: pa.Array) -> NDArray[Any]:
    comparable = ordered_numbers(values)
    assert comparable is not None
    return comparable


def _extremes(values: pa.Array, first: Numbers) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the smallest and the largest number of each chunk's pages; neutral extremes if no number is known."""
    bound_numbers, bounded = _numbers(values), valid_flags(values)
    floating = bound_numbers.dtype.kind == "f"
    top, bottom = (
        (np.inf, -np.inf) if floating else (np.iinfo(bound_numbers.dtype).max, np.iinfo(bound_numbers.dtype).min)
    )
    whole = bool(bounded.all())
    least = np.minimum.reduceat(bound_numbers if whole else np.where(bounded, bound_numbers, top), first[:-1])
    return least, np.maximum.reduceat(bound_numbers if whole else np.where(bounded, bound_numbers, bottom), first[:-1])


def _bounds_every_page(values: pa.Array, pages: Bounds, first: Numbers) -> Flags:
    """Flag chunks with at least one page bound in which every page with values has a bound."""
    bounded = valid_flags(values)
    if bounded.all():
        return np.ones(len(first) - 1, np.bool_)
    nulls, nans = (np.where(valid_flags(of), numbers_from(of), 0) for of in (pages.null_count, pages.nan_count))
    silent = ~bounded & (nulls + nans != pages.row_count)
    return rows_with(bounded, first) & ~rows_with(silent, first)


def _may_be_exact(exact: pa.Array) -> Flags:
    return ~valid_flags(exact) | flags_from(exact)


def contradict_filters(column: LeafColumn, chunks: Bounds, filters: Sequence[Blocks | str]) -> Flags:
    """Return flags of column chunks whose bloom filter excludes their smallest or largest value.

    `column`: the column as all files store it.
    `filters`: the filter of each chunk, or the reason why it is missing.

    A bound of strings counts as a value only if the file marks it as exact.
    """
    wrong = np.zeros(len(chunks), np.bool_)
    if not _has_hashable_bounds(column, chunks):
        return wrong
    as_a_rule = not pa.types.is_binary(chunks.lower.type)
    present = np.array([not isinstance(blocks, str) for blocks in filters], np.bool_)
    for values, exact in ((chunks.lower, chunks.min_exact), (chunks.upper, chunks.max_exact)):
        tested = np.flatnonzero(
            present & valid_flags(values) & ~_is_zero(values) & flags_from(filled(exact, as_a_rule))
        )
        if len(tested):
            hashes = hash_values(column, values.take(from_numpy(tested)))
            wrong[tested] |= ~each_may_contain([cast("Blocks", filters[i]) for i in tested.tolist()], hashes)
    return wrong


def _is_zero(values: pa.Array) -> Flags:
    """Return flags of zero bounds, which may represent -0.0 or 0.0."""
    floats = ordered_numbers(values) if pa.types.is_floating(values.type) else None
    return np.zeros(len(values), np.bool_) if floats is None else floats == 0


def _has_hashable_bounds(column: LeafColumn, chunks: Bounds) -> bool:
    arrow_type = chunks.lower.type
    if column.physical is Physical.BYTE_ARRAY:
        return pa.types.is_binary(arrow_type) and can_hash(column)
    return (
        arrow_type == column.type
        and not pa.types.is_boolean(arrow_type)
        and ordered_numbers(chunks.lower) is not None
        and can_hash(column)
    )
