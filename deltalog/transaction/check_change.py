"""Check a change against its snapshot and the table features.

The check is made before the commit is written. It does not read the rows of the added files: if the table has
requirements on rows and the statistics do not prove them, the commit is refused. Source: the Delta protocol,
"Table Features" and its requirements for writers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from deltalog.errors import RefusedCommit, UnsupportedTable
from deltalog.log.actions import fits
from deltalog.log.paths import path_array
from deltalog.log.replay import key_of
from deltalog.table.constraints import constraints_of
from deltalog.table.features import check_writable
from deltalog.table.properties import APPEND_ONLY, CHANGE_FEED, DELETION_VECTORS
from deltalog.transaction.check_adds import check_adds
from deltalog.transaction.check_metadata import check_metadata, check_protocol
from deltalog.transaction.commit_lines import ROW_TRACKING, check_row_ids
from parquet_core.arrow_arrays import flags_from
from parquet_core.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.constraints import Constraint
    from deltalog.table.state import TableState
    from deltalog.transaction.change import CommitContext


# Domains with this prefix are written by their table feature.
_SYSTEM = "delta."
_SPARK = "commit with Spark, which does"


def check_appendable(snapshot: Snapshot, *, obeys: Collection[Constraint] = ()) -> None:
    """Raise UnsupportedTable if rows cannot be appended to a table.

    Only checks that do not need the rows are made.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import deltalog
    >>> table = tempfile.mkdtemp()
    >>> created = deltalog.create_table(table, pa.schema({"id": pa.int64()}))
    >>> deltalog.check_appendable(deltalog.open_snapshot(table))

    `obeys`: see `append`. The message names the feature.
    """
    check_writable(snapshot.protocol, location=snapshot.table)
    _check_constraints(snapshot.state, obeys, snapshot.table)


def check_compactable(snapshot: Snapshot) -> None:
    """Raise UnsupportedTable if files cannot be replaced by new files with the same rows.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import deltalog
    >>> table = tempfile.mkdtemp()
    >>> created = deltalog.create_table(table, pa.schema({"id": pa.int64()}))
    >>> deltalog.check_compactable(deltalog.open_snapshot(table))
    """
    check_writable(snapshot.protocol, location=snapshot.table)
    if ROW_TRACKING in snapshot.state.writer_features:
        raise UnsupportedTable(
            f"{snapshot.table}: {ROW_TRACKING}: rows must keep their ids in the new files, which this package does "
            f"not support; optimize with delta-spark"
        )


def _check_added_once(context: CommitContext) -> None:
    gone = {(file.path, None if file.vector is None else file.vector.identity) for file in context.removes}
    for add in context.change.adds:
        if key_of(add.path, add.deletion_vector) in gone:
            raise RefusedCommit(f"{context.table}: {add.path} is added and removed by one commit; do one of both")


def _check_not_live(context: CommitContext) -> None:
    """Refuse to add a live file without removing it.

    Adding it again without new rows is allowed.
    """
    snapshot, change = context.snapshot, context.change
    if snapshot is None or not change.adds:
        return
    removed = set(change.removes)
    mine = {key_of(add.path, None)[0]: add for add in change.adds}
    added_paths = path_array(sorted(mine.keys() - removed))
    for block in snapshot.blocks if len(added_paths) else ():
        for i in np.flatnonzero(flags_from(pc.is_in(block.path, value_set=added_paths))).tolist():
            add = mine[block.path[i].as_py()]
            same = add.deletion_vector is None and (block.vectors is None or not block.vectors[i].is_valid)
            if change.data_change or not same:
                raise RefusedCommit(
                    f"{snapshot.table}: {add.path} is a file of version {snapshot.version} already; give new files "
                    "new names, or remove the old one in the same commit"
                )


def _check_transaction(context: CommitContext) -> None:
    txn = context.change.txn
    if txn is not None and (not txn.app_id or not fits(txn.version)):
        raise RefusedCommit(
            f"{context.table}: {txn.app_id!r} and {txn.version} are not an application and version; give a "
            "name and a number from 0 on that grows with each of its commits"
        )


def _check_domains(context: CommitContext) -> None:
    names, table = [domain.domain for domain in context.change.domains], context.table
    if len(set(names)) < len(names):
        raise RefusedCommit(f"{table}: the commit sets a domain twice; set it once")
    system = [name for name in names if name.startswith(_SYSTEM)]
    if system:
        raise UnsupportedTable(f"{table}: the domain {system[0]} belongs to a feature; change it with Spark")
    if names and "domainMetadata" not in context.after.writer_features:
        raise RefusedCommit(f"{table}: the table lacks the feature domainMetadata; add it to the protocol first")


def _check_append_only(context: CommitContext) -> None:
    change, before = context.change, context.before
    # A commit that unsets the property and removes rows also violates append-only.
    append_only = context.after.properties.append_only or (before is not None and before.properties.append_only)
    if append_only and change.removes and change.data_change:
        raise RefusedCommit(
            f"{context.table}: the table is append-only and {counted(len(change.removes), 'file')} would be removed; "
            f"unset {APPEND_ONLY} to allow removals"
        )


def _check_change_feed(context: CommitContext) -> None:
    change = context.change
    carried = change.adds and change.removes and change.data_change and not change.replaces
    if carried and context.after.properties.change_feed:
        raise UnsupportedTable(
            f"{context.table}: changeDataFeed: rows move from removed files to added files, and this package does "
            f"not write which rows changed; {_SPARK}, or unset {CHANGE_FEED}"
        )


def _check_vectors(context: CommitContext) -> None:
    if any(add.deletion_vector is not None for add in context.change.adds):
        check_vectors_allowed(context.after, context.table)


def check_vectors_allowed(state: TableState, location: str) -> None:
    """Raise RefusedCommit if a table does not allow deletion vectors."""
    if "deletionVectors" not in state.writer_features or not state.properties.deletion_vectors:
        raise RefusedCommit(
            f"{location}: deletionVectors: a file has a deletion vector, which the table does not allow; set "
            f"{DELETION_VECTORS}=true first"
        )


def _check_rows(context: CommitContext) -> None:
    if context.has_new_rows:
        _check_constraints(context.after, context.change.obeys, context.table)


def _check_constraints(state: TableState, obeys: Collection[Constraint], location: str) -> None:
    """Refuse files if constraints require a check of rows."""
    for constraint in constraints_of(state.properties, state.schema.fields):
        if constraint in obeys:
            continue
        if constraint.feature == "checkConstraints":
            reason = f"whether rows satisfy {constraint.name} is not checked here; {_SPARK}, or drop the constraint"
        else:
            reason = f"whether rows satisfy the rule of column {constraint.name} is not checked here; {_SPARK}"
        raise UnsupportedTable(f"{location}: {constraint.feature}: {reason}")


# Each check raises UnsupportedTable or RefusedCommit.
CHECKS: tuple[Callable[[CommitContext], None], ...] = (
    check_protocol,
    _check_added_once,
    check_metadata,
    check_row_ids,
    _check_append_only,
    _check_change_feed,
    _check_vectors,
    _check_rows,
    check_adds,
    _check_transaction,
    _check_domains,
    _check_not_live,
)


def check_change(context: CommitContext) -> None:
    """Raise UnsupportedTable or RefusedCommit if a table does not allow a change.

    The message names the feature, file or column, and the next step.
    """
    for check in CHECKS:
        check(context)
