"""Row order of a candidate layout, and its division into files, row groups and pages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from prune_assets.simulation.sample import NULL
from prune_assets.tables.writes.curves import bits_per_column, curve_positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.format.schema import Path
    from parquet_core.layout.sort_key import SortKey
    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.simulation.sample import Sample

    Numbers = NDArray[np.int64]

_WORD = 63
# A page with fewer sampled rows is assumed to be larger, because too few rows say nothing about its bounds.
_LEAST_SAMPLED = 16


@dataclass(frozen=True)
class Cut:
    """Sampled rows in the order of a layout, with row groups and pages.

    `order`: numbers of the sampled rows.
    `keys`: columns of the order, the slowest first.
    `is_curve`: True if the order follows a space-filling curve.
    `file`: file of each row group.
    `group`: first row of each row group, counted over the table.
    `total`: rows of the table.
    `page_rows`: maximum rows of a page.
    """

    order: Numbers
    keys: tuple[Path, ...]
    is_curve: bool
    file: Numbers
    group: Numbers
    total: int
    page_rows: int

    @property
    def rate(self) -> float:
        """Sampled share of the rows."""
        return len(self.order) / self.total

    @property
    def width(self) -> int:
        """Number of pages that together have as many sampled rows as one page has rows."""
        return max(1, round(1 / self.rate))

    @property
    def group_rows(self) -> Numbers:
        """Number of rows of each row group."""
        return np.diff(self.group, append=self.total)

    @cached_property
    def pages(self) -> Numbers:
        """First row of each page."""
        return cut_evenly(self.group, self.total, self.page_rows)

    @cached_property
    def group_of_page(self) -> Numbers:
        """Row group of each page."""
        return np.searchsorted(self.group, self.pages, "right") - 1

    @cached_property
    def group_of_sampled(self) -> Numbers:
        """Row group of each sampled row."""
        groups = np.empty_like(self.order)
        sampled = np.diff(self.sampled(self.group), append=len(self.order))
        groups[self.order] = np.repeat(np.arange(len(self.group)), sampled)
        return groups

    def sampled(self, starts: Numbers) -> Numbers:
        """Return the index of the first sampled row of each container.

        `starts`: first row of each container, counted over the table.
        """
        return np.minimum((starts * self.rate).round().astype(np.int64), max(len(self.order) - 1, 0))


def cut_evenly(starts: Numbers, total: int, most: int) -> Numbers:
    """Cut files or row groups into parts of `most` rows; return the first row of each part.

    The last part of each file or row group may be smaller.

    >>> cut_evenly(np.array([0, 50]), 80, 20).tolist()
    [0, 20, 40, 50, 70]
    """
    rows = np.diff(starts, append=total)
    parts = -(-rows // most)
    index = np.arange(int(parts.sum())) - np.repeat(np.cumsum(parts) - parts, parts)
    begins: Numbers = np.repeat(starts, parts) + index * most
    return begins


class OrderedSample(NamedTuple):
    """Sampled rows in the order of a layout.

    `order`: numbers of the rows.
    `keys`: columns of the order.
    `in_partitions`: number of sampled rows of each partition.
    """

    order: Numbers
    keys: tuple[Path, ...]
    in_partitions: Numbers


def ordered(sample: Sample, layout: LayoutSpec) -> OrderedSample:
    """Sort the sample in the order of a layout; without keys the rows keep their order."""
    partitions = [_path(sample, name) for name in layout.partition_by]
    keys = [_path(sample, name) for name in layout.curve_by or layout.sort_columns]
    partition = np.zeros(sample.rows, np.int64)
    for column in (sample.columns[path] for path in partitions):
        together = partition * (len(column.values) + 2) + column.codes + 1
        partition = np.unique(together, return_inverse=True)[1]
    rank = [_curve(sample, keys, hilbert=bool(layout.hilbert_by))] if layout.curve_by else _codes(sample, keys, layout)
    order = in_order([partition, *rank] if partitions else rank, sample.rows)
    return OrderedSample(order, (*partitions, *keys), np.bincount(partition))


def in_order(keys: Sequence[Numbers], rows: int) -> Numbers:
    """Return the rows in the order of keys, the slowest key first.

    Rows with equal keys keep their order.

    Keys and row number usually fit into one integer, which sorts several times faster than `lexsort`.

    >>> in_order([np.array([1, 0, 1]), np.array([5, 5, -1])], 3).tolist()
    [1, 2, 0]
    """
    bits, together = max(rows - 1, 1).bit_length(), np.zeros(rows, np.int64)
    for key in keys:
        least = int(key.min(initial=0))
        of_key = (int(key.max(initial=0)) - least).bit_length()
        together, bits = (together << of_key) | (key - least), bits + of_key
    if bits >= _WORD:
        return np.lexsort((*reversed(keys),))
    of_row = max(rows - 1, 1).bit_length()
    together = (together << of_row) | np.arange(rows)
    together.sort()
    return together & ((1 << of_row) - 1)


def cut_of(sample: Sample, layout: LayoutSpec, bytes_per_row: float, rows: OrderedSample | None = None) -> Cut:
    """Cut the sample into files, row groups and pages of a layout.

    `rows`: the sample in the order of the layout; None to sort it.
    """
    order, keys, sampled = rows or ordered(sample, layout)
    ends = np.round(np.cumsum(sampled) / max(sample.rate, 1e-300)).astype(np.int64)
    begins = np.append(0, ends[:-1])
    file = _parts(begins, sample.total, layout, bytes_per_row)
    limit = layout.rows_of_row_group(sample.total) or sample.total
    limit = min(limit, max(1, int(layout.row_group_bytes / max(bytes_per_row, 1e-9))))
    if layout.row_group_rows is not None:
        limit = layout.row_group_rows
    group = cut_evenly(file, sample.total, limit)
    page_rows = max(layout.page_rows, round(_LEAST_SAMPLED / sample.rate))
    return Cut(
        order=order,
        keys=keys,
        is_curve=bool(layout.curve_by),
        file=np.searchsorted(file, group, "right") - 1,
        group=group,
        total=sample.total,
        page_rows=page_rows if sample.rate < 1 else layout.page_rows,
    )


def _path(sample: Sample, name: str) -> Path:
    return next(path for path in sample.columns if len(path) == 1 and path[0].casefold() == name.casefold())


def _codes(sample: Sample, keys: Sequence[Path], layout: LayoutSpec) -> list[Numbers]:
    codes = [sample.columns[path].codes for path in keys]
    return [_ranked(code, key) for code, key in zip(codes, layout.sort_keys, strict=True)]


def _ranked(codes: Numbers, key: SortKey) -> Numbers:
    """Return ranks that ascend in the order of a sort key, with nulls where the key puts them."""
    ranks = -codes if key.descending else codes
    null = 1 + max(ranks.max(initial=0), 0) if key.nulls_last else min(ranks.min(initial=0), 0) - 1
    key_ranks: Numbers = np.where(codes == NULL, null, ranks)
    return key_ranks


def _parts(begins: Numbers, total: int, layout: LayoutSpec, bytes_per_row: float) -> Numbers:
    """Return the first row of each file; files of a partition have the same size.

    `begins`: first row of each partition. The number of files of a partition follows from its bytes, unless the layout
    sets the number.
    """
    rows = np.diff(begins, append=total)
    count = np.ceil(rows * bytes_per_row / layout.target_file_bytes).astype(np.int64)
    if layout.files is not None:
        count = np.full(len(rows), layout.files)
    count = np.clip(count, 1, np.maximum(rows, 1))
    index = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    parts: Numbers = np.repeat(begins, count) + index * np.repeat(rows, count) // np.repeat(count, count)
    return parts


def _curve(sample: Sample, keys: Sequence[Path], *, hilbert: bool) -> Numbers:
    """Return the position of each row on the space-filling curve, computed from value ranks as for a write."""
    bits = bits_per_column(len(keys))
    cell: NDArray[Any] = np.zeros(sample.rows, np.uint16)
    for path in keys:
        codes = sample.columns[path].codes + 1
        upto = np.cumsum(np.bincount(codes))
        cell = (cell << bits) | (((upto - 1) << bits) // sample.rows).astype(np.uint16)[codes]
    positions: Numbers = curve_positions(len(keys), hilbert=hilbert)[cell]
    return positions
