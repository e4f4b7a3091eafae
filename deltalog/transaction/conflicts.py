"""Check whether a change may follow a concurrent commit.

A concurrent commit took a version first. The change may follow if it would have been the same after that commit:

- protocol and `metaData` must be unchanged, because files were written for them;
- no file that the change removes (delete, delete) or has read (delete, read) may have been removed;
- no rows may have been added where the change has read (append). Under WriteSerializable, a blind append may be ordered
  after the change, although it has the earlier version. A change that preserves the rows (compaction) reads only the
  rows of its files, so new rows do not matter to it. Files that a compaction rewrote do not matter to any change;
- the two commits must not both have a transaction of one application, or change one metadata domain.

Source: the Delta protocol, and the rules of delta-spark's transactions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import pyarrow.compute as pc

from deltalog.errors import (
    ConcurrentAppend,
    ConcurrentDeleteDelete,
    ConcurrentDeleteRead,
    ConcurrentDomain,
    ConcurrentTransaction,
    MalformedLog,
    MetadataChanged,
    ProtocolChanged,
    RefusedCommit,
)
from deltalog.log.actions import Add, DomainMetadata, Line, Remove, Transaction
from deltalog.log.commit_file import info_of, read_commits
from deltalog.log.file_block import block_of_adds
from deltalog.log.paths import canonical_path, path_array
from deltalog.stats.partition_match import Placed, place_files
from deltalog.stats.partition_values import outcomes_of_partitions
from parquet_core.arrow_arrays import flags_from
from parquet_core.pruning.outcomes import may_match, must_match
from parquet_core.pruning.predicate import leaves
from parquet_core.pruning.trees import fold
from parquet_core.storage import Traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from deltalog.log.file_block import FileBlock
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.schema import TableSchema
    from deltalog.transaction.change import Change, Reads
    from parquet_core.pruning.predicate import Predicate
    from parquet_core.storage import DataFile

ISOLATION = "delta.isolationLevel"
SERIALIZABLE, WRITE_SERIALIZABLE = "Serializable", "WriteSerializable"
_AGAIN = "open the table again and repeat the operation"


class _Added(Add, frozen=True, gc=False, rename="camel"):
    data_change: bool = True


class _Line(Line, frozen=True, gc=False):
    add: _Added | None = None


class ConcurrentCommit(NamedTuple):
    """A committed concurrent change.

    `rearranged`: added files without new rows. `info`: the commitInfo, empty if missing.
    """

    version: int
    file: DataFile
    info: dict[str, Any]
    adds: list[Add]
    rearranged: list[Add]
    removes: list[Remove]
    metadata: bool
    protocol: bool
    transactions: dict[str, Transaction]
    domains: dict[str, DomainMetadata]

    @property
    def txn_id(self) -> str | None:
        """Unique id of this commit; None if its writer gave none."""
        txn_id = self.info.get("txnId")
        return txn_id if isinstance(txn_id, str) else None

    @property
    def blind_append(self) -> bool:
        """True if the writer states that it added rows without reading any."""
        return self.info.get("isBlindAppend") is True

    @property
    def operation(self) -> str:
        """Name of the operation, as its writer states it."""
        return str(self.info.get("operation", "an unknown operation"))


_LINES = msgspec.json.Decoder(_Line)


def read_concurrent_commit(file: DataFile, version: int) -> ConcurrentCommit:
    """Read a concurrent commit. Raises MalformedLog if it is damaged."""
    try:
        lines = [*next(read_commits([file], _LINES, traffic=Traffic()))]
    except MalformedLog as error:
        raise MalformedLog(f"{error}; restore it before you commit again") from None
    added = _actions(lines, lambda line: line.add)
    return ConcurrentCommit(
        version=version,
        file=file,
        info=info_of(lines),
        adds=[add for add in added if add.data_change],
        rearranged=[add for add in added if not add.data_change],
        removes=_actions(lines, lambda line: line.remove),
        metadata=bool(_actions(lines, lambda line: line.meta_data)),
        protocol=bool(_actions(lines, lambda line: line.protocol)),
        transactions={txn.app_id: txn for txn in _actions(lines, lambda line: line.txn)},
        domains={domain.domain: domain for domain in _actions(lines, lambda line: line.domain_metadata)},
    )


def _actions(lines: list[_Line], pick: Callable[[_Line], Any]) -> list[Any]:
    return [action for line in lines if (action := pick(line)) is not None]


def isolation_of(properties: Mapping[str, str], *, location: str) -> str:
    """Return a table's isolation level, by default Serializable. Raises RefusedCommit if unknown."""
    declared = properties.get(ISOLATION, SERIALIZABLE)
    isolation = {level.lower(): level for level in (SERIALIZABLE, WRITE_SERIALIZABLE)}.get(declared.lower())
    if isolation is None:
        raise RefusedCommit(
            f"{location}: {ISOLATION} is {declared!r}, which is not known; "
            f"set it to {SERIALIZABLE} or {WRITE_SERIALIZABLE}"
        )
    return isolation


def check_conflict(change: Change, concurrent: ConcurrentCommit, *, snapshot: Snapshot, isolation: str) -> None:
    """Raise CommitConflict if a change conflicts with a later commit."""
    where = f"{concurrent.file.path} ({concurrent.operation})"
    if concurrent.protocol:
        raise ProtocolChanged(f"{where} changed the protocol; {_AGAIN}")
    if concurrent.metadata:
        raise MetadataChanged(f"{where} changed schema, partitioning or properties; {_AGAIN}")
    if change.txn is not None and change.txn.app_id in concurrent.transactions:
        there = concurrent.transactions[change.txn.app_id].version
        raise ConcurrentTransaction(
            f"{where} is also of the application {change.txn.app_id!r}, whose version {there} comes before "
            f"{change.txn.version}; let one writer at a time use the name, and {_AGAIN}"
        )
    both = concurrent.domains.keys() & {domain.domain for domain in change.domains}
    if both:
        raise ConcurrentDomain(f"{where} sets the domain {min(both)!r} too; {_AGAIN}")
    _check_removes(change, concurrent, snapshot, where)
    _check_adds(change, concurrent, snapshot, isolation, where)


def _check_removes(change: Change, concurrent: ConcurrentCommit, snapshot: Snapshot, where: str) -> None:
    gone = {canonical_path(remove.path) for remove in concurrent.removes}
    if not gone:
        return
    removed = gone.intersection(change.removes)
    if removed:
        raise ConcurrentDeleteDelete(f"{where} removed {min(removed)}, which this commit removes too; {_AGAIN}")
    if change.reads.nothing:
        return
    paths = path_array(sorted(gone))
    for block in snapshot.blocks:
        here = flags_from(pc.is_in(block.path, value_set=paths))
        if here.any():
            here &= may_have_read(change.reads, snapshot.schema, block)
        if here.any():
            path = block.path[int(np.flatnonzero(here)[0])].as_py()
            raise ConcurrentDeleteRead(f"{where} removed {path}, which this commit has read; {_AGAIN}")


def _check_adds(change: Change, concurrent: ConcurrentCommit, snapshot: Snapshot, isolation: str, where: str) -> None:
    mine = {canonical_path(add.path) for add in change.adds}
    for add in (*concurrent.adds, *concurrent.rearranged):
        if canonical_path(add.path) in mine:
            raise ConcurrentAppend(
                f"{where} added {add.path} too; give each file to one commit, under a name of its own"
            )
    if not concurrent.adds or change.reads.nothing or not change.data_change:
        return
    if isolation == WRITE_SERIALIZABLE and concurrent.blind_append and change.metadata is None:
        return
    added = block_of_adds(concurrent.adds)
    there = may_have_read(change.reads, snapshot.schema, added)
    if there.any():
        path = added.path[int(np.flatnonzero(there)[0])].as_py()
        raise ConcurrentAppend(f"{where} added {path}, whose rows this commit should have read; {_AGAIN}")


def may_have_read(reads: Reads, schema: TableSchema, block: FileBlock) -> NDArray[np.bool_]:
    """Flag the files that a change has read, or would have read."""
    if reads.everything:
        return np.ones(len(block), np.bool_)
    possible = np.zeros(len(block), np.bool_)
    if reads.where is not None:
        possible |= select_files(reads.where, schema, block).possible
    if reads.partitions:
        possible |= place_files(schema, reads.partitions, block).possible
    if reads.files:
        possible |= flags_from(pc.is_in(block.path, value_set=path_array(sorted(reads.files))))
    return possible


def select_files(predicate: Predicate, schema: TableSchema, block: FileBlock) -> Placed:
    """Return files with only matching rows, and files that may match.

    Only partition values are evaluated.
    """
    columns = schema.by_path()
    outcomes = fold(predicate, [outcomes_of_partitions(part, columns, block) for part in leaves(predicate)])
    return Placed(must_match(outcomes), may_match(outcomes))
