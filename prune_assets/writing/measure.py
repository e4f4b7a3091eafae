"""Measure the files of a table against a layout.

The result has ranks of the sort key's bounds, sizes, and faults of each file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import filled, flags_from, from_numpy
from parquet_core.errors import LayoutError
from parquet_core.format.schema import Physical
from parquet_core.layout.bound_layout import find_column
from parquet_core.layout.overlap import intervals_of, overlap_depth
from parquet_core.ranks import ranks
from parquet_core.trust.bounds import without
from parquet_core.trust.fold_pages import fold_pages
from parquet_core.trust.writer import PARQUET_JAVA, application_of
from prune_assets.writing.pick import UNKNOWN, FileNumbers, RewriteReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.layout.overlap import Intervals
    from parquet_core.layout.sort_key import SortKey
    from parquet_core.layout.spec import LayoutSpec
    from parquet_core.trust.bounds import Bounds

    Numbers = NDArray[np.int64]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Measured:
    """Measurements of files, as input of `pick`.

    Entry i describes file `file_indexes[i]` of the index. `keys`, `bloom`: the layout's columns.
    `keys` lacks partition columns, because every file holds one value of them. `key_bounds`: bounds of the leading key
    per row group, unknown if truncated; None without a key.
    """

    index: MetadataIndex
    file_indexes: Numbers
    rows: Numbers
    figures: FileNumbers
    keys: tuple[LeafColumn, ...]
    bloom: dict[LeafColumn, float]
    key_bounds: Bounds | None

    def intervals(self) -> Intervals | None:
        """Return the intervals of the leading key per file, within partitions.

        None without a key.
        """
        if not self.keys:
            return None
        bounds = self.index.page_indexes.filled_bounds(self.keys[0])
        files = fold_pages(bounds, self.index.groups.file, len(self.index.groups.files))
        return intervals_of(files.take(self.file_indexes), self.figures.partition)

    def depth(self) -> float | None:
        """Return the overlap depth of the files on the leading key.

        None without a key.
        """
        intervals = self.intervals()
        return None if intervals is None else overlap_depth(intervals)


def measure(
    index: MetadataIndex,
    layout: LayoutSpec,
    *,
    chosen: Flags,
    partition: Numbers,
    deleted: Numbers | None = None,
    with_delete_files: Flags | None = None,
) -> Measured:
    """Measure the chosen files that have rows. The files must be opened in `index`.

    `partition`: partition number per file.
    `deleted`: number of deleted rows per file.
    `with_delete_files`: files to rewrite because of their delete files.

    Raises LayoutError for a column that the table lacks.
    """
    keys, bloom = _keys(index, layout), {find_column(name, index, "bloom"): fpp for name, fpp in layout.bloom.items()}
    count = len(index.groups.files)
    groups = np.flatnonzero(chosen[index.groups.file] & (index.groups.row_count > 0))
    rows = np.bincount(index.groups.file[groups], index.groups.row_count[groups], minlength=count).astype(np.int64)
    # A file without rows overlaps nothing, and rewriting it would lose the schema.
    file_indexes = np.flatnonzero(chosen & (rows > 0))
    key_bounds = _key_bounds(index, keys[0]) if keys else None
    low, high = (np.zeros(len(index), np.int64),) * 2 if key_bounds is None else _ranks(key_bounds, groups)
    faults = {RewriteReason.BLOOM: _without_filter(index, list(bloom), groups)}
    if with_delete_files is not None:
        faults[RewriteReason.DELETE_FILES] = with_delete_files
    if keys:
        descending = sort_keys(index, layout)[0].descending
        unsorted = _unsorted(index, keys[0], groups, descending=descending)
        faults |= {RewriteReason.ORDER: unsorted, RewriteReason.PAGES: _unpaged(index, keys[0], groups)}
    gone = np.zeros(count, np.int64) if deleted is None else deleted
    figures = FileNumbers(
        partition=partition[file_indexes],
        low=_folded(index, low, groups, lowest=True)[file_indexes],
        high=_folded(index, high, groups, lowest=False)[file_indexes],
        size=index.groups.sizes_of_files()[file_indexes],
        deleted=(gone / np.maximum(rows, 1))[file_indexes],
        faults={reason: flags[file_indexes] for reason, flags in faults.items()},
    )
    return Measured(index, file_indexes, rows, figures, keys, bloom, key_bounds)


def _keys(index: MetadataIndex, layout: LayoutSpec) -> tuple[LeafColumn, ...]:
    keys = [find_column(key.column, index, "sort_by") for key in sort_keys(index, layout)]
    for column in keys:
        if len(column.path) > 1:
            raise LayoutError(f"sort_by: {column.name} is a field of {column.path[0]}; sort by top-level columns")
    return tuple(keys)


def sort_keys(index: MetadataIndex, layout: LayoutSpec) -> list[SortKey]:
    """Return the layout's sort keys, except partition columns: every file holds one value of them."""
    partitions = {column.name.casefold() for column in index.groups.partitions}
    return [key for key in layout.sort_keys if key.column.casefold() not in partitions]


def _ranks(bounds: Bounds, groups: Numbers) -> tuple[Numbers, Numbers]:
    """Return the bounds of row groups as ranks from 1 on.

    0 for a row group of nulls only, because nulls sort first.
    """
    low, high = np.full(len(bounds), UNKNOWN), np.full(len(bounds), UNKNOWN)
    nulls = flags_from(pc.equal(bounds.null_count, from_numpy(bounds.row_count)))
    valid = flags_from(pc.and_(bounds.lower.is_valid(), bounds.upper.is_valid())) & ~nulls
    valid[np.setdiff1d(np.arange(len(bounds)), groups)] = False
    low[valid], high[valid] = ranks(bounds.lower.filter(from_numpy(valid)), bounds.upper.filter(from_numpy(valid)))
    low[nulls], high[nulls] = 0, 0
    return low, high


def _key_bounds(index: MetadataIndex, column: LeafColumn) -> Bounds:
    """Return the bounds of a sort key; truncated ones become unknown.

    Files that overlap only because their bounds are truncated would still overlap after a rewrite.
    """
    bounds = index.page_indexes.filled_bounds(column)
    return without(bounds, flags_from(_cut(bounds.min_exact)) | flags_from(_cut(bounds.max_exact)))


def _cut(exact: pa.Array) -> pa.Array:
    return filled(pc.invert(exact), value=False)


def _folded(index: MetadataIndex, side: Numbers, groups: Numbers, *, lowest: bool) -> Numbers:
    """Return the lowest or highest rank of each file's row groups.

    UNKNOWN if the rank of a row group is unknown.
    """
    most = np.iinfo(np.int64).max
    folded = np.full(len(index.groups.files), most if lowest else UNKNOWN)
    (np.minimum if lowest else np.maximum).at(folded, index.groups.file[groups], side[groups])
    folded[folded == most] = UNKNOWN
    folded[index.groups.file[groups[side[groups] == UNKNOWN]]] = UNKNOWN
    return folded


def _by_file(index: MetadataIndex, groups: Sequence[int] | Numbers) -> Flags:
    """Flag the files that contain at least one of the row groups."""
    flags = np.zeros(len(index.groups.files), np.bool_)
    flags[index.groups.file[np.asarray(groups, np.int64)]] = True
    return flags


def _without_filter(index: MetadataIndex, columns: Sequence[LeafColumn], groups: Numbers) -> Flags:
    """Flag files where a column has values but no bloom filter.

    One row group without a filter is enough.
    """
    lacking = np.zeros(len(index.groups.files), np.bool_)
    for column in columns:
        if column.physical is Physical.BOOLEAN:
            continue
        bounds = index.footers.bounds(column)
        empty = flags_from(pc.equal(bounds.null_count, from_numpy(bounds.row_count)))
        lacking |= _by_file(index, groups[~index.bloom_filters.may_exist(column)[groups] & ~empty[groups]])
    return lacking


def _unsorted(index: MetadataIndex, column: LeafColumn, groups: Numbers, *, descending: bool) -> Flags:
    """Flag files whose bounds prove that rows are not in the order of the key."""
    bounds = index.page_indexes.filled_bounds(column)
    same = index.groups.file[1:] == index.groups.file[:-1]
    # In the direction of the key, a row group must not begin before the end of the previous one.
    is_before, begin, end = (pc.greater, "upper", "lower") if descending else (pc.less, "lower", "upper")
    falls = is_before(getattr(bounds, begin)[1:], getattr(bounds, end)[:-1])
    falls = flags_from(falls)
    pages = index.page_indexes.read(column, groups)
    within = np.diff(pages.row_group) == 0
    broken = np.zeros(len(within), np.bool_)
    # Truncated bounds keep the order of the values, but may reach past the bounds of the next page. Lower bounds are
    # therefore compared with lower bounds, and upper bounds with upper bounds.
    sides = ("lower", "upper")
    pairs = [(side, side) for side in sides] + ([(begin, end)] if not _may_be_cut(column) else [])
    for after, before in pairs:
        behind, ahead = getattr(pages.bounds, after)[1:], getattr(pages.bounds, before)[:-1]
        broken |= flags_from(is_before(behind, ahead))
    unsorted_groups = groups[pages.row_group[1:][broken & within]]
    return _by_file(index, np.flatnonzero(same & falls) + 1) | _by_file(index, unsorted_groups)


def _may_be_cut(column: LeafColumn) -> bool:
    return column.physical in {Physical.BYTE_ARRAY, Physical.FIXED_LEN_BYTE_ARRAY}


def _unpaged(index: MetadataIndex, column: LeafColumn, groups: Numbers) -> Flags:
    """Flag files without a page index of the key.

    A column index that parquet-java omitted does not count as missing, because parquet-java would omit the index again.
    """
    (offsets,) = index.page_indexes.locations([column], groups)
    silent = index.page_indexes.read(column, groups).reason != ""
    by_java = np.array(
        [application_of(footer_kind.created_by) == PARQUET_JAVA for footer_kind in index.groups.provenances]
    )
    lacks = (offsets.reason != "") | (silent & ~by_java[index.groups.provenance_ids[index.groups.file[groups]]])
    return _by_file(index, groups[lacks])
