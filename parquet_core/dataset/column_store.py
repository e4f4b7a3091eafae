"""Metadata of row groups by column, cached in memory and on disk.

The readers of metadata (footers, page indexes, bloom filters, dictionaries) read only values that are not cached. On
disk, an entry has the values and their row groups, so that row groups of unchanged files stay cached when other files
of the table change.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from parquet_core.columnar import Columnar
from parquet_core.dataset.arrow_form import from_batch, numbers_at
from parquet_core.ragged import distinct

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from parquet_core.arrays import Positions
    from parquet_core.dataset.row_group_table import RowGroupTable
    from parquet_core.dataset.stored_index import StoredIndex
    from parquet_core.format.schema import LeafColumn

Values = TypeVar("Values", bound=Columnar)


@dataclass(frozen=True, slots=True)
class StoredColumn(Generic[Values]):
    """Values of row groups or files, in the order in which they were read.

    `slot`: for each row group or file, the position of its value in `values`; -1 if missing.
    `is_new`: True if the disk cache lacks some of the values.
    """

    slot: Positions
    values: Values | None = None
    is_new: bool = False

    def has(self, positions: Positions) -> bool:
        """Return True if there is a value for each of `positions`."""
        return self.values is not None and not (self.slot[positions] < 0).any()

    def missing(self, positions: Positions) -> Positions:
        """Return the `positions` without a value, distinct and ascending."""
        return distinct(np.sort(positions[self.slot[positions] < 0]))

    def added(self, positions: Positions, values: Values) -> StoredColumn[Values]:
        """Return a copy of the column with new values.

        `positions`: row groups or files of the new values; the column has no values for them yet.
        """
        slot = self.slot.copy()
        slot[positions] = (0 if self.values is None else len(self.values)) + np.arange(len(positions))
        joined = values if self.values is None else values.concat([self.values, values])
        return StoredColumn(slot, joined, is_new=self.is_new or len(positions) > 0)

    def sorted(self) -> StoredColumn[Values]:
        """Return the column with its values in the order of `slot`, without unused values."""
        used = np.flatnonzero(self.slot >= 0)
        if self.values is None or np.array_equal(self.slot[used], np.arange(len(self.values))):
            return self
        slot = self.slot.copy()
        slot[used] = np.arange(len(used))
        return StoredColumn(slot, self.values.take(self.slot[used]), self.is_new)

    def take(self, positions: Positions) -> Values:
        """Return the values at `positions`, without a copy if they are successive."""
        assert self.values is not None
        rows = self.slot[positions]
        if len(rows) and (np.diff(rows) == 1).all():
            return self.values.slice(int(rows[0]), int(rows[-1]) + 1)
        return self.values.take(rows)


def empty_column(count: int) -> StoredColumn[Any]:
    """Return a column without values."""
    return StoredColumn(np.full(count, -1, np.int64))


def column_from(batch: pa.RecordBatch, form: type[Values]) -> StoredColumn[Values]:
    """Return a column from its arrays `cached` and `values` in a batch.

    Raises KeyError if an array is missing or has another length.
    """
    cached, values = numbers_at(batch, "cached"), from_batch(batch, "values", form)
    if np.count_nonzero(cached) != len(values):
        raise KeyError("cached")
    return StoredColumn(np.where(cached, np.cumsum(cached) - 1, -1), values)


@dataclass(slots=True)
class ColumnStore:
    """Columns of one index, backed by the caches of its table.

    `stored`: cached metadata of the table. None without a cache.
    `columns`: the columns used so far, by name.
    """

    groups: RowGroupTable
    stored: StoredIndex | None = None
    columns: dict[str, StoredColumn[Any]] = field(default_factory=dict)

    def get(self, name: str, form: type[Values], positions: Positions, read: Callable[[Positions], Values]) -> Values:
        """Return the values of row groups.

        `read`: returns the values of row groups for which none are cached.
        """
        missing = self.column(name, form).missing(positions)
        if len(missing) or self.columns[name].values is None:
            self.add(name, missing, read(missing))
        return self.column(name, form).take(positions)

    def column(self, name: str, form: type[Values]) -> StoredColumn[Values]:
        """Return a column from memory or disk; empty if it is not cached."""
        if name not in self.columns:
            cached: StoredColumn[Values] | None = self.recall(name)
            if cached is None:
                cached = self._read(name, form)
                if cached.values is not None:
                    self.remember(name, cached)
            self.columns[name] = cached
        return self.columns[name]

    def add(self, name: str, positions: Positions, values: Columnar) -> None:
        """Add the values of missing row groups to a column."""
        self.columns[name] = self.columns[name].added(positions, values)

    def put(self, name: str, positions: Positions, values: Columnar) -> None:
        """Replace all values of a column by values of row groups."""
        self.columns[name] = empty_column(len(self.groups)).added(positions, values)

    def save(self) -> None:
        """Cache the columns that changed since the last `save`, in memory and on disk."""
        if self.stored is None:
            return
        opened = self.groups.read_from()
        for name, column in self.columns.items():
            if column.is_new:
                # Only row groups of opened files have a position in the entry.
                slot = np.full(len(self.groups), -1, np.int64)
                slot[opened] = column.slot[opened]
                self.columns[name] = saved = StoredColumn(slot, column.values).sorted()
                self.stored.write(name, {"cached": slot[opened] >= 0, "values": saved.values})
                self.remember(name, saved)
        self.stored.finish()

    def name(self, what: str, column: LeafColumn) -> str:
        """Return the name under which a column is cached.

        It contains the paths, field id and stored type of the column in files.
        """
        names = self.groups.names
        paths = names.of(column.path)
        if names.numbers is not None:
            what = f"{what} {names.numbers.get(column.path)}"
        if paths == (column.path,):
            return _name(what, column)
        # The name includes the paths in files, because a column may be renamed and another may take over its old name.
        return "\x00".join([_name(what, column), *(part for path in paths for part in ("", *path))])

    def recall(self, name: str, *, on_disk: bool = True) -> Any | None:
        """Return the memory entry of a name; None if missing.

        `on_disk`: True if the entry is also on disk; it then counts as missing if the disk file was deleted.
        """
        if self.stored is None or (found := self.stored.recall(name, self._among())) is None:
            return None
        # Marking the disk entry as used delays its eviction, so that the next process finds it.
        return found if not on_disk or self.stored.cache.mark(name) else None

    def remember(self, name: str, value: Any) -> None:
        """Cache an immutable value in memory."""
        if self.stored is not None:
            self.stored.remember(name, value, self._among())

    def recall_structures(self, name: str, positions: Positions, known: dict[int, Any]) -> None:
        """Add structures of row groups that earlier indexes cached in memory to `known`."""
        earlier: dict[int, Any] = self.recall(name, on_disk=False) or {}
        known.update((p, earlier[p]) for p in positions.tolist() if p in earlier and p not in known)

    def remember_structures(self, name: str, known: dict[int, Any]) -> None:
        """Cache structures of row groups in memory for later indexes.

        Reasons for missing structures are left out, because they are determined again without reading files.
        """
        earlier: dict[int, Any] = self.recall(name, on_disk=False) or {}
        new = {p: each for p, each in known.items() if p not in earlier and not isinstance(each, str)}
        if new:
            self.remember(name, earlier | new)

    def _among(self) -> bytes:
        """Return a key that identifies the opened files among all files; empty if all are opened.

        The numbers of row groups depend on the opened files, because an unopened file counts as one row group.
        """
        opened = self.groups.opened
        return b"" if opened is None else len(opened).to_bytes(8) + np.packbits(opened).tobytes()

    def _read(self, name: str, form: type[Values]) -> StoredColumn[Values]:
        """Return a column from disk; empty if it is not cached."""
        column, opened, kept = empty_column(len(self.groups)), self.groups.read_from(), None
        if self.stored is not None:
            kept = self.stored.read(name, self.groups.opened_files(opened), self.groups.ordinal[opened])
        if kept is None:
            return column
        batch, groups = kept
        try:
            cached = column_from(batch, form)
        except KeyError:
            return column
        there = groups >= 0
        # An entry may have no row groups, if its plan opened no file; indexing by flags handles that.
        column.slot[opened[there]] = cached.slot[groups[there]]
        return replace(column, values=cached.values)


def _name(what: str, column: LeafColumn) -> str:
    """Return the name under which a column is cached. It contains the stored type, on which bounds depend."""
    form = f"{column.physical} {column.type_length} {column.type} {column.max_definition_level} {column.may_be_filled}"
    return "\x00".join([what, form, str(column.max_repetition_level), *column.path])
