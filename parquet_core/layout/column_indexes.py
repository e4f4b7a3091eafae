"""Proof that every column that can have a column index has one, or why not.

Writers leave it out silently. parquet-java's rule of today (`ParquetFileWriter`): when the stored min
and max values of a chunk's pages exceed MAX_STATS_SIZE = 4096 bytes a page on average.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from parquet_core.errors import UnsupportedFeature
from parquet_core.format.schema import Physical
from parquet_core.layout.entry import Check, Code
from parquet_core.layout.places import row_groups_place, share_of_files
from parquet_core.layout.spec import WRITE_ANEW, Finding, Severity
from parquet_core.values import open_values, reading

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.page_index import OffsetIndexes
    from parquet_core.format.schema import LeafColumn
    from parquet_core.layout.bound_layout import BoundLayout

MAX_STATS_SIZE = 4096
_REMEDY = f"rewrite the files: {WRITE_ANEW}, or write with Spark, or with write_page_index=True in pyarrow"
_FLOATS = {Physical.FLOAT, Physical.DOUBLE}
_NAN = "a page holds NaN, so the writer gives no bounds"


def nan_remedy(name: str) -> str:
    """Return how to write a column whose NaN keeps it from having bounds."""
    return f"write NaN as null if it means a missing value: nullif({name}, double('NaN')) in Spark"


def check_column_indexes(bound: BoundLayout) -> Iterator[Finding]:
    """Report, per column, the margin of the indexes that are there and the cause of those that are not.

    NaN in a column that the layout does not name is only a warning.
    """
    index, layout = bound.index, bound.layout
    named = {name.casefold() for name in (*layout.sort_columns, *layout.curve_by, *layout.bloom)}
    positions = np.flatnonzero(index.row_count > 0)
    index.page_indexes.fetch(index.columns, positions)
    for column in index.columns:
        pages = index.page_indexes.read(column, positions)
        (offsets,) = index.page_indexes.locations([column], positions)
        present = pages.reason == ""
        if present.any():
            yield _margin(column, (pages.bound_bytes / np.diff(pages.first))[present], len(positions))
        if not present.all():
            first = int(np.flatnonzero(~present)[0])
            of_first = offsets.take(np.array([first]))
            yield _absence(index, column, positions[~present].tolist(), of_first, named, read_values=bound.read_values)
        lost = positions[(offsets.reason != "") & present].tolist()
        if lost:
            yield Finding(
                "offset_index.absent",
                Severity.ERROR,
                row_groups_place(index, lost, column),
                f"no offset index in {share_of_files(index, lost)}: readers cannot skip pages there",
                _REMEDY,
                (column.name,),
            )


def _margin(column: LeafColumn, means: NDArray[np.float64], row_groups: int) -> Finding:
    worst = float(means.max())
    return Finding(
        "column_index.present",
        Severity.INFO,
        f"column {column.name}",
        f"in {len(means)} of {row_groups} row groups; min+max take {np.mean(means):.1f} bytes a page on average, "
        f"{worst:.1f} at most: {worst / MAX_STATS_SIZE:.1%} of the {MAX_STATS_SIZE:,} above which it is left out",
    )


def _absence(
    index: MetadataIndex,
    column: LeafColumn,
    positions: list[int],
    offsets: OffsetIndexes,
    layout_names: Collection[str],
    *,
    read_values: bool,
) -> Finding:
    place, name = row_groups_place(index, positions, column), (column.name,)
    share = share_of_files(index, positions)
    if column.physical is Physical.INT96:
        return Finding(
            "column_index.not_applicable",
            Severity.WARN,
            place,
            f"no column index in {share}: INT96 has no defined order, so writers make none (confirmed by the schema)",
            "write timestamps with spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS",
            name,
        )
    if offsets.reason[0]:
        writer = index.provenance(positions[0]).created_by or "an unnamed writer"
        message = f"no page index in {share}; written by {writer} (confirmed)"
        return Finding("column_index.absent", Severity.ERROR, place, message, _REMEDY, name)
    cause, remedy = _cause(index, column, positions[0], offsets, read_values=read_values)
    is_free = cause.startswith(_NAN) and column.name.casefold() not in layout_names
    severity = Severity.WARN if is_free else Severity.ERROR
    return Finding("column_index.absent", severity, place, f"no column index in {share}: {cause}", remedy, name)


def _cause(
    index: MetadataIndex, column: LeafColumn, position: int, offsets: OffsetIndexes, *, read_values: bool
) -> tuple[str, str]:
    """Return why the index is absent, confirmed or inferred, and what to do."""
    chunk = index.footers.chunks(column).chunk(position)
    flat = len(column.path) == 1 and column.max_repetition_level == 0
    if read_values and flat and column.physical in {Physical.BYTE_ARRAY, *_FLOATS}:
        try:
            confirmed = _cause_in_values(index, column, position, offsets)
        except UnsupportedFeature:
            confirmed = None
        if confirmed is not None:
            return confirmed
    if chunk is not None and column.physical is Physical.BYTE_ARRAY and chunk.value_bytes is not None:
        mean = chunk.value_bytes / max(chunk.num_values, 1)
        if 2 * mean > MAX_STATS_SIZE:
            return _max_stats_size(2 * mean, "inferred from the mean size of a value")
    if column.physical in _FLOATS and chunk is not None and not chunk.has_bounds:
        return f"{_NAN} (inferred)", nan_remedy(column.name)
    return (
        "statistics were switched off for this column, or a page has none (inferred)",
        "write with statistics of these columns: without parquet.column.statistics.enabled#NAME=false",
    )


def _max_stats_size(mean: float, how: str) -> tuple[str, str]:
    return (
        (
            f"min+max of its pages take about {mean:,.0f} bytes a page, more than MAX_STATS_SIZE = {MAX_STATS_SIZE}, "
            f"so the writer dropped it ({how})"
        ),
        "write with parquet.columnindex.truncate.length=64 (the default)",
    )


def _values(index: MetadataIndex, column: LeafColumn, position: int) -> Iterator[pa.Array]:
    """Read the values of a column in one row group, some at a time."""
    file, name = index.files[int(index.file[position])], index.name_in_files(column)
    with open_values(file) as values, reading(file, f"column {name}"):
        for batch in values.batches([int(index.ordinal[position])], [name]):
            yield batch.column(0)


def _cause_in_values(
    index: MetadataIndex, column: LeafColumn, position: int, offsets: OffsetIndexes
) -> tuple[str, str] | None:
    values = _values(index, column, position)
    if column.physical in _FLOATS:
        if any(pc.any(pc.is_nan(part)).as_py() for part in values):
            return f"{_NAN} (confirmed by the values)", nan_remedy(column.name)
        return None
    mean = float(np.mean(_bound_bytes(values, offsets.first_row)))
    return _max_stats_size(mean, "confirmed by the values read, uncut") if mean > MAX_STATS_SIZE else None


def _bound_bytes(values: Iterator[pa.Array], first_row: NDArray[np.int64]) -> list[int]:
    """Return the bytes of the least and greatest value together, for each page that begins at one of the rows."""
    extremes: list[list[bytes]] = [[] for _ in first_row]
    row = 0
    for part in values:
        part_stop = row + len(part)
        for page in range(
            int(np.searchsorted(first_row, row, "right")) - 1, int(np.searchsorted(first_row, part_stop))
        ):
            start = max(row, int(first_row[page]))
            stop = part_stop if page + 1 == len(first_row) else min(part_stop, int(first_row[page + 1]))
            here = pc.min_max(part.slice(start - row, stop - start).cast("binary"))
            found = [here[side].as_py() for side in ("min", "max")]
            known = [*extremes[page], *(value for value in found if value is not None)]
            extremes[page] = [min(known), max(known)] if known else []
        row = part_stop
    return [sum(map(len, page)) for page in extremes]


COLUMN_INDEX_PRESENT = Check(
    "column_index_present",
    "Every column that can have a column index has one.",
    {
        "column_index.present": Code(
            "The column index is there, and how far its bounds are from the size at which parquet-java leaves it out."
        ),
        "column_index.absent": Code(
            "The column has no column index, so readers cannot skip its pages. The message says why, and whether that "
            "is confirmed or inferred: the writer makes none, bounds are too long (`MAX_STATS_SIZE`), a page holds "
            "NaN, or statistics are off. NaN in a column that the layout does not name is only a warning.",
            "As the finding says: another writer or `write_page_index=True` in pyarrow, "
            "`parquet.columnindex.truncate.length=64`, null in place of NaN, or statistics on.",
        ),
        "column_index.not_applicable": Code(
            "The column is INT96, which has no order, so writers make no column index of it.",
            "Write timestamps with `spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS`.",
        ),
        "offset_index.absent": Code(
            "Row groups have no offset index: readers do not know where pages begin, and read all of them.",
            "Write with Spark or parquet-java, or with `write_page_index=True` in pyarrow.",
        ),
    },
    check_column_indexes,
    reads="values",
)
