"""The cache on disk as the columns of a dataset use it: names of entries, and positions of row groups in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_core.dataset.row_group_table import RowGroupTable
    from parquet_core.dataset.stored_index import Kept, StoredIndex
    from parquet_core.format.schema import LeafColumn


@dataclass(frozen=True, slots=True)
class KeptColumns:
    """The arrays that are kept of columns; `stored` is None without a cache."""

    groups: RowGroupTable
    stored: StoredIndex | None

    def name(self, what: str, column: LeafColumn) -> str:
        """Name what is kept of a column, by what it is called in files and how they store it."""
        paths = self.groups.names.of(column.path)
        if paths == (column.path,):
            return _name(what, column)
        # What a column is called may change, and another may get its name.
        return "\x00".join([_name(what, column), *(part for path in paths for part in ("", *path))])

    def read(self, name: str) -> Kept | None:
        """Return what is kept under a name, and where in it each row group stands: -1 where it does not."""
        if self.stored is None:
            return None
        at = self.groups.read_from()
        kept = self.stored.read(name, self.groups.opened_files(at), self.groups.ordinal[at])
        if kept is None or len(at) == len(self.groups):
            return kept
        positions = np.full(len(self.groups), -1, np.int64)
        positions[at] = kept.groups
        return kept._replace(groups=positions)

    def write(self, name: str, values: Mapping[str, Any]) -> None:
        """Keep arrays of the row groups that something is read of."""
        if self.stored is not None:
            self.stored.write(name, values)

    def finish(self) -> None:
        """Make room for what was kept."""
        if self.stored is not None:
            self.stored.finish()


def _name(what: str, column: LeafColumn) -> str:
    """Name what is kept of a column: of one stored otherwise, other bounds would be believed."""
    form = f"{column.physical} {column.type_length} {column.type} {column.max_definition_level} {column.may_be_filled}"
    return "\x00".join([what, form, str(column.max_repetition_level), *column.path])
