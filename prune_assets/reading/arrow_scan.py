"""Read the planned rows into Arrow.

The pages of the predicate's columns are read first, then other columns of the selected rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import from_numpy
from parquet_core.errors import WrongUse
from parquet_core.pruning import RowUse
from parquet_core.pruning.access_plan import Verdict
from parquet_core.pruning.predicate import columns_of, replaced
from parquet_core.storage import hole_of
from parquet_core.values import reading
from prune_assets.planner.plan_read import plan_read
from prune_assets.planner.value_tests import row_tests
from prune_assets.reading.arrow_columns import ArrowColumns, arrow_columns, columns_of_files, not_read
from prune_assets.reading.row_filter import adapted, compared_values, stages_of, typed_columns
from prune_assets.reading.row_pages import GroupRows, RowPages, as_ranges, chosen, without
from prune_assets.sql.lowering.row_tests import guarded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import Path
    from parquet_core.pruning.access_plan import AccessPlan
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.reading.arrow_columns import FileColumns
    from prune_assets.reading.read_stats import ReadStats
    from prune_assets.reading.row_filter import Stage

# Plan a read without Spark, whose rows are read page by page.
plan_rows = partial(plan_read, for_rows=True)
# Compressed bytes of the row groups read together: their requests are sent together.
WINDOW_BYTES = 64 << 20
_WINDOW_GROUPS = 256
# Maximum distinct values of a column on which a condition is tested.
_MOST_TESTED = 50_000
# First window of a read with a limit, in bytes: it may end early.
_LIMITED_WINDOW = 1 << 20


class ScannedRows(NamedTuple):
    """Remaining rows of one row group during a scan, and the columns already read."""

    group: GroupRows
    file: FileColumns
    columns: dict[str, pa.ChunkedArray]
    is_filtered: bool


@dataclass(slots=True)
class ArrowScan:
    """Tables of a planned read, one per row group.

    The tables are in the order of `positions`; row groups without selected rows are left out.
    `sizes`: compressed bytes of the columns to read, per row group.
    `files`: columns of the files to read, by number.
    `rows_read`: planned rows of the row groups read so far.
    """

    index: MetadataIndex
    access: AccessPlan
    sizes: NDArray[np.int64]
    files: Mapping[int, FileColumns]
    columns: ArrowColumns
    names: tuple[str, ...]
    stages: list[Stage]
    rows_read: int = 0
    _deleted: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def schema(self) -> pa.Schema:
        """Schema of the result."""
        return pa.schema([pa.field(name, self.columns.types[name]) for name in self.names])

    def no_rows(self) -> pa.Table:
        """Return an empty result. `Schema.empty_table` would import pandas."""
        return pa.Table.from_batches([], self.schema)

    def kept(self) -> NDArray[np.int64]:
        """Return the index numbers of the row groups to read."""
        return np.flatnonzero(self.access.verdict != Verdict.SKIP)

    def expected_bytes(self) -> int:
        """Estimate the compressed bytes to read.

        The bytes of each row group are multiplied by the share of rows in the plan.
        """
        positions = self.kept()
        ranges = [self.access.ranges.of(position) for position in positions.tolist()]
        rows = np.array([int((each[:, 1] - each[:, 0]).sum()) for each in ranges], np.int64)
        return int((self.sizes[positions] * rows / np.maximum(self.index.groups.row_count[positions], 1)).sum())

    def tables(self, positions: NDArray[np.int64], *, first_window: int = WINDOW_BYTES) -> Iterator[pa.Table]:
        """Yield the selected rows, one table per row group that has selected rows.

        `first_window`: compressed bytes of the row groups in the first window. Each window is twice the one before, up
        to WINDOW_BYTES.
        """
        stored = [name for name in self.names if name not in self.columns.constant_names]
        try:
            for window in self.windows(positions, first_window):
                for scanned in self.with_columns(self.selected(window, stored), stored):
                    if scanned.group.total:
                        yield self.table(scanned)
        finally:
            # Keep metadata that was read in addition to the plan.
            self.index.save()

    def first(self, limit: int) -> Iterator[pa.Table]:
        """Yield the first `limit` selected rows.

        Windows are small, so that few other rows are read.
        """
        for table in self.tables(self.kept(), first_window=_LIMITED_WINDOW) if limit else ():
            yield table.slice(0, limit)
            limit -= len(table)
            if limit <= 0:
                return

    def count(self, positions: NDArray[np.int64], limit: int | None = None) -> int:
        """Count the selected rows, up to `limit`; rows proven to match are not read."""
        counted = 0
        for window in self.windows(positions, WINDOW_BYTES if limit is None else _LIMITED_WINDOW):
            if limit is not None and counted >= limit:
                break
            counted += sum(scanned.group.total for scanned in self.selected(window))
        return counted if limit is None else min(counted, limit)

    def windows(self, positions: NDArray[np.int64], most: int) -> Iterator[list[int]]:
        """Yield lists of row groups to read together.

        The first list has about `most` bytes; later lists have up to WINDOW_BYTES.
        """
        window: list[int] = []
        room = most
        for position in positions.tolist():
            window.append(position)
            room -= int(self.sizes[position])
            if room <= 0 or len(window) == _WINDOW_GROUPS:
                yield window
                most = min(2 * most, WINDOW_BYTES)
                window, room = [], most
        if window:
            yield window

    def selected(self, positions: Sequence[int], names: Sequence[str] = ()) -> list[ScannedRows]:
        """Return the rows that the predicate selects, with the columns that its conditions use.

        `names`: columns to read afterwards; read at once if the planned rows are few bytes.
        """
        rows = [self._planned(position) for position in positions]
        self.rows_read += sum(one.group.total for one in rows)
        rows = self.with_columns(rows, names) if self._is_little(rows) else rows
        for stage in self.stages:
            needed = [name for name in stage.columns if name not in self.columns.constant_names]
            filtered = self.with_columns([scanned for scanned in rows if not scanned.is_filtered], needed)
            self._test_together(filtered, stage)
            done = iter([self._filtered(scanned, stage) for scanned in filtered])
            rows = [scanned if scanned.is_filtered else next(done) for scanned in rows]
        self.stages = adapted(self.stages)
        return rows

    def _is_little(self, rows: Sequence[ScannedRows]) -> bool:
        """Return True if reading all planned rows at once is cheaper than another request."""
        positions = [scanned.group.position for scanned in rows]
        share = np.array([scanned.group.total for scanned in rows]) / np.maximum(
            self.index.groups.row_count[positions], 1
        )
        return float(share @ self.sizes[positions]) <= hole_of(self.index.groups.files[0].path)

    def _test_together(self, rows: Sequence[ScannedRows], stage: Stage) -> None:
        """Test the conditions of a stage on the values of all row groups together.

        Too many distinct values are then noticed before any row is filtered.
        """
        for part in stage.tested:
            arrays = [self._compared(scanned, part.column) for scanned in rows if scanned.group.total]
            if len(arrays) > 1:
                part.test(pa.concat_arrays(arrays))

    def _compared(self, rows: ScannedRows, path: Path) -> pa.Array:
        with reading(self.index.groups.files[int(self.index.groups.file[rows.group.position])]):
            return compared_values(path, {path[0]: self.values(rows, path[0])}, self.columns.compared[path])

    def _planned(self, position: int) -> ScannedRows:
        """Return the planned rows of a row group without deleted rows."""
        file_index = int(self.index.groups.file[position])
        ranges, matches = self.access.ranges.of(position), self.access.matches.of(position)
        is_proven = int((matches[:, 1] - matches[:, 0]).sum()) == int((ranges[:, 1] - ranges[:, 0]).sum())
        file = self.files[file_index]
        if file.deleted is not None:
            ranges = without(ranges, self._deleted_rows(file_index) - self._first_row(position))
        return ScannedRows(GroupRows(position, ranges), file, {}, is_proven)

    def with_columns(self, rows: Sequence[ScannedRows], names: Sequence[str]) -> list[ScannedRows]:
        """Read columns that the rows do not have yet."""
        wanted = [[n for n in names if n not in scanned.columns and n in scanned.file.stored] for scanned in rows]
        reads = [i for i, scanned in enumerate(rows) if wanted[i] and scanned.group.total]
        every = dict.fromkeys(name for i in reads for name in wanted[i])
        pages = RowPages(self.index, {name: self.columns.leaves[name] for name in every})
        stored = [{name: rows[i].file.stored[name] for name in wanted[i]} for i in reads]
        pages_read = pages.read([rows[i].group for i in reads], stored)
        read = dict(zip(reads, pages_read, strict=True))
        return [
            scanned._replace(columns={**scanned.columns, **self._declared(read[i])}) if i in read else scanned
            for i, scanned in enumerate(rows)
        ]

    def _declared(self, columns: Mapping[str, pa.ChunkedArray]) -> dict[str, pa.ChunkedArray]:
        return {name: self.columns.as_declared(name, values) for name, values in columns.items()}

    def _filtered(self, rows: ScannedRows, stage: Stage) -> ScannedRows:
        count = rows.group.total
        if not count:
            return rows
        values = {name: self.values(rows, name) for name in stage.columns}
        with reading(self.index.groups.files[int(self.index.groups.file[rows.group.position])]):
            keep = stage.select(values, self.columns.compared, count)
        if keep.all():
            return rows
        mask = from_numpy(keep)
        columns = {name: values.filter(mask) for name, values in rows.columns.items()}
        return rows._replace(group=GroupRows(rows.group.position, chosen(rows.group.ranges, keep)), columns=columns)

    def rows_of(self, position: int, rows: NDArray[np.int64]) -> ScannedRows:
        """Select rows of a row group that passed the filter before.

        `rows`: ascending row numbers. No columns are read.
        """
        file = self.files[int(self.index.groups.file[position])]
        return ScannedRows(GroupRows(position, as_ranges(rows)), file, {}, is_filtered=True)

    def constant(self, position: int, name: str) -> pa.Scalar:
        """Return a column's constant in the file of a row group."""
        return self.files[int(self.index.groups.file[position])].constants[name]

    def values(self, rows: ScannedRows, name: str) -> pa.ChunkedArray:
        """Return the values of a column that was read or is constant in the file."""
        if name in rows.columns:
            return rows.columns[name]
        constant = rows.file.constants[name]
        return pa.chunked_array([pa.repeat(constant, rows.group.total).cast(self.columns.types[name])])

    def table(self, rows: ScannedRows) -> pa.Table:
        """Return the columns of the result, in its types."""
        file = self.index.groups.files[int(self.index.groups.file[rows.group.position])]
        arrays = []
        with reading(file):
            for name in self.names:
                values = self.values(rows, name)
                try:
                    arrays.append(values.cast(self.columns.types[name]))
                except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                    raise not_read(name, f"{file.path} has it as {values.type} ({error})") from None
        return pa.Table.from_arrays(arrays, schema=self.schema) if arrays else _no_columns(rows.group.total)

    def _deleted_rows(self, file_index: int) -> NDArray[np.int64]:
        if file_index not in self._deleted:
            deleted = self.files[file_index].deleted
            assert deleted is not None
            self._deleted = {file_index: deleted.read()}
        return self._deleted[file_index]

    def _first_row(self, position: int) -> int:
        """Return the row number of a row group's first row in its file."""
        before = slice(position - int(self.index.groups.ordinal[position]), position)
        return int(self.index.groups.row_count[before].sum())


def check_limit(limit: int | None) -> None:
    """Raise WrongUse for a limit that is not a number of rows."""
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise WrongUse(f"limit={limit!r}: give a whole number of rows, 0 or more")


def scan_of(
    plan: PlannedRead, names: Sequence[str], session: SparkSession | None = None, stats: ReadStats | None = None
) -> ArrowScan:
    """Prepare a planned read.

    Raises UnsupportedFeature for a column that cannot be read, or a condition that cannot be evaluated.
    `session`: Spark session that evaluates all other conditions, once per distinct value.
    `stats`: statistics to which the read is added.
    """
    tests = row_tests(plan.lowered, session=session, semantics=plan.semantics, most=_MOST_TESTED)
    predicate = guarded(replaced(plan.lowered.predicate, tests)) if tests else plan.lowered.predicate
    filtered = dict.fromkeys(path[0] for path in columns_of(predicate))
    valued = {*names, *(path[0] for path in typed_columns(predicate))}
    columns = arrow_columns(plan, list(dict.fromkeys([*names, *filtered])))
    columns = replace(columns, null_tested=filtered.keys() - valued)
    sizes = _sizes(plan.index, columns)
    rows = max(1, int(plan.index.groups.row_count[plan.index.groups.read_from()].sum()))
    scan = ArrowScan(
        plan.index,
        plan.evaluation.access,
        np.add.reduce([np.zeros(len(plan.index), np.int64), *sizes.values()]),
        columns_of_files(plan, columns),
        columns,
        tuple(names),
        stages_of(
            predicate,
            {name: float(size.sum()) / rows for name, size in sizes.items()},
            RowUse.READ if names else RowUse.COUNT,
        ),
    )
    if stats is not None:
        stats.note(scan, plan)
    return scan


def _sizes(index: MetadataIndex, columns: ArrowColumns) -> dict[str, NDArray[np.int64]]:
    """Return the compressed bytes of each column per row group."""
    none = np.zeros(len(index), np.int64)
    return {
        name: np.add.reduce([none, *(np.maximum(index.footers.chunks(leaf).compressed_bytes, 0) for leaf in leaves)])
        for name, leaves in columns.leaves.items()
    }


def _no_columns(rows: int) -> pa.Table:
    return pa.table({"": pa.nulls(rows)}).select([])
