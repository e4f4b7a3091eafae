"""Commit a change as the next free version.

The commit fails if a concurrent commit conflicts with the change.

The commit file is created only if absent, and read back; a store must first prove that it does not overwrite. If
another writer was first, its commits are read and compared with the change (`conflicts`), and the next version is
tried; a conflict raises. If the storage does not report whether it wrote the file, the file is read and compared: every
commit has its own id.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from deltalog.errors import CommitContention, LogCleanedUp, MalformedLog, RefusedCommit, TableExists, UncertainCommit
from deltalog.log.commit_file import IN_COMMIT
from deltalog.log.listing import LOG, holds_log
from deltalog.table.features import PLAIN, check_writable
from deltalog.table.properties import IN_COMMIT_TIMESTAMPS
from deltalog.table.state import new_state, state_after
from deltalog.transaction.change import CommitContext
from deltalog.transaction.check_change import check_change
from deltalog.transaction.commit_lines import (
    ROW_TRACKING,
    add_lines,
    add_lines_with_ids,
    commit_info,
    first_line,
    highest_row_id,
    metadata_line,
    next_time,
    other_lines,
    with_enablement,
)
from deltalog.transaction.conflicts import check_conflict, isolation_of, read_concurrent_commit
from deltalog.transaction.live_files import live_files
from parquet_core.errors import PruneError, StaleListing, UncertainWrite
from parquet_core.storage import (
    Traffic,
    delete_files,
    find_file,
    holds,
    is_remote,
    needs_proof,
    prove_create,
    prove_create_below,
    put_if_absent,
    read_whole,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltalog.log.actions import Transaction
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.state import TableState
    from deltalog.transaction.change import Change
    from deltalog.transaction.conflicts import ConcurrentCommit
    from parquet_core.storage import DataFile


Notes = tuple[str, ...]
ATTEMPTS = 100
# Seconds: longest wait after the first lost race, doubled after each further one, and its upper limit.
_FIRST_WAIT, _LONGEST_WAIT = 0.005, 1.0
# Retries while the store reports the version taken but does not show it, because another writer may be in the middle of
# its commit. An uncertain write has already retried for a minute, so it counts as `_LONG_DOUBT` retries.
_DOUBTS, _LONG_DOUBT = 9, 3
# Larger commits are not sent again to prove that the store does not overwrite.
_LARGEST_PROOF = 1 << 20
INTERVAL, DEFAULT_INTERVAL = "delta.checkpointInterval", 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """A finished commit.

    `removed`: files removed from the table, as in `Snapshot.paths`.
    `written`: False if the application's transaction was committed before, in `version` or earlier, and nothing was
    written.
    `lost`: number of lost races for a version.
    `notes`: problems that did not prevent the commit, including problems with the checkpoint.
    """

    table: str
    version: int
    removed: tuple[str, ...] = ()
    written: bool = True
    txn_id: str = ""
    lost: int = 0
    notes: tuple[str, ...] = ()


def commit(snapshot: Snapshot, change: Change, *, attempts: int = ATTEMPTS, checkpoint: bool = True) -> Committed:
    """Commit a change decided from a snapshot; return once every reader can see the commit.

    `append`, `overwrite` and the other operations create the change themselves.

    >>> import deltalog
    >>> deltalog.commit(snapshot, deltalog.Change(operation="STREAMING UPDATE", adds=[new_file])).version
    2

    `attempts`: number of versions that other writers may take before the commit gives up.
    `checkpoint`: False to write no checkpoint, even if one is due; another writer will.

    Raises CommitConflict if a concurrent commit conflicts with the change, RefusedCommit and UnsupportedTable if the
    table does not allow it, and StorageFailure; these errors mean that nothing was written. Raises UncertainCommit if
    the storage does not report whether it wrote the commit.
    """
    after = state_after(snapshot.state, change.protocol, change.metadata, location=snapshot.table)
    return commit_to(snapshot, change, after, attempts=attempts, checkpoint=checkpoint)


def commit_to(
    snapshot: Snapshot, change: Change, after: TableState, *, attempts: int = ATTEMPTS, checkpoint: bool = True
) -> Committed:
    """Commit a change that results in the table state `after`. Raises as `commit`."""
    there = _written_before(snapshot, change)
    if there is not None:
        return there
    check_writable(snapshot.protocol, location=snapshot.table)
    context = CommitContext(snapshot.table, change, after, snapshot, live_files(snapshot, change.removes))
    check_change(context)
    return _followed(_race(_draft(context, snapshot), snapshot, attempts), after.properties, checkpoint=checkpoint)


def commit_first(table: str, change: Change, after: TableState | None = None) -> Committed:
    """Commit version 0 of a new table. Raises TableExists if it exists, else as `commit`."""
    if holds_log(table):
        raise TableExists(f"{table}: the table already exists; append to it, overwrite it, or choose another path")
    if change.metadata is None or change.removes:
        raise RefusedCommit(f"{table}: the first commit of a table must have a metaData action and no removals")
    if after is None:
        after = new_state(PLAIN if change.protocol is None else change.protocol, change.metadata, location=table)
    context = CommitContext(table, change, after)
    check_change(context)
    prove_create_below(f"{table.rstrip('/')}/{LOG}")
    draft = _Draft(
        context=context,
        isolation=isolation_of(after.properties, location=table),
        timed=after.properties.in_commit_timestamps,
        highest_row_id=-1 if ROW_TRACKING in after.writer_features else None,
    )
    done, concurrent = _put(draft, 0)
    if done is None:
        assert concurrent is not None
        raise TableExists(f"{table}: {concurrent.operation} created the table meanwhile; append to it or overwrite it")
    return done


def _written_before(snapshot: Snapshot, change: Change) -> Committed | None:
    """Return the result for a transaction that is already committed; None if it is not."""
    if change.txn is None:
        return None
    committed = snapshot.transactions.get(change.txn.app_id)
    if committed is None or committed.version < change.txn.version:
        return None
    return _not_written(snapshot.table, snapshot.version, committed, change.txn)


def _not_written(table: str, version: int, committed: Transaction, requested: Transaction) -> Committed:
    message = (
        f"the application {requested.app_id!r} has already committed its version {requested.version}; its last "
        f"version is {committed.version}"
    )
    return Committed(table=table, version=version, written=False, notes=(f"{message}; nothing was written",))


@dataclass(slots=True, kw_only=True)
class _Draft:
    """A commit without its version. `before`: commitInfo of the version before it."""

    context: CommitContext
    isolation: str
    timed: bool
    enabling: bool = False
    before: Mapping[str, Any] | None = None
    highest_row_id: int | None = None
    txn_id: str = field(default_factory=lambda: str(uuid4()))
    _rest: bytes = b""
    _plain_adds: bytes = b""

    def path(self, version: int) -> str:
        """Return the path of a version's commit file."""
        return f"{self.context.table.rstrip('/')}/{LOG}/{version:020d}.json"

    def text(self, version: int) -> bytes:
        """Return the content of the commit file for this version."""
        now, change, snapshot = time.time_ns() // 1_000_000, self.context.change, self.context.snapshot
        read_version = None if snapshot is None else snapshot.version
        info = commit_info(change, read_version=read_version, isolation=self.isolation, txn_id=self.txn_id, now=now)
        if self.timed:
            fresh = self.before is None or self.enabling
            commit_time = now if fresh else next_time(self.before or {}, now=now, location=self.path(version - 1))
            info = {IN_COMMIT: commit_time, **info}
        metadata = change.metadata
        if metadata is not None and self.enabling:
            metadata = with_enablement(metadata, version=version, enabled_at=info[IN_COMMIT])
        self._rest = self._rest or other_lines(change, self.context.removes, now=now)
        return (
            first_line(info) + (b"" if metadata is None else metadata_line(metadata)) + self._rest + self._adds(version)
        )

    def _adds(self, version: int) -> bytes:
        if self.highest_row_id is not None:
            return add_lines_with_ids(self.context.change, version=version, highest=self.highest_row_id)
        self._plain_adds = self._plain_adds or add_lines(self.context.change)
        return self._plain_adds

    def follow(self, concurrent: ConcurrentCommit) -> None:
        """Update the draft to follow a concurrent commit."""
        self.before = concurrent.info
        if self.highest_row_id is not None:
            configurations = {
                name: domain.configuration for name, domain in concurrent.domains.items() if not domain.removed
            }
            self.highest_row_id = max(
                self.highest_row_id, highest_row_id(configurations, location=concurrent.file.path)
            )


def _draft(context: CommitContext, snapshot: Snapshot) -> _Draft:
    properties = context.after.properties
    draft = _Draft(
        context=context,
        isolation=isolation_of(properties, location=snapshot.table),
        timed=properties.in_commit_timestamps,
        enabling=properties.in_commit_timestamps and not snapshot.properties.in_commit_timestamps,
    )
    if ROW_TRACKING in snapshot.state.writer_features:
        draft.highest_row_id = highest_row_id(snapshot.domains, location=snapshot.table)
    if snapshot.version in snapshot.listing.commits:
        file = find_file(draft.path(snapshot.version))
        if file is None or not _still_exists(file):
            # The next version's number may be free again, but a commit there would never be read.
            raise LogCleanedUp(
                f"{draft.path(snapshot.version)}: the log was cleaned up since version {snapshot.version} was read; "
                "open the table again"
            )
        draft.before = read_concurrent_commit(file, snapshot.version).info if draft.timed else None
    elif draft.timed:
        raise RefusedCommit(
            f"{draft.path(snapshot.version)}: this commit was deleted, so the earliest time of the next commit is "
            f"unknown; commit once with Spark, or unset {IN_COMMIT_TIMESTAMPS}"
        )
    else:
        prove_create_below(f"{snapshot.table.rstrip('/')}/{LOG}")
    return draft


def _still_exists(commit: DataFile) -> bool:
    """Prove with the latest commit that the store does not overwrite.

    This is done before the first write to a store. False if the commit was deleted meanwhile.
    """
    if not needs_proof(commit.path):
        return True
    if commit.size > _LARGEST_PROOF:
        prove_create_below(commit.path.rpartition("/")[0])
        return True
    try:
        existed = prove_create(commit.path, next(read_whole([commit], purpose="log", traffic=Traffic())))
    except StaleListing:
        return False
    if not existed:
        # The proof created the deleted commit again; a writer with an old snapshot must not find it.
        delete_files([commit])
    return existed


def _race(draft: _Draft, snapshot: Snapshot, attempts: int) -> Committed:
    change, version, lost = draft.context.change, snapshot.version + 1, 0
    while True:
        done, concurrent = _put(draft, version)
        if done is not None:
            return replace(done, lost=lost, removed=tuple(file.path for file in draft.context.removes))
        while concurrent is not None:
            committed = None if change.txn is None else concurrent.transactions.get(change.txn.app_id)
            if committed is not None and change.txn is not None and committed.version >= change.txn.version:
                return _not_written(snapshot.table, concurrent.version, committed, change.txn)
            check_conflict(change, concurrent, snapshot=snapshot, isolation=draft.isolation)
            draft.follow(concurrent)
            last = concurrent.file.path
            version += 1
            concurrent = _concurrent(draft, version)
        lost += 1
        if lost >= attempts:
            raise CommitContention(
                f"{last}: other commits came first {lost} times in a row; commit less often, or allow more attempts"
            )
        _wait(lost)


def _put(draft: _Draft, version: int) -> tuple[Committed | None, ConcurrentCommit | None]:
    """Write the commit as a version.

    Returns the result and None, or None and the concurrent commit that took the version.
    """
    path = draft.path(version)
    doubt: UncertainWrite | None = None
    doubts = 0
    while doubts < _DOUBTS:
        try:
            written = _written(path, draft.text(version))
            if written is not None:
                return Committed(table=draft.context.table, version=version, txn_id=draft.txn_id, notes=written), None
            doubts += 1
        except UncertainWrite as error:
            doubt, doubts = error, doubts + _LONG_DOUBT
        except PruneError as error:
            if doubt is None:
                raise
            raise _uncertain(draft, path, error) from None
        try:
            concurrent = _concurrent(draft, version)
        except MalformedLog:
            raise
        except PruneError as error:
            # A client with retries of its own may report that the version is taken although this commit took it, so the
            # outcome is uncertain.
            raise _uncertain(draft, path, error) from None
        if concurrent is not None and concurrent.txn_id == draft.txn_id:
            notes = () if doubt is None else (f"{doubt}; it was",)
            return Committed(table=draft.context.table, version=version, txn_id=draft.txn_id, notes=notes), None
        if concurrent is not None:
            return None, concurrent
        # The version is neither written nor visibly taken: a pending request of any writer may still arrive.
        _wait(doubts)
    raise _uncertain(draft, path, doubt)


def _written(path: str, content: bytes) -> Notes | None:
    """Write a commit, and read it back from a store.

    Returns notes; None if another commit has the version.
    """
    if not put_if_absent(path, content):
        return None
    if not is_remote(path):
        return ()
    try:
        return () if holds(path, content) else None
    except PruneError as error:
        return (f"the store acknowledged the commit, but did not return it ({error})",)


def _concurrent(draft: _Draft, version: int) -> ConcurrentCommit | None:
    file = find_file(draft.path(version))
    return None if file is None else read_concurrent_commit(file, version)


def _uncertain(draft: _Draft, path: str, error: PruneError | None) -> UncertainCommit:
    reason = "the store reports that the commit exists, but does not return it" if error is None else error
    return UncertainCommit(
        f"{path}: it is unknown whether the commit was written ({reason}); look for the txnId {draft.txn_id} in the "
        f"history, or "
        "commit again with the same application and version as txn, which are committed only once"
    )


def _wait(lost: int) -> None:
    # Random waits keep writers that lost to the same commit from colliding again.
    time.sleep(random.random() * min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(lost, 30)))  # noqa: S311


def _followed(done: Committed, properties: Mapping[str, str], *, checkpoint: bool) -> Committed:
    """Write a checkpoint if due after a commit; its problems become notes."""
    if not done.written or not checkpoint or not checkpoint_due(done.version, properties):
        return done
    try:
        from deltalog.maintenance.write_checkpoint import write_checkpoint

        notes = write_checkpoint(done.table, done.version).notes
    except Exception as error:  # noqa: BLE001 - the commit exists, whatever happens to its checkpoint
        notes = (f"the checkpoint of version {done.version} was not written: {str(error) or type(error).__name__}",)
    return replace(done, notes=(*done.notes, *notes))


def checkpoint_due(version: int, properties: Mapping[str, str]) -> bool:
    """True if a version is due for a checkpoint.

    >>> checkpoint_due(20, {}), checkpoint_due(20, {"delta.checkpointInterval": "15"}), checkpoint_due(0, {})
    (True, False, False)
    """
    try:
        interval = int(properties.get(INTERVAL, DEFAULT_INTERVAL))
    except ValueError:
        interval = DEFAULT_INTERVAL
    return version > 0 and interval > 0 and version % interval == 0
