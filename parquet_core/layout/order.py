"""Order of the sort key, proven at three strengths: bounds of row groups, bounds of pages, the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from parquet_core.arrow_arrays import flags_from
from parquet_core.format.page_index import BoundaryOrder, boundary_order
from parquet_core.format.schema import Physical
from parquet_core.layout.places import file_name, row_group_place
from parquet_core.layout.spec import Finding, Severity
from parquet_core.ranks import ranks
from parquet_core.storage import open_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.trust.bounds import Bounds

_REMEDY = "write through prune_assets.write, or sort within partitions by the key just before the write"


def check_order(index: MetadataIndex, sort_key: Sequence[LeafColumn], *, read_rows: bool) -> Iterator[Finding]:
    """Report the order of the key inside every file, ascending with nulls first, at each strength."""
    if not sort_key:
        return
    yield _by_row_groups(index, sort_key[0])
    yield _by_pages(index, sort_key[0])
    if read_rows:
        yield _by_rows(index, sort_key)


def _by_row_groups(index: MetadataIndex, column: LeafColumn) -> Finding:
    bounds = index.bounds_with_pages(column)
    same_file = index.file[1:] == index.file[:-1]
    steps = _falls(bounds)
    broken = np.flatnonzero(same_file & steps)
    if len(broken):
        place = row_group_place(index, int(broken[0]) + 1, column)
        message = f"strength row groups: {len(broken)} row groups begin below the end of the one before"
        return Finding("order.row_groups", Severity.ERROR, place, message, _REMEDY)
    message = (
        f"strength row groups: ascending in all {len(index.files)} files, by the bounds of {len(index)} row groups"
    )
    return Finding("order.row_groups", Severity.INFO, f"column {column.name}", message)


def _falls(bounds: Bounds) -> NDArray[np.bool_]:
    """Tell for each container but the first whether it surely begins below the upper bound before it."""
    falls = pc.less(bounds.lower[1:], bounds.upper[:-1])
    return flags_from(falls)


def _by_pages(index: MetadataIndex, column: LeafColumn) -> Finding:
    positions = np.flatnonzero(index.row_count > 0)
    place = f"column {column.name}"
    if column.physical is Physical.BYTE_ARRAY:
        message = "strength pages: not provable, a column index may hold cut strings; see strength rows"
        return Finding("order.pages", Severity.INFO, place, message)
    batch = index.pages(column, positions)
    without = np.flatnonzero(batch.reason != "")
    if len(without):
        where = row_group_place(index, int(positions[without[0]]), column)
        message = f"strength pages: no usable column index ({batch.reason[without[0]]})"
        return Finding("order.pages", Severity.ERROR, where, message, "see the findings on the column index")
    count = np.diff(batch.first)
    group = np.repeat(np.arange(len(count)), count)
    broken = np.union1d(_not_ascending(batch.bounds, group), group[1:][_falls(batch.bounds) & (np.diff(group) == 0)])
    if len(broken):
        first = int(broken[0])
        pages = batch.bounds.take(np.flatnonzero(group == first))
        order = boundary_order(pages.lower, pages.upper)
        how = "overlap" if order is BoundaryOrder.ASCENDING else f"are {order.name}"
        message = f"strength pages: its {len(pages)} pages {how}"
        where = row_group_place(index, int(positions[first]), column)
        return Finding("order.pages", Severity.ERROR, where, message, _REMEDY)
    single, proven = int(np.count_nonzero(count < 2)), int(np.count_nonzero(count >= 2))
    flags_differ = int(np.count_nonzero(batch.boundary_order != BoundaryOrder.ASCENDING))
    message = f"strength pages: ASCENDING without overlap in {proven} row groups of two pages or more"
    message += f"; {single} row groups have one page, which proves nothing" if single else ""
    message += f"; {flags_differ} carry another boundary order than their bounds have" if flags_differ else ""
    return Finding("order.pages", Severity.INFO, place, message)


def _not_ascending(bounds: Bounds, group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the groups in which a known bound is below that of the page before it, null pages left out."""
    known = np.flatnonzero(flags_from(pc.and_(bounds.lower.is_valid(), bounds.upper.is_valid())))
    pages, here = bounds.take(known), group[known]
    below = [flags_from(pc.less(side[1:], side[:-1])) for side in (pages.lower, pages.upper)]
    return np.unique(here[1:][(below[0] | below[1]) & (np.diff(here) == 0)])


def _by_rows(index: MetadataIndex, sort_key: Sequence[LeafColumn]) -> Finding:
    names, stored = [column.name for column in sort_key], [index.name_in_files(column) for column in sort_key]
    total = 0
    for number, file in enumerate(index.files):
        with pq.ParquetFile(open_file(file)) as parquet:
            table = parquet.read(columns=stored)
        # What a file lacks is null in all of its rows.
        broken = first_unsorted(table, [name for name in stored if name in table.column_names])
        if broken is not None:
            place = f"{file_name(index, number)}, row {broken:,}, column {', '.join(names)}"
            message = f"strength rows: row {broken:,} sorts before row {broken - 1:,}"
            return Finding("order.rows", Severity.ERROR, place, message, _REMEDY)
        total += table.num_rows
    message = f"strength rows: all {total:,} rows ascend inside their files"
    return Finding("order.rows", Severity.INFO, f"column {', '.join(names)}", message)


def first_unsorted(table: pa.Table, names: Sequence[str]) -> int | None:
    """Return the first row that sorts before its predecessor by these columns, nulls first; None if none does."""
    falls = np.zeros(max(table.num_rows - 1, 0), np.bool_)
    tied = np.ones_like(falls)
    for name in names:
        values = table.column(name).combine_chunks()
        values = values.cast(pa.binary()) if pa.types.is_string(values.type) else values
        (rank,) = ranks(values)
        rank[flags_from(values.is_null())] = 0  # nulls first: the ranks of values begin at 1
        step = np.diff(rank)
        falls |= tied & (step < 0)
        tied &= step == 0
    broken = np.flatnonzero(falls)
    return int(broken[0]) + 1 if len(broken) else None
