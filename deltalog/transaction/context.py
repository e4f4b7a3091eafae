"""A change together with the table before and after it: the argument of the checks of a commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltalog.log.paths import canonical_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.state import TableState
    from deltalog.transaction.change import Change
    from deltalog.transaction.live_files import LiveFile


@dataclass(frozen=True, slots=True)
class CommitContext:
    """A change and the state that the table has with it.

    `snapshot`: the version that the change was decided from; None for the first commit of a table.
    `removes`: the files that the change removes.
    """

    table: str
    change: Change
    after: TableState
    snapshot: Snapshot | None = None
    removes: Sequence[LiveFile] = ()

    @property
    def before(self) -> TableState | None:
        """The state without the change; None if there is no table."""
        return None if self.snapshot is None else self.snapshot.state

    @property
    def removes_all_files(self) -> bool:
        """Whether no file of the table remains."""
        return self.snapshot is None or len(self.removes) == self.snapshot.file_count

    @property
    def has_new_rows(self) -> bool:
        """Whether a file is added that is not a removed file with more deleted rows."""
        if not self.change.data_change:
            return False
        deleted = {file.path: 0 if file.vector is None else file.vector.cardinality for file in self.removes}
        return any(
            (vector := add.deletion_vector) is None
            or vector.cardinality < deleted.get(canonical_path(add.path), vector.cardinality + 1)
            for add in self.change.adds
        )
