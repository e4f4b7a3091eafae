"""Check that every column that can have a column index has one.

Writers leave out column indexes silently. parquet-java (`ParquetFileWriter`) currently does so if the stored min and
max values of a chunk's pages exceed MAX_STATS_SIZE = 4096 bytes per page on average.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.errors import UnsupportedFeature
from parquet_core.fix import Fix, Setting, Step
from parquet_core.format.schema import Physical
from parquet_core.layout.entry import Check, Code
from parquet_core.layout.places import row_groups_place, share_of_files
from parquet_core.layout.spec import Finding, Severity
from parquet_core.values import open_values, reading

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.page_index import OffsetIndexes
    from parquet_core.format.schema import LeafColumn
    from parquet_core.layout.bound_layout import BoundLayout

MAX_STATS_SIZE = 4096
REWRITE_WITH_INDEXES = Fix("rewrite the files: ", Step.WRITE_TABLE, ", or write with Spark", setting=Setting.PAGE_INDEX)
_FLOATS = {Physical.FLOAT, Physical.DOUBLE}


def nan_remedy(name: str) -> str:
    """Return the remedy for a column without bounds due to NaN."""
    return f"write NaN as null if it means a missing value: nullif({name}, double('NaN')) in Spark"


def check_column_indexes(bound: BoundLayout) -> Iterator[Finding]:
    """Report size margins of indexes and causes of missing indexes.

    Proven NaN in a column that the layout does not name has severity `info`.
    """
    index, layout = bound.index, bound.layout
    named = {name.casefold() for name in (*layout.sort_columns, *layout.curve_by, *layout.bloom)}
    positions = np.flatnonzero(index.groups.row_count > 0)
    index.page_indexes.fetch(index.groups.columns, positions)
    for column in index.groups.columns:
        pages = index.page_indexes.read(column, positions)
        (offsets,) = index.page_indexes.locations([column], positions)
        present = pages.reason == ""
        if present.any():
            yield _margin(column, (pages.bound_bytes / np.diff(pages.first))[present], len(positions))
        absent = np.flatnonzero(~present)
        if len(absent):
            yield from _absences(
                index, column, positions[absent], offsets.take(absent), named, read_values=bound.read_values
            )
        lost = positions[(offsets.reason != "") & present].tolist()
        if lost:
            yield Finding(
                "offset_index.absent",
                Severity.ERROR,
                row_groups_place(index, lost, column),
                f"no offset index in {share_of_files(index, lost)}: readers cannot skip pages there",
                columns=(column.name,),
                fix=REWRITE_WITH_INDEXES,
            )


def _margin(column: LeafColumn, means: NDArray[np.float64], row_groups: int) -> Finding:
    worst = float(means.max())
    return Finding(
        "column_index.present",
        Severity.INFO,
        f"column {column.name}",
        f"in {len(means)} of {row_groups} row groups; min and max of a page take {np.mean(means):.1f} bytes on "
        f"average, {worst:.1f} in the worst row group; writers drop a column index above {MAX_STATS_SIZE:,}",
    )


class _Cause(NamedTuple):
    """Cause of a missing index and its fix.

    `message`: also says whether the cause is confirmed or inferred.
    `severity`: applies to columns that the layout does not name.
    `of_pages`: the offset index is missing too.
    """

    message: str
    fix: Fix
    severity: Severity = Severity.ERROR
    of_pages: bool = False


def _absences(
    index: MetadataIndex,
    column: LeafColumn,
    positions: NDArray[np.int64],
    offsets: OffsetIndexes,
    layout_names: Collection[str],
    *,
    read_values: bool,
) -> Iterator[Finding]:
    """Report row groups without a column index, with the cause for the first one.

    NaN is a harmless cause. If it is the cause for the first row group, a second finding reports other causes.
    """
    if column.physical is Physical.INT96:
        share = share_of_files(index, positions.tolist())
        yield Finding(
            "column_index.not_applicable",
            Severity.WARN,
            row_groups_place(index, positions.tolist(), column),
            f"no column index in {share}: INT96 has no defined order, so writers make none (confirmed by the schema)",
            "write timestamps with spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS",
            (column.name,),
        )
        return

    def cause_of(i: int) -> _Cause:
        return _cause(index, column, int(positions[i]), offsets.take(np.array([i])), read_values=read_values)

    cause = cause_of(0)
    others = []
    if cause.severity is Severity.INFO:
        others = [i for i in range(1, len(positions)) if cause_of(i).severity is not Severity.INFO]
    yield _absence(index, column, np.delete(positions, others).tolist(), cause, layout_names)
    if others:
        yield _absence(index, column, positions[others].tolist(), cause_of(others[0]), layout_names)


def _absence(
    index: MetadataIndex, column: LeafColumn, positions: list[int], cause: _Cause, layout_names: Collection[str]
) -> Finding:
    severity = Severity.ERROR if column.name.casefold() in layout_names else cause.severity
    location, share = row_groups_place(index, positions, column), share_of_files(index, positions)
    message = f"no page index in {share}; " if cause.of_pages else f"no column index in {share}: "
    return Finding(
        "column_index.absent", severity, location, message + cause.message, columns=(column.name,), fix=cause.fix
    )


def _cause(
    index: MetadataIndex, column: LeafColumn, position: int, offsets: OffsetIndexes, *, read_values: bool
) -> _Cause:
    if offsets.reason[0]:
        writer = index.groups.provenance(position).created_by or "an unnamed writer"
        return _Cause(f"written by {writer} (confirmed)", REWRITE_WITH_INDEXES, of_pages=True)
    chunks = index.footers.chunks(column)
    value_bytes, num_values = int(chunks.value_bytes[position]), int(chunks.num_values[position])
    is_float = _is_float(column)
    # Values are assigned to pages by row number, which lists do not allow: their rows have several values.
    in_rows = column.physical is Physical.BYTE_ARRAY and column.max_repetition_level == 0
    if read_values and (is_float or in_rows):
        with suppress(UnsupportedFeature):
            confirmed = _cause_in_values(index, column, position, offsets)
            if confirmed is not None:
                return confirmed
            is_float = False  # no value is NaN
    if column.physical is Physical.BYTE_ARRAY and value_bytes >= 0:
        mean = value_bytes / max(num_values, 1)
        if 2 * mean > MAX_STATS_SIZE:
            return _max_stats_size(2 * mean, "inferred from the mean size of a value")
    if is_float and (chunks.present[position] or chunks.encrypted[position]):
        nulls = index.footers.bounds(column).null_count[position].as_py()
        if not chunks.has_bounds[position] and nulls is not None and nulls < num_values:
            return _nan(column, "inferred from statistics that count nulls and have no bounds", Severity.INFO)
        return _nan(column, "inferred", Severity.WARN)
    return _Cause(
        "statistics were disabled for this column, or a page lacks them (inferred)",
        Fix("write with statistics of these columns", setting=Setting.STATISTICS),
    )


def _is_float(column: LeafColumn) -> bool:
    return column.physical in _FLOATS or column.type == pa.float16()


def _nan(column: LeafColumn, how: str, severity: Severity) -> _Cause:
    message = f"a page holds NaN, so the writer gives no bounds ({how})"
    return _Cause(message, Fix(nan_remedy(column.name)), severity)


def _max_stats_size(mean: float, how: str) -> _Cause:
    return _Cause(
        f"min+max of its pages take about {mean:,.0f} bytes a page, more than MAX_STATS_SIZE = {MAX_STATS_SIZE}, "
        f"so the writer dropped it ({how})",
        Fix("write with parquet.columnindex.truncate.length=64 (the default)"),
    )


def _values(index: MetadataIndex, column: LeafColumn, position: int) -> Iterator[pa.Array]:
    """Yield the values of a column in one row group.

    Each array is a batch of values; lists are flattened.
    """
    file, name = index.groups.files[int(index.groups.file[position])], index.groups.name_in_files(column)
    with open_values(file) as values, reading(file, f"column {name}"):
        for batch in values.batches([int(index.groups.ordinal[position])], [name]):
            yield _leaf(batch.to_struct_array(), f"{file.path}: column {name}")


def _leaf(array: pa.Array, location: str) -> pa.Array:
    """Return the values of the only leaf below structs and lists.

    Arrow reads the keys or the values of a map as a list. Raises UnsupportedFeature for several leaves.
    """
    while pa.types.is_nested(array.type):
        if array.type.num_fields > 1:
            raise UnsupportedFeature(f"{location}: a dot in another name makes it this one; rename one of them")
        array = array.flatten()[0] if pa.types.is_struct(array.type) else array.flatten()
    return array


def _cause_in_values(index: MetadataIndex, column: LeafColumn, position: int, offsets: OffsetIndexes) -> _Cause | None:
    values = _values(index, column, position)
    if _is_float(column):
        if any(pc.any(pc.is_nan(part)).as_py() for part in values):
            return _nan(column, "confirmed by the values", Severity.INFO)
        return None
    mean = float(np.mean(_bound_bytes(values, offsets.first_row)))
    return _max_stats_size(mean, "confirmed by the values read, uncut") if mean > MAX_STATS_SIZE else None


def _bound_bytes(values: Iterator[pa.Array], first_row: NDArray[np.int64]) -> list[int]:
    """Return, for each page, the total bytes of its min and max.

    `first_row`: first row of each page.
    """
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
            min_and_max = [here[side].as_py() for side in ("min", "max")]
            present = [*extremes[page], *(value for value in min_and_max if value is not None)]
            extremes[page] = [min(present), max(present)] if present else []
        row = part_stop
    return [sum(map(len, page)) for page in extremes]


COLUMN_INDEX_PRESENT = Check(
    "column_index_present",
    "Every column that can have a column index has one.",
    {
        "column_index.present": Code(
            "The column index exists; the finding compares the size of its bounds with the size above which "
            "parquet-java omits it."
        ),
        "column_index.absent": Code(
            "The column has no column index, so readers cannot skip its pages. The message says why, and whether that "
            "is confirmed or inferred: the writer makes none, bounds are too long (`MAX_STATS_SIZE`), a page holds "
            "NaN, or statistics are off. NaN in a column that the layout does not name is only a note where "
            "the values or the statistics prove it, else a warning.",
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
