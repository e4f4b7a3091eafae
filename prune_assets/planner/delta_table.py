"""A Delta table for the planner: its version, what its log says about a predicate, and the files that are left."""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.dataset.logged import AT_LEAST, FileList, LoggedFiles
from parquet_core.dataset.opening import read_logged
from parquet_core.errors import WrongUse
from parquet_core.printable import shown
from parquet_core.storage import is_remote, local_path, look_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deltalog.log.file_block import Texts
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.stats.data_skipping import FileAnswers
    from parquet_core.dataset.metadata_cache import MetadataCache
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Path as ColumnPath
    from parquet_core.predicate import Predicate
    from parquet_core.trust.bounds import Bounds


@dataclass(slots=True)
class DeltaTable:
    """A version of a Delta table.

    `deleted`: the rows of each file that its deletion vector takes away. `unknown_rows`: unopened files of which the
    log does not tell how many rows they have.
    """

    snapshot: Snapshot
    deleted: NDArray[np.int64]
    unknown_rows: int = 0
    counted: bool = False
    _asked: tuple[Predicate, FileAnswers] | None = None
    _bounds: dict[ColumnPath, Bounds] | None = None

    @property
    def partitions(self) -> tuple[LeafColumn, ...]:
        """The columns that the log gives a value for each file."""
        return tuple(column.leaf for column in self.snapshot.schema.columns if column.partition is not None)

    def ask(self, predicate: Predicate) -> FileAnswers:
        """Return what the log says about a predicate in every live file; the last answer is kept."""
        from deltalog.stats.data_skipping import skip_files

        if self._asked is None or self._asked[0] is not predicate:
            self._asked = predicate, skip_files(self.snapshot, predicate)
        return self._asked[1]

    def bounds(self, path: ColumnPath) -> Bounds | None:
        """Return the bounds that the log gives of a column in every file; None for one it cannot tell of."""
        from deltalog.stats.data_skipping import file_bounds

        column = self.snapshot.schema.by_path().get(path)
        if column is None or column.partition is not None:
            return None
        if self._bounds is None:
            self._bounds = {}
        if path not in self._bounds:
            (self._bounds[path],) = file_bounds(self.snapshot, [column])
        return self._bounds[path]

    def partition_text(self, path: ColumnPath, file: int) -> str | None:
        """Return a partition value as the log spells it, quoted; None when the path is no partition column."""
        column = self.snapshot.schema.by_path().get(path)
        if column is None or column.partition is None:
            return None
        for block in self.snapshot.blocks:
            if file < len(block):
                texts = block.partition.get(column.partition)
                code = -1 if texts is None else int(texts.codes[file])
                return "null" if texts is None or code < 0 else repr(texts.values[code].as_py())
            file -= len(block)
        return None


def delta_table(
    table: str | os.PathLike[str] | Sequence[str],
    *,
    version: int | None,
    timestamp: dt.datetime | int | str | None,
    cache: MetadataCache | None = None,
    allow: Sequence[str] = (),
) -> DeltaTable | None:
    """Open a version of a table that has a Delta log; None for any other.

    `timestamp`: a time with its zone, as ISO 8601 where it is text. `cache`: where versions are kept. `allow`: as
    `open_snapshot` has it. Raises WrongUse for a version of what has none.
    """
    if allow:
        from deltalog.log.allowed_places import addresses

        allow = addresses(allow)
    path = _with_log(table)
    if path is None:
        if version is not None or timestamp is not None:
            raise WrongUse(
                f"{table}: only a Delta table has versions, and this has no _delta_log; leave version and timestamp out"
            )
        return None
    if version is not None and (isinstance(version, bool) or not isinstance(version, int) or version < 0):
        raise WrongUse(f"version={shown(version)}: must be a number of a version, from 0")
    from deltalog.log.deletion_vectors import deleted_rows
    from deltalog.snapshot.snapshot import open_snapshot

    snapshot = open_snapshot(path, version=version, timestamp=_moment(timestamp), cache=cache, allow=allow)
    return DeltaTable(snapshot, deleted_rows(snapshot.blocks))


def has_log(table: str | os.PathLike[str] | Sequence[str]) -> bool:
    """Tell whether a table is a directory with a Delta log."""
    return _with_log(table) is not None


def _with_log(table: str | os.PathLike[str] | Sequence[str]) -> str | None:
    """Return the path of a table that has a Delta log; None when it has none."""
    if not isinstance(table, str | os.PathLike):
        return None
    path = os.fspath(table)
    if not is_remote(path):
        path = local_path(path)
        # A path that no file system takes is none of a table, and is refused where it is listed.
        return path if os.path.isdir(os.path.join(path, "_delta_log")) else None  # noqa: PTH112, PTH118
    from deltalog.log.listing import holds_log

    return path if holds_log(path) else None


def _moment(timestamp: dt.datetime | int | str | None) -> dt.datetime | int | None:
    if not isinstance(timestamp, str):
        return timestamp
    try:
        return dt.datetime.fromisoformat(timestamp)
    except ValueError:
        raise WrongUse(f"timestamp={timestamp!r}: not a time; write it as 2024-01-31T12:00:00+00:00") from None


def read_delta(
    table: DeltaTable, predicate: Predicate, *, cache: MetadataCache | None, any_case: bool = False
) -> MetadataIndex:
    """Read the footers of the files that the log leaves for a predicate; `any_case` as `list_dataset` has it."""
    return _read(table, table.ask(predicate).kept, cache, any_case=any_case)


def read_live(table: DeltaTable) -> MetadataIndex:
    """Read the footers of all files that a version has."""
    return _read(table, np.ones(table.snapshot.file_count, np.bool_), None, any_case=False)


def _read(
    table: DeltaTable, opened: NDArray[np.bool_], cache: MetadataCache | None, *, any_case: bool
) -> MetadataIndex:
    snapshot = table.snapshot
    columns = snapshot.schema.columns
    logged = LoggedFiles(
        files=_files(snapshot, opened),
        opened=opened,
        row_count=np.full(len(opened), AT_LEAST, np.int64),
        deleted=table.deleted > 0,
        columns=[column for column in columns if column.partition is None],
        partitions=table.partitions,
        by_id=snapshot.schema.mapping == "id",
    )
    return read_logged(snapshot.table, logged, traffic=snapshot.traffic, cache=cache, any_case=any_case)


def partition_of_files(table: DeltaTable) -> NDArray[np.int64]:
    """Return a number for the partition that the log gives each live file."""
    from deltalog.log.file_block import empty_codes

    partition = np.zeros(table.snapshot.file_count, np.int64)
    names = [column.partition for column in table.snapshot.schema.columns if column.partition is not None]
    for name in names:
        blocks = (block.partition.get(name, empty_codes(len(block))) for block in table.snapshot.blocks)
        texts = pa.chunked_array([_texts(values) for values in blocks], pa.string())
        coded = texts.combine_chunks().dictionary_encode(null_encoding="encode")
        both = np.stack([partition, coded.indices.to_numpy()])
        partition = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
    return partition


def _texts(values: Texts) -> pa.Array:
    return values.values.take(pa.array(np.maximum(values.codes, 0), mask=values.codes < 0))


def count_rows(table: DeltaTable, index: MetadataIndex) -> None:
    """Put in how many rows the unopened files have, as the log says: no plan needs it, reports do."""
    from deltalog.stats.file_bounds import ABSENT, record_counts

    if table.counted or index.opened is None or index.opened.all():
        return
    unopened = ~index.opened
    rows = record_counts(table.snapshot, unopened)
    table.unknown_rows = int(np.count_nonzero((rows == ABSENT) & unopened))
    table.counted = True
    here = unopened[index.file]
    counts = index.row_count.copy()
    counts[here] = np.where(rows > 0, rows, AT_LEAST)[index.file[here]]
    index.row_count = counts


def _files(snapshot: Snapshot, opened: NDArray[np.bool_]) -> FileList:
    """Return the live files: as they are now where they are opened, the others as the log has them."""
    from deltalog.log.allowed_places import opened_place
    from deltalog.log.paths import resolve

    sizes = np.concatenate([np.zeros(0, np.int64), *(block.size for block in snapshot.blocks)])
    paths = pa.chunked_array([block.path for block in snapshot.blocks], pa.string())

    def path(number: int) -> str:
        return resolve(snapshot.table, paths[number].as_py())

    chosen = np.flatnonzero(opened).tolist()
    named = [opened_place(snapshot.table, path(i), snapshot.allow) for i in chosen]
    found = {file.path: file for file in look_up(named)}
    return FileList(path, sizes, {i: found[name] for i, name in zip(chosen, named, strict=True)})
