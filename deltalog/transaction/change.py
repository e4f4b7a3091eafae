"""A change: what a commit does to a table, and what it has read for that; and the table before and after it."""

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
    """What a change has read of the table: a concurrent commit that changes it is a conflict.

    >>> from deltalog import Reads
    >>> Reads().nothing, Reads(partitions=[{"day": "2024-01-01"}]).nothing
    (True, False)

    `where`: a predicate over logical columns, of which partition columns tell files apart. `partitions`: values as
    the log writes them, by the name it knows each partition column by. `files`: canonical paths, as of
    `Snapshot.paths`. Several of them add up. Nothing at all is what a blind append has read.
    """

    everything: bool = False
    where: Predicate | None = None
    partitions: Sequence[Mapping[str, str | None]] = ()
    files: frozenset[str] = frozenset()

    @property
    def nothing(self) -> bool:
        """Whether nothing was read."""
        return not (self.everything or self.where is not None or self.partitions or self.files)


NOTHING = Reads()
WHOLE_TABLE = Reads(everything=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a commit does, decided from one version of the table.

    >>> from deltalog import Change, Reads
    >>> change = Change(operation="DELETE", removes=["part-0.parquet"], reads=Reads(everything=True))
    >>> change.data_change, change.blind_append
    (True, False)

    `operation`, `parameters` and `metrics` are for the history alone; without `metrics` it has counts of files and
    bytes. `adds`: paths relative to the table and percent-encoded, as the log writes them. `removes`: canonical paths
    of live files. `data_change`: False when the rows stay what they are, as in compaction. `replaces`: True when no row
    of the removed files is in the added ones, as in an overwrite. `txn`: how far an application is with this commit.
    `obeys`: constraints of the table that the added rows were held to; of the others it is not known.
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
        """Whether files are added, if anything, and nothing was read."""
        return not self.removes and self.reads.nothing and self.data_change


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
