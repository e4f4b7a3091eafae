"""Check the order by the sort key.

Bounds of row groups, bounds of pages and the rows are checked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from
from parquet_core.errors import UnsupportedFeature
from parquet_core.fix import Fix, Step
from parquet_core.format.page_index import BoundaryOrder, boundary_order
from parquet_core.format.schema import Physical
from parquet_core.layout.clustering import check_clustering, check_low_cardinality
from parquet_core.layout.entry import Check, Code
from parquet_core.layout.places import file_name, row_group_place
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import counted
from parquet_core.storage import Traffic
from parquet_core.values import open_values, read_arrow_footers, reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.layout.bound_layout import BoundLayout, OrderedColumn
    from parquet_core.layout.sort_key import SortKey
    from parquet_core.storage import DataFile
    from parquet_core.trust.bounds import Bounds
    from parquet_core.values import Footer

_SIDE = {BoundaryOrder.ASCENDING: "below", BoundaryOrder.DESCENDING: "above"}
_FIX = Fix("sort the files by the key: ", Step.OPTIMIZE)
_FIX_OF_ROWS = Fix("sort the files by the key: ", Step.OPTIMIZE_ROWS)


def unsorted_files(index: MetadataIndex, files: Sequence[int], sort_key: Sequence[OrderedColumn]) -> list[int]:
    """Return the files in which a row sorts before its predecessor.

    Reads the sort key of these files. `files`: file numbers.
    """
    stored = [each.key._replace(column=index.groups.name_in_files(each.column)) for each in sort_key]
    chosen = [index.groups.files[i] for i in files]
    footers = read_arrow_footers(chosen, traffic=Traffic())
    broken = (_first_unsorted_in(file, footer, stored)[0] for file, footer in zip(chosen, footers, strict=True))
    return [file for file, row in zip(files, broken, strict=True) if row is not None]


def check_order(bound: BoundLayout) -> Iterator[Finding]:
    """Report whether rows are ordered by the sort key or, for a curve, clustered along the curve."""
    yield from check_clustering(bound)
    for column in bound.partition_columns:
        message = "a partition column: every file holds one value of it"
        yield Finding("order.partitions", Severity.INFO, f"column {column.name}", message)
    if bound.sort_key:
        yield _by_row_groups(bound.index, bound.sort_key[0])
        yield _by_pages(bound.index, bound.sort_key[0])
        if bound.read_values:
            yield _by_rows(bound.index, bound.sort_key)
    yield from check_low_cardinality(bound)


def _by_row_groups(index: MetadataIndex, ordered: OrderedColumn) -> Finding:
    column = ordered.column
    bounds = index.page_indexes.filled_bounds(column)
    same_file = index.groups.file[1:] == index.groups.file[:-1]
    steps = _out_of_order_flags(bounds, descending=ordered.key.descending)
    broken = np.flatnonzero(same_file & steps)
    if len(broken):
        location = row_group_place(index, int(broken[0]) + 1, column)
        count = counted(len(broken), "row group")
        message = f"{count} begin {_SIDE[ordered.order]} the end of the row group before them in their file"
        return Finding("order.row_groups", Severity.ERROR, location, message, fix=_FIX)
    groups = np.bincount(index.groups.file, minlength=len(index.groups.files))
    several, single = int((groups > 1).sum()), int((groups == 1).sum())
    message = f"row groups are {ordered.order.name.lower()} by their bounds in {counted(several, 'file')}"
    if not several:
        message = "not applicable: each file has one row group"
    elif single:
        message += f"; {counted(single, 'file')} with a single row group are left out"
    return Finding("order.row_groups", Severity.INFO, f"column {column.name}", message)


def _out_of_order_flags(bounds: Bounds, *, descending: bool) -> NDArray[np.bool_]:
    """Flag containers that certainly begin before the previous container ends.

    The result has no flag for the first container. With `descending`, the direction is reversed.
    """
    if descending:
        return flags_from(pc.greater(bounds.upper[1:], bounds.lower[:-1]))
    return flags_from(pc.less(bounds.lower[1:], bounds.upper[:-1]))


def _by_pages(index: MetadataIndex, ordered: OrderedColumn) -> Finding:
    column, descending = ordered.column, ordered.key.descending
    positions = np.flatnonzero(index.groups.row_count > 0)
    location = f"column {column.name}"
    if column.physical is Physical.BYTE_ARRAY:
        message = "not applicable: a column index may hold shortened strings; `order.rows` reads the rows"
        return Finding("order.pages", Severity.INFO, location, message)
    batch = index.page_indexes.read(column, positions)
    without = np.flatnonzero(batch.reason != "")
    if len(without):
        where = row_group_place(index, int(positions[without[0]]), column)
        message = f"no usable column index ({batch.reason[without[0]]})"
        return Finding(
            "order.pages",
            Severity.ERROR,
            where,
            message,
            "as the finding on the column index says (column_index.absent)",
        )
    count = np.diff(batch.first)
    group = np.repeat(np.arange(len(count)), count)
    falls = _out_of_order_flags(batch.bounds, descending=descending) & (np.diff(group) == 0)
    broken = np.union1d(_out_of_order(batch.bounds, group, descending=descending), group[1:][falls])
    if len(broken):
        first = int(broken[0])
        pages = batch.bounds.take(np.flatnonzero(group == first))
        order = boundary_order(pages.lower, pages.upper)
        how = "overlap" if order is ordered.order else f"are {order.name.lower()}"
        message = f"its {len(pages)} pages {how}"
        where = row_group_place(index, int(positions[first]), column)
        return Finding("order.pages", Severity.ERROR, where, message, fix=_FIX)
    single, proven = int(np.count_nonzero(count < 2)), int(np.count_nonzero(count >= 2))
    flags_differ = int(np.count_nonzero(batch.boundary_order != ordered.order))
    message = f"pages are {ordered.order.name.lower()} without overlap in {counted(proven, 'row group')}"
    if not proven:
        message = "not applicable: each row group has one page"
    elif single:
        message += f"; {counted(single, 'row group')} with a single page are left out"
    message += f"; {flags_differ} have a boundary order that contradicts their bounds" if flags_differ else ""
    return Finding("order.pages", Severity.INFO, location, message)


def _out_of_order(bounds: Bounds, group: NDArray[np.int64], *, descending: bool) -> NDArray[np.int64]:
    """Return the row groups whose page bounds are out of order.

    Pages without bounds, such as null pages, are left out.
    """
    before = pc.greater if descending else pc.less
    bounded = np.flatnonzero(flags_from(pc.and_(bounds.lower.is_valid(), bounds.upper.is_valid())))
    pages, here = bounds.take(bounded), group[bounded]
    below = [flags_from(before(side[1:], side[:-1])) for side in (pages.lower, pages.upper)]
    return np.unique(here[1:][(below[0] | below[1]) & (np.diff(here) == 0)])


def _by_rows(index: MetadataIndex, sort_key: Sequence[OrderedColumn]) -> Finding:
    stored = [each.key._replace(column=index.groups.name_in_files(each.column)) for each in sort_key]
    key, total = f"column {', '.join(each.column.name for each in sort_key)}", 0
    footers = read_arrow_footers(index.groups.files, traffic=Traffic())
    for file_index, (file, footer) in enumerate(zip(index.groups.files, footers, strict=True)):
        try:
            broken, rows = _first_unsorted_in(file, footer, stored)
        except UnsupportedFeature as error:
            message = f"the order of rows cannot be proven: {error}"
            return Finding("order.rows", Severity.WARN, key, message, "sort by a column whose values can be compared")
        if broken is not None:
            location = f"{file_name(index, file_index)}, row {broken:,}, {key}"
            names = ", ".join(each.column.name for each in sort_key)
            message = f"rows are not sorted by {names}: first break at row {broken:,}"
            fix = _FIX_OF_ROWS
            other = [key._replace(nulls_last=not key.nulls_last) for key in stored]
            if _first_unsorted_in(file, footer, other)[0] is None:
                message += "; the file is sorted with its nulls at the other end"
                spelled = [f'"{key._replace(nulls_last=not key.nulls_last)}"' for _, key in sort_key]
                fix = replace(fix, before=f"write sort_by: [{', '.join(spelled)}], or {fix.before}")
            return Finding("order.rows", Severity.ERROR, location, message, fix=fix)
        total += rows
    ways = {"descend" if each.key.descending else "ascend" for each in sort_key}
    way = ways.pop() if len(ways) == 1 else "are sorted"
    return Finding("order.rows", Severity.INFO, key, f"all {total:,} rows {way} inside their files")


def _first_unsorted_in(file: DataFile, footer: Footer, keys: Sequence[SortKey]) -> tuple[int | None, int]:
    """Return the first unsorted row of a file, and the number of rows before it.

    An unsorted row sorts before its predecessor. If all rows are sorted, return None and the number of rows.
    """
    rows, last = 0, None
    with open_values(file, footer=footer) as values:
        # A column that the file lacks is null in every row, so it cannot break the order.
        there = [key for key in keys if key.column in values.schema.names]
        if not there:
            return None, footer.num_rows
        names = [key.column for key in there]
        with reading(file, f"column {', '.join(names)}"):
            for batch in values.batches(values.row_groups, names):
                broken = first_unsorted(pa.Table.from_batches([batch] if last is None else [last, batch]), there)
                if broken is not None:
                    return rows + broken - (last is not None), rows
                rows += len(batch)
                last = batch.slice(len(batch) - 1) if len(batch) else last
    return None, rows


def first_unsorted(table: pa.Table, keys: Sequence[SortKey]) -> int | None:
    """Return the first row that sorts before its predecessor.

    None if the table is sorted.
    """
    falls = np.zeros(max(table.num_rows - 1, 0), np.bool_)
    tied = np.ones_like(falls)
    for key in keys:
        values = table.column(key.column).combine_chunks()
        if not pa.types.is_null(values.type):
            less, same = _steps(_comparable(values), key)
            falls |= tied & less
            tied &= same
    broken = np.flatnonzero(falls)
    return int(broken[0]) + 1 if len(broken) else None


def _comparable(values: pa.Array) -> pa.Array:
    """Cast values to a type that Arrow compares in the same order."""
    if pa.types.is_float16(values.type):
        return values.cast(pa.float32())
    # Strings are compared as bytes, because invalid UTF-8 has an order too.
    return values.cast(pa.binary()) if pa.types.is_string(values.type) else values


def _steps(values: pa.Array, key: SortKey) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Flag values that sort before their predecessor, and values that equal it.

    The results have no flags for the first value.
    """
    before, after = values[:-1], values[1:]
    sorts_before = pc.greater if key.descending else pc.less
    less, same = flags_from(sorts_before(after, before)), flags_from(pc.equal(after, before))
    is_float = pa.types.is_floating(values.type)
    if values.null_count or is_float:
        # NaN sorts above all other values. Nulls sort before or after everything else, NaN included.
        level = np.where(flags_from(pc.is_valid(values)), 0, 2 if key.nulls_last else -2).astype(np.int8)
        if is_float:
            level += flags_from(pc.is_nan(values)) * np.int8(-1 if key.descending else 1)
        step = np.diff(level)
        less, same = (step < 0) | less, (step == 0) & (same | (level[1:] != 0))
    return less, same


SORTED_ORDER = Check(
    "sorted_order",
    "Bounds, pages and rows follow the sort key, or the Z-order or Hilbert curve.",
    {
        "order.row_groups": Code(
            "Whether the row groups of a file follow each other in the order of the sort key, by their bounds. Where "
            "they do not, a range of the key keeps more row groups than it needs.",
        ),
        "order.pages": Code(
            "Whether the pages of each row group follow each other in the order of the sort key, by the column index. "
            "Where they do not, readers cannot find a range of pages. Strings prove nothing here, because their "
            "bounds may be truncated; `order.rows` proves their order.",
        ),
        "order.rows": Code(
            "Whether the rows of each file are sorted, by reading the key. It is the strongest proof, and the only "
            "proof for strings and for the second column of a key.",
        ),
        "order.partitions": Code(
            "A column of the sort key is a partition column: all rows of a file have one value, so its order holds."
        ),
        "order.low_cardinality": Code(
            "The only column of the sort key has few values, and one value fills many row groups. Rows with equal "
            "keys stay in one file, and sorting does not separate them.",
            "Add a second column to `sort_by`, one that queries filter by: `sort_by: [status, id]`. A column of a "
            "few values may be better in `partition_by`.",
        ),
        "clustering.effective": Code(
            "How many row groups an equality keeps on a column of the Z-order or Hilbert curve."
        ),
        "clustering.ineffective": Code(
            "On every column of the curve, an equality keeps more than 60% of the row groups: the rows are not sorted "
            "along the curve. Of 4 to 15 row groups it is a warning, where more than 90% are kept; fewer cannot tell. "
            "In a partitioned table the partition with the most row groups is judged.",
        ),
    },
    check_order,
    reads="values",
)
