"""Files and columns of a table with a log.

If the log has enough metadata of a file, its footer need not be read. The log also defines the columns of the table and
their names or field ids in files. A file may lack columns or have additional ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, overload

import pyarrow as pa

from parquet_core.format.comparable_values import bounds_type
from parquet_core.format.provenance import Provenance
from parquet_core.format.schema import in_any_case
from parquet_core.spark_rules.names_in_files import NOT_OF_THE_TABLE, spelled_otherwise
from parquet_core.storage import DataFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn, Path


_WITHIN = "a part of a repeated value is not supported"
# Row count assumed if unknown; 0 would skip the file.
AT_LEAST = 1
# Provenance of files that were not opened; their schema and writer are unknown.
UNOPENED = Provenance(columns=(), column_orders=(), key_values={}, created_by="")


class LoggedColumn(Protocol):
    """A leaf of the table, with its path and field id in files."""

    @property
    def leaf(self) -> LeafColumn:
        """The column with the name and type that predicates use; the type is None for lists and maps."""

    @property
    def physical(self) -> Path:
        """Path of the column in files."""

    @property
    def field_id(self) -> int | None:
        """Field id of the column in files; None if unused."""


@dataclass(frozen=True, slots=True)
class FileList(Sequence[DataFile]):
    """Files of a log. Objects are created on access, because only few of a million files are accessed.

    `current`: files with their current state, by index. Other files have the path and size that the log states.
    """

    path: Callable[[int], str]
    sizes: NDArray[np.int64]
    current: Mapping[int, DataFile]

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, index: int) -> DataFile: ...

    @overload
    def __getitem__(self, index: slice) -> list[DataFile]: ...

    def __getitem__(self, index: int | slice) -> DataFile | list[DataFile]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = int(index)
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        file = self.current.get(index)
        return DataFile(self.path(index), int(self.sizes[index]), 0) if file is None else file


@dataclass(frozen=True, slots=True)
class Numbered:
    """Columns of a table by field id, for files whose column names do not matter.

    `columns`: column by field id, for the ids of columns and of their parts. All leaves of a list or map belong to one
    column.
    `names`: field id by path, for files without field ids (a name mapping).
    `tops`: names of top-level columns by field id.
    `renamed`: field ids of lists and maps that have renamed parts, and field ids of these parts.
    """

    columns: Mapping[int, LoggedColumn]
    names: Mapping[Path, int] = field(default_factory=dict)
    tops: Mapping[int, str] = field(default_factory=dict)
    renamed: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class LoggedFiles:
    """Files of a table as its log lists them.

    `opened`: for each file, True if its footer is read.
    `row_count`: for each file, the row count to use if the file is not opened.
    `deleted`: for each file, True if some of its rows are deleted.
    `columns`: columns stored in files.
    `partitions`: columns whose values are in the log.
    `by_id`: True if field ids in files must match the table.
    `numbered`: columns by field id if field ids alone identify columns. None if names do.
    """

    files: FileList
    opened: NDArray[np.bool_]
    row_count: NDArray[np.int64]
    deleted: NDArray[np.bool_]
    columns: Sequence[LoggedColumn]
    partitions: tuple[LeafColumn, ...]
    by_id: bool = False
    numbered: Numbered | None = None

    @property
    def numbers(self) -> Mapping[Path, int] | None:
        """Field id by column path; None if names identify columns."""
        if self.numbered is None:
            return None
        return {column.leaf.path: column.field_id for column in self.columns if column.field_id is not None}


def named_as_in_table(provenance: Provenance, logged: LoggedFiles, *, any_case: bool) -> Provenance:
    """Return the provenance of a footer with the table's column names.

    A leaf that belongs to no column gets a path that no column has.
    """
    if logged.numbered is not None:
        return _named_by_number(provenance, logged.numbered)
    known = {column.physical: column for column in logged.columns}
    if any_case:
        wanted = [path for path, column in known.items() if column.leaf.type is not None]
        spelled = spelled_otherwise(wanted, provenance).items()
        hidden = {leaf for leaf, path in spelled if path not in known}
        known = {path: column for path, column in known.items() if path not in hidden}
        known |= {leaf: known[path] for leaf, path in spelled if path in known}
    columns = tuple(_named(leaf, known, by_id=logged.by_id) for leaf in provenance.columns)
    tops = {in_any_case(column.physical[0]): column.leaf.path[0] for column in logged.columns}
    return replace(
        provenance,
        columns=columns,
        is_unnamed=logged.by_id and _may_hide_columns(provenance, columns, logged),
        table_columns=frozenset(tops.get(in_any_case(leaf.path[0]), "") for leaf in provenance.columns),
    )


def _may_hide_columns(provenance: Provenance, named: Sequence[LeafColumn], logged: LoggedFiles) -> bool:
    """Return True if an unmatched leaf may still be a column: it has no field id, or the field id of a column."""
    numbers = {column.field_id for column in logged.columns}
    groups = [(element.name, element.field_id) for element in provenance.elements if element.children]
    for leaf, stored in zip(named, provenance.columns, strict=True):
        if leaf.path[0] != NOT_OF_THE_TABLE:
            continue
        # Elements of lists have no field ids, so the field ids of the enclosing groups count.
        around = {number for name, number in groups if name in stored.path} if stored.field_id is None else set()
        known = {stored.field_id, *around} - {None}
        if not known or known & numbers:
            return True
    return False


def _named_by_number(provenance: Provenance, numbered: Numbered) -> Provenance:
    has_numbers = any(leaf.field_id is not None for leaf in provenance.columns)
    numbers = [leaf.field_id if has_numbers else numbered.names.get(leaf.path) for leaf in provenance.columns]
    counts = Counter(numbers)
    columns = [
        _numbered(leaf, None if number is None or counts[number] > 1 else numbered.columns.get(number))
        for leaf, number in zip(provenance.columns, numbers, strict=True)
    ]
    twice = any(count > 1 for number, count in counts.items() if number is not None)
    is_unnamed = twice or (None in counts if has_numbers else not numbered.names)
    held = {
        leaf.path[0]: name
        for leaf in provenance.columns
        if (name := _top_by_number(provenance, numbered, leaf.path[0]))
    }
    unread = {None, *numbered.renamed}
    hidden = (
        held.get(leaf.path[0], "")
        for leaf, number, column in zip(provenance.columns, numbers, columns, strict=True)
        if column.path[0] == NOT_OF_THE_TABLE and number in unread
    )
    table_columns = frozenset(held.values())
    return replace(
        provenance, columns=tuple(columns), is_unnamed=is_unnamed, table_columns=table_columns, hidden=frozenset(hidden)
    )


def _top_by_number(provenance: Provenance, numbered: Numbered, top: str) -> str:
    """Return the name that the table gives to a file's top-level column; "" if the table lacks the column."""
    number = provenance.top_numbers.get(top)
    return numbered.tops.get(numbered.names.get((top,), -1) if number is None else number, "")


def _numbered(leaf: LeafColumn, column: LoggedColumn | None) -> LeafColumn:
    if column is not None and column.leaf.type is None:
        below = (*column.leaf.path, *leaf.path[len(column.leaf.path) :])
        return replace(leaf, path=below, unsupported=column.leaf.unsupported or _WITHIN)
    if column is None or leaf.max_repetition_level or len(leaf.path) != len(column.leaf.path):
        return replace(leaf, path=(NOT_OF_THE_TABLE, *leaf.path))
    return replace(leaf, path=column.leaf.path)


def _named(leaf: LeafColumn, known: dict[Path, LoggedColumn], *, by_id: bool) -> LeafColumn:
    column = known.get(leaf.path)
    if column is not None and column.leaf.type is not None and leaf.max_repetition_level == 0:
        same = not by_id or (leaf.field_id is not None and leaf.field_id == column.field_id)
        return replace(leaf, path=column.leaf.path if same else (NOT_OF_THE_TABLE, *leaf.path))
    for length in range(len(leaf.path), 0, -1):
        column = known.get(leaf.path[:length])
        if column is not None and column.leaf.type is None:
            below = (*column.leaf.path, *leaf.path[length:])
            return replace(leaf, path=below, unsupported=column.leaf.unsupported or _WITHIN)
    return replace(leaf, path=(NOT_OF_THE_TABLE, *leaf.path))


def columns_of_table(logged: LoggedFiles, provenances: Sequence[Provenance]) -> tuple[LeafColumn, ...]:
    """Return the columns as files store them, in table order.

    `provenances`: provenances with the table's column names.

    A column that no file stores in the table's type is returned as the log defines it.
    """
    by_path: dict[Path, LeafColumn] = {}
    below: dict[Path, dict[Path, LeafColumn]] = {}
    repeated = {column.leaf.path for column in logged.columns if column.leaf.type is None}
    types = {column.leaf.path: column.leaf for column in logged.columns}
    for leaf in (leaf for each in provenances for leaf in each.columns):
        whole = _whole(leaf.path, repeated)
        if whole is not None:
            below.setdefault(whole, {}).setdefault(leaf.path, leaf)
        elif leaf.path in types and leaf.path not in by_path and _compares_like(leaf, types[leaf.path]):
            by_path[leaf.path] = leaf
    return tuple(_columns(logged, by_path, below))


def _whole(path: Path, repeated: set[Path]) -> Path | None:
    return next((path[:length] for length in range(1, len(path) + 1) if path[:length] in repeated), None)


def _columns(
    logged: LoggedFiles, by_path: dict[Path, LeafColumn], below: dict[Path, dict[Path, LeafColumn]]
) -> Iterator[LeafColumn]:
    for column in logged.columns:
        path = column.leaf.path
        if path in below:
            yield from below[path].values()
        else:
            stored = by_path.get(path, column.leaf)
            # Only the log defines the value of a column that a file lacks; defaults in Spark's footers do not count.
            yield replace(
                stored,
                unsupported=column.leaf.unsupported or stored.unsupported,
                may_be_filled=column.leaf.may_be_filled,
            )


def _compares_like(leaf: LeafColumn, column: LeafColumn) -> bool:
    """Return True if values of a file's leaf compare like values of the table's column."""
    if leaf.type is None or column.type is None:
        return False
    if pa.types.is_timestamp(column.type):
        return bool(bounds_type(leaf) == bounds_type(column))
    return bool(leaf.type == column.type)
