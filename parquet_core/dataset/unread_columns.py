"""The columns of a table that Spark cannot read in some of its files, and in which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.errors import UnsupportedFeature
from parquet_core.quantities import counted
from parquet_core.ragged import distinct
from parquet_core.spark_rules.unread_types import NESTED, unread_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.predicate import Path


@dataclass(frozen=True, slots=True, eq=False)
class UnreadColumn:
    """A column with its type in the table, and another type that some `files` store (ascending file numbers).

    `others`: if either is the null type, the files that store the table's type. `is_untyped`: the table has the null
    type, so the stored type is the one to keep.
    """

    path: Path
    wanted: str
    stored: str
    files: NDArray[np.int64]
    others: NDArray[np.int64]
    is_untyped: bool

    @property
    def name(self) -> str:
        """The path as text."""
        return ".".join(self.path)

    def said(self, file: str) -> str:
        """Say of a file what it stores."""
        return f"{file}: column {self.name} is {self.stored} there and {self.wanted} in the table"

    @property
    def remedy(self) -> str:
        """What mends it."""
        if self.is_untyped:
            return f"write the {counted(len(self.others), 'other file')} again with the column as {self.stored}"
        those = "that file" if len(self.files) == 1 else f"these {counted(len(self.files), 'file')}"
        return f"write {those} again with the column as {self.wanted}"


def unread_columns(index: MetadataIndex) -> list[UnreadColumn]:
    """Return the columns that Spark cannot read in files that have rows, by column and stored type.

    Files of one schema are looked at once.
    """
    # Footers of one schema share its columns.
    numbers: dict[int, int] = {}
    schema_of_kind = np.array([numbers.setdefault(id(kind.columns), len(numbers)) for kind in index.kinds], np.int64)
    groups = index.read_from()
    files = distinct(index.file[groups[index.row_count[groups] > 0]])
    schemas = schema_of_kind[index.kind[files]]
    by_directory = {column.path[0].casefold() for column in index.partitions}
    found: dict[tuple[Path, str, str], NDArray[np.bool_]] = {}
    for schema in np.flatnonzero(np.bincount(schemas)).tolist():
        kind = index.kinds[int(np.argmax(schema_of_kind == schema))]
        for column in index.columns:
            if column.path[0].casefold() in by_directory or (types := unread_type(column, kind)) is None:
                continue
            stored, wanted = types
            key = (column.path[:1] if NESTED in types else column.path, wanted, stored)
            found[key] = found.get(key, np.zeros(len(files), np.bool_)) | (schemas == schema)
    return [_unread_column(index, key, files, those) for key, those in found.items()]


def _unread_column(
    index: MetadataIndex, key: tuple[Path, str, str], files: NDArray[np.int64], unread: NDArray[np.bool_]
) -> UnreadColumn:
    path = key[0]
    column = next(column for column in index.columns if column.path[: len(path)] == path)
    stored = [kind.by_path.get(column.path) for kind in index.kinds]
    untyped = np.array([leaf is not None and leaf.always_null for leaf in stored], np.bool_)[index.kind[files]]
    holds = np.array([leaf is not None for leaf in stored], np.bool_)[index.kind[files]]
    concerns_null = column.always_null or bool(untyped[unread].any())
    others = files[~unread & holds & (untyped == column.always_null)]
    return UnreadColumn(*key, files[unread], others if concerns_null else others[:0], column.always_null)


def refuse_unread_columns(index: MetadataIndex) -> None:
    """Raise UnsupportedFeature for the first file that Spark cannot read."""
    unread = min(unread_columns(index), key=lambda each: each.files[0], default=None)
    if unread is not None:
        path = index.files[int(unread.files[0])].path
        raise UnsupportedFeature(f"{unread.said(path)}, so Spark cannot read it; {unread.remedy}")
