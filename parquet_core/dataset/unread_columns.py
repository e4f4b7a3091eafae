"""Columns of files that Spark does not read: the table's schema lacks the column, or its stored type is unreadable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.errors import UnsupportedFeature
from parquet_core.quantities import counted
from parquet_core.ragged import distinct
from parquet_core.spark_rules.unread_types import NESTED, unread_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn, Path


@dataclass(frozen=True, slots=True, eq=False)
class ExtraColumn:
    """A column or struct field of some files that the table's schema lacks.

    `files`: numbers of these files, ascending.
    """

    name: str
    files: NDArray[np.int64]


def extra_columns(index: MetadataIndex) -> list[ExtraColumn]:
    """Return columns that the table's schema lacks, from files with rows. Spark takes this schema from one file."""
    groups = index.groups.read_from()
    files = distinct(index.groups.file[groups[index.groups.row_count[groups] > 0]])
    known = {name for column in (*index.groups.columns, *index.groups.partitions) for name in _names(column)}
    found: dict[str, list[NDArray[np.int64]]] = {}
    by_schema: dict[int, tuple[str, ...]] = {}
    for number in distinct(index.groups.provenance_ids[files]).tolist():
        columns = index.groups.provenances[number].columns
        # Footers with the same schema share one `columns` object.
        extra = by_schema.setdefault(id(columns), _extra(columns, known))
        for name in extra:
            found.setdefault(name, []).append(files[index.groups.provenance_ids[files] == number])
    return [ExtraColumn(name, np.sort(np.concatenate(parts))) for name, parts in found.items()]


def _extra(columns: Sequence[LeafColumn], known: set[tuple[str, ...]]) -> tuple[str, ...]:
    """Return, for each column, its shortest prefix that is not in `known`, as a dotted name."""
    extra: dict[str, None] = {}
    for column in columns:
        unknown = next((name for name in _names(column) if name not in known), None)
        if unknown is not None:
            extra[".".join(column.path[: len(unknown)])] = None
    return tuple(extra)


def _names(column: LeafColumn) -> list[tuple[str, ...]]:
    """Return the case-folded paths from the top-level column to the leaf.

    For a list or map, return only the top-level column, because writers name the parts of lists and maps differently.
    Spark ignores case in names.
    """
    path = tuple(part.casefold() for part in column.path)
    depth = 1 if column.max_repetition_level else len(path)
    return [path[: end + 1] for end in range(depth)]


@dataclass(frozen=True, slots=True, eq=False)
class UnreadColumn:
    """A column whose stored type Spark cannot read in some files.

    `wanted`: type in the table.
    `stored`: type in `files`.
    `files`: numbers of these files, ascending.
    `others`: if `wanted` or `stored` is the null type, the files that store the table's type; otherwise empty.
    `is_untyped`: True if the table has the null type, so that the other files are rewritten with the stored type.
    """

    path: Path
    wanted: str
    stored: str
    files: NDArray[np.int64]
    others: NDArray[np.int64]
    is_untyped: bool

    @property
    def name(self) -> str:
        """The dotted path."""
        return ".".join(self.path)

    def message(self, file: str) -> str:
        """Return a message with the type in a file and the type in the table."""
        return f"{file}: column {self.name} is {self.stored} there and {self.wanted} in the table"

    @property
    def remedy(self) -> str:
        """The next step: which files to rewrite, and with which type."""
        if self.is_untyped:
            return f"write the {counted(len(self.others), 'other file')} again with the column as {self.stored}"
        those = "that file" if len(self.files) == 1 else f"these {counted(len(self.files), 'file')}"
        return f"write {those} again with the column as {self.wanted}"


def unread_columns(index: MetadataIndex) -> list[UnreadColumn]:
    """Return columns whose stored type Spark cannot read, one entry per column and stored type.

    Files without rows are ignored. Each distinct schema is checked once.
    """
    # Footers with the same schema share one `columns` object.
    numbers: dict[int, int] = {}
    schema_of_provenance = np.array(
        [numbers.setdefault(id(provenance.columns), len(numbers)) for provenance in index.groups.provenances], np.int64
    )
    groups = index.groups.read_from()
    files = distinct(index.groups.file[groups[index.groups.row_count[groups] > 0]])
    schemas = schema_of_provenance[index.groups.provenance_ids[files]]
    by_directory = {column.path[0].casefold() for column in index.groups.partitions}
    found: dict[tuple[Path, str, str], NDArray[np.bool_]] = {}
    for schema in np.flatnonzero(np.bincount(schemas)).tolist():
        provenance = index.groups.provenances[int(np.argmax(schema_of_provenance == schema))]
        for column in index.groups.columns:
            if column.path[0].casefold() in by_directory or (types := unread_type(column, provenance)) is None:
                continue
            stored, wanted = types
            key = (column.path[:1] if NESTED in types else column.path, wanted, stored)
            found[key] = found.get(key, np.zeros(len(files), np.bool_)) | (schemas == schema)
    return [_unread_column(index, key, files, those) for key, those in found.items()]


def _unread_column(
    index: MetadataIndex, key: tuple[Path, str, str], files: NDArray[np.int64], unread: NDArray[np.bool_]
) -> UnreadColumn:
    path = key[0]
    column = next(column for column in index.groups.columns if column.path[: len(path)] == path)
    stored = [provenance.by_path.get(column.path) for provenance in index.groups.provenances]
    untyped = np.array([leaf is not None and leaf.always_null for leaf in stored], np.bool_)[
        index.groups.provenance_ids[files]
    ]
    holds = np.array([leaf is not None for leaf in stored], np.bool_)[index.groups.provenance_ids[files]]
    concerns_null = column.always_null or bool(untyped[unread].any())
    others = files[~unread & holds & (untyped == column.always_null)]
    return UnreadColumn(*key, files[unread], others if concerns_null else others[:0], column.always_null)


def refuse_unread_columns(index: MetadataIndex) -> None:
    """Raise UnsupportedFeature for the first file that Spark cannot read."""
    unread = min(unread_columns(index), key=lambda each: each.files[0], default=None)
    if unread is not None:
        path = index.groups.files[int(unread.files[0])].path
        raise UnsupportedFeature(f"{unread.message(path)}, so Spark cannot read it; {unread.remedy}")
