"""What the tasks of the Python data source read: row groups of surviving files, as Arrow batches of the table's types.

A task is put together where the read is planned, and carried out by another process.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.access_plan import Verdict
from parquet_core.arrow_arrays import from_numpy
from parquet_core.errors import StaleTable, UnsupportedFeature
from parquet_core.evidence.each_row import selected_rows
from parquet_core.predicate import columns_of
from parquet_core.spark_rules.calendars import is_rebased
from parquet_core.spark_rules.columns_in_files import leaf_as_read, reads_as_null
from parquet_core.storage import look_up
from parquet_core.values import open_values, reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Predicate
    from parquet_core.storage import DataFile
    from parquet_core.values import ValueReader
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.tables.table import DeletedRows

TASK_BYTES = 64 << 20


class Piece(NamedTuple):
    """Row groups of a file: by column its number among the file's leaves, or the one value that it has there."""

    file: DataFile
    groups: tuple[int, ...]
    stored: Mapping[str, int]
    constants: Mapping[str, pa.Scalar]
    deleted: DeletedRows | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """What every task gives: the columns of `schema`, of the rows that `where` selects.

    `types`: by the name of each column that is read, for `where` too, the type it has in a batch; `compared`: that in
    which `where` compares it.
    """

    schema: pa.Schema
    types: Mapping[str, pa.DataType]
    compared: Mapping[str, pa.DataType]
    where: Predicate


def tasks_of(plan: PlannedRead, columns: Mapping[str, LeafColumn]) -> list[tuple[Piece, ...]]:
    """Put the surviving row groups into tasks of about TASK_BYTES each; raises UnsupportedFeature naming a file."""
    tasks: list[list[Piece]] = []
    room = 0
    for piece, size in _pieces(plan, columns):
        if size > room and (not tasks or room < TASK_BYTES):
            tasks.append([])
            room = TASK_BYTES
        room -= size
        tasks[-1].append(piece)
    return [tuple(task) for task in tasks]


def _pieces(plan: PlannedRead, columns: Mapping[str, LeafColumn]) -> Iterator[tuple[Piece, int]]:
    """Yield successive row groups of one file, and their bytes."""
    index, sizes = plan.index, plan.sizes.bytes
    kept = np.flatnonzero(plan.evaluation.access.verdict != Verdict.SKIP)
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for position in kept.tolist():
        groups[int(index.file[position])].append(position)
    known = _Known(plan, columns)
    for file, positions in groups.items():
        constants, deleted = known.of_file(file)
        stored, missing = known.of_kind(int(index.kind[file]), index.files[file])
        some, size = [], 0
        for position in positions:
            some.append(int(index.ordinal[position]))
            size += int(sizes[position])
            if size >= TASK_BYTES or position == positions[-1]:
                yield Piece(index.files[file], tuple(some), stored, {**missing, **constants}, deleted), size
                some, size = [], 0


class _Known:
    """What is known of the columns of each file beside its row groups."""

    def __init__(self, plan: PlannedRead, columns: Mapping[str, LeafColumn]) -> None:
        self._plan = plan
        partitions = {column.path[0] for column in plan.table.partitions}
        self._partitions = {name: leaf for name, leaf in columns.items() if name in partitions}
        in_files = {column.path: column for column in plan.index.columns}
        self._columns = {
            name: in_files.get(leaf.path, leaf) for name, leaf in columns.items() if name not in partitions
        }
        self._kinds: dict[int, tuple[dict[str, int], dict[str, pa.Scalar]]] = {}
        files = plan.surviving_numbers.tolist()
        self._constants = dict(zip(files, plan.table.constants(plan.index, files, self._partitions), strict=True))

    def of_kind(self, kind: int, file: DataFile) -> tuple[dict[str, int], dict[str, pa.Scalar]]:
        """Return which leaf of files of a kind each column is, and the nulls of those that they lack."""
        if kind not in self._kinds:
            provenance = self._plan.index.kinds[kind]
            leaves = {name: _leaf(column, provenance, file) for name, column in self._columns.items()}
            stored = {name: leaf.index for name, leaf in leaves.items() if leaf is not None}
            missing = {name: pa.scalar(None, pa.null()) for name, leaf in leaves.items() if leaf is None}
            self._kinds[kind] = stored, missing
        return self._kinds[kind]

    def of_file(self, number: int) -> tuple[Mapping[str, pa.Scalar], DeletedRows | None]:
        """Return the partition values of a file, and its deleted rows."""
        constants = self._constants[number]
        for name, why in constants.unknown.items():
            raise refused(name, why)
        return constants.values, constants.deleted


def _leaf(column: LeafColumn, provenance: Provenance, file: DataFile) -> LeafColumn | None:
    name = column.path[0]
    leaf = leaf_as_read(column, provenance)
    if leaf is None:
        if reads_as_null(column, provenance) and not column.may_be_filled:
            return None
        raise refused(name, f"{file.path} stores it as another type, under another name, or not at all")
    if is_rebased(leaf, provenance):
        raise refused(name, f"{file.path} stores it in the hybrid Julian and Gregorian calendar")
    return leaf


def refused(name: str, why: str) -> UnsupportedFeature:
    """Return the error for a column that the data source does not read."""
    return UnsupportedFeature(
        f"column {name!r}: {why}; the data source 'prune' does not read it: name others in `columns`, or use pr.read"
    )


def read_task(rows: Rows, pieces: Sequence[Piece]) -> Iterator[pa.RecordBatch]:
    """Read a task; raises StaleTable where a file is no longer the one that was planned, and what reading raises."""
    for piece in pieces:
        (now,) = look_up([piece.file.path])
        if now != piece.file:
            raise StaleTable(f"{piece.file.path}: changed since it was planned; load it again")
        deleted = np.zeros(0, np.int64) if piece.deleted is None else piece.deleted.read()
        with open_values(piece.file) as values:
            for group in piece.groups:
                yield from _group(rows, piece, values, group, deleted)


def _group(
    rows: Rows, piece: Piece, values: ValueReader, group: int, deleted: NDArray[np.int64]
) -> Iterator[pa.RecordBatch]:
    counts = [one.num_rows for one in values.footer.row_groups]
    start = sum(counts[:group])
    names = {name: values.footer.leaves[leaf].path for name, leaf in piece.stored.items()}
    batches = values.batches([group], list(names.values())) if names else [_no_columns(counts[group])]
    for batch in batches:
        here = np.searchsorted(deleted, [start, start + batch.num_rows])
        keep = np.ones(batch.num_rows, np.bool_)
        keep[deleted[slice(*here)] - start] = False
        start += batch.num_rows
        with reading(piece.file):
            columns = {
                name: _array(batch, names.get(name), piece.constants.get(name)).cast(kind)
                for name, kind in rows.types.items()
            }
        result = pa.RecordBatch.from_arrays([columns[name] for name in rows.schema.names], schema=rows.schema)
        evidence = {path: columns[path[0]].cast(rows.compared[path[0]]) for path in columns_of(rows.where)}
        keep &= selected_rows(rows.where, evidence, batch.num_rows)
        if keep.any():
            yield result if keep.all() else result.filter(from_numpy(keep))


def _array(batch: pa.RecordBatch, name: str | None, constant: pa.Scalar | None) -> pa.Array:
    return pa.repeat(constant, batch.num_rows) if name is None else batch.column(name)


def _no_columns(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(rows)], names=[""])
