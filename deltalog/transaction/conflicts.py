"""Whether a change may follow a commit that came first, of which it knew nothing.

It may when it would have been the same, had it been made after that commit:

- protocol and `metaData` must be what they were: files were written for them;
- no file that the change removes may have been removed (delete, delete), nor one that it read (delete, read);
- no rows may have been added where it read (append). Under WriteSerializable a blind append may be taken to come
  after the change, wherever it stands in the log. A change that leaves the rows as they are, compaction, reads them
  from files alone: new ones do not matter to it, nor do files that a compaction rearranged to anyone;
- an application's transactions, and what is said of a domain, follow one another.

Source: the Delta protocol, and the rules that delta-spark's transactions obey.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from deltalog.errors import (
    ConcurrentAppend,
    ConcurrentDeleteDelete,
    ConcurrentDeleteRead,
    ConcurrentDomain,
    ConcurrentTransaction,
    MetadataChanged,
    ProtocolChanged,
    RefusedCommit,
)
from deltalog.log.file_block import block_of_adds
from deltalog.log.paths import canonical_path
from deltalog.log.text_arrays import path_array
from deltalog.transaction.read_set import may_have_read
from parquet_core.arrow_arrays import flags_from

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.transaction.change import Change
    from deltalog.transaction.concurrent_commit import ConcurrentCommit

ISOLATION = "delta.isolationLevel"
SERIALIZABLE, WRITE_SERIALIZABLE = "Serializable", "WriteSerializable"
_AGAIN = "open the table again and decide anew what to commit"


def isolation_of(properties: Mapping[str, str], *, place: str) -> str:
    """Return the isolation level of a table, Serializable by default; RefusedCommit for one that is not known."""
    said = properties.get(ISOLATION, SERIALIZABLE)
    found = {level.lower(): level for level in (SERIALIZABLE, WRITE_SERIALIZABLE)}.get(said.lower())
    if found is None:
        raise RefusedCommit(
            f"{place}: {ISOLATION} is {said!r}, which is not known; set it to {SERIALIZABLE} or {WRITE_SERIALIZABLE}"
        )
    return found


def check_conflict(change: Change, concurrent: ConcurrentCommit, *, snapshot: Snapshot, isolation: str) -> None:
    """Raise the CommitConflict that a change has with a commit after the version that it was decided from."""
    where = f"{concurrent.file.path} ({concurrent.operation})"
    if concurrent.protocol:
        raise ProtocolChanged(f"{where} changed the protocol; {_AGAIN}")
    if concurrent.metadata:
        raise MetadataChanged(f"{where} changed schema, partitioning or properties; {_AGAIN}")
    if change.txn is not None and change.txn.app_id in concurrent.transactions:
        there = concurrent.transactions[change.txn.app_id].version
        raise ConcurrentTransaction(
            f"{where} is of the application {change.txn.app_id!r} too, and its version {there} goes before "
            f"{change.txn.version}; let one writer at a time use the name, and {_AGAIN}"
        )
    both = concurrent.domains.keys() & {domain.domain for domain in change.domains}
    if both:
        raise ConcurrentDomain(f"{where} speaks of the domain {min(both)!r} too; {_AGAIN}")
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
