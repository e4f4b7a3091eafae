"""Changes: the actions of a commit, the data it has read, and the table before and after."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltalog.log.paths import canonical_path

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from deltalog.log.actions import Add, DomainMetadata, Metadata, Protocol, Transaction
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.constraints import Constraint
    from deltalog.table.state import TableState
    from deltalog.transaction.live_files import LiveFile
    from parquet_core.pruning.predicate import Predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """The parts of a table that a change has read.

    A concurrent commit that changes these parts is a conflict.

    >>> from deltalog import Reads
    >>> Reads().nothing, Reads(partitions=[{"day": "2024-01-01"}]).nothing
    (True, False)

    `where`: a predicate on logical columns; only partition columns distinguish files.
    `partitions`: values as in the log, keyed by the log's names of the partition columns.
    `files`: canonical paths as in `Snapshot.paths`.

    If several are given, all of these parts were read. A blind append has read nothing.
    """

    everything: bool = False
    where: Predicate | None = None
    partitions: Sequence[Mapping[str, str | None]] = ()
    files: frozenset[str] = frozenset()

    @property
    def nothing(self) -> bool:
        """True if nothing was read."""
        return not (self.everything or self.where is not None or self.partitions or self.files)


NOTHING = Reads()
WHOLE_TABLE = Reads(everything=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The content of a commit, decided from one version of the table.

    >>> from deltalog import Change, Reads
    >>> change = Change(operation="DELETE", removes=["part-0.parquet"], reads=Reads(everything=True))
    >>> change.data_change, change.blind_append
    (True, False)

    `operation`, `parameters` and `metrics` are only shown in the history; without `metrics`, counts of files and bytes
    are written.
    `adds`: paths relative to the table and percent-encoded, as in the log.
    `removes`: canonical paths of live files.
    `data_change`: False if the rows stay the same, as in compaction.
    `replaces`: True if the added files contain no row of the removed ones, as in an overwrite.
    `txn`: the application's version after this commit.
    `obeys`: constraints of the table that the writer enforced on the added rows; other constraints are unchecked.
    """

    operation: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    adds: Sequence[Add] = ()
    removes: Sequence[str] = ()
    reads: Reads = NOTHING
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    txn: Transaction | None = None
    domains: Sequence[DomainMetadata] = ()
    data_change: bool = True
    replaces: bool = False
    obeys: Collection[Constraint] = ()
    metrics: Mapping[str, int] = field(default_factory=dict)

    @property
    def blind_append(self) -> bool:
        """True if the change may add rows, removes nothing and has read nothing."""
        return not self.removes and self.reads.nothing and self.data_change


@dataclass(frozen=True, slots=True)
class CommitContext:
    """A change and the table state that results from it.

    `snapshot`: the version that the change was decided from; None for the first commit of a table. `removes`: the files
    that the change removes.
    """

    table: str
    change: Change
    after: TableState
    snapshot: Snapshot | None = None
    removes: Sequence[LiveFile] = ()

    @property
    def before(self) -> TableState | None:
        """The table state before the change; None if the table does not exist."""
        return None if self.snapshot is None else self.snapshot.state

    @property
    def removes_all_files(self) -> bool:
        """True if no file of the table remains."""
        return self.snapshot is None or len(self.removes) == self.snapshot.file_count

    @property
    def has_new_rows(self) -> bool:
        """True if an added file may have new rows.

        A removed file that is added again with more deleted rows has no new rows.
        """
        if not self.change.data_change:
            return False
        deleted = {file.path: 0 if file.vector is None else file.vector.cardinality for file in self.removes}
        return any(
            (vector := add.deletion_vector) is None
            or vector.cardinality < deleted.get(canonical_path(add.path), vector.cardinality + 1)
            for add in self.change.adds
        )
