"""Common operations, each committed as one change: append, overwrite, rewrite, compact.

Every function takes the snapshot that the change was decided from. Added files must already exist in the table's
directory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from deltalog.errors import RefusedCommit
from deltalog.log.file_block import block_of_adds
from deltalog.stats.partition_match import partition_columns, place_files
from deltalog.table.features import needed_features, protocol_with, requested
from deltalog.table.state import state_after
from deltalog.transaction.change import NOTHING, WHOLE_TABLE, Change, Reads
from deltalog.transaction.commit import commit, commit_to
from deltalog.transaction.conflicts import select_files
from parquet_core.fix import Fix, Step
from parquet_core.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from deltalog.log.actions import Add, Transaction
    from deltalog.log.file_block import FileBlock
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.constraints import Constraint
    from deltalog.table.state import TableState
    from deltalog.transaction.commit import Committed
    from parquet_core.pruning.predicate import Predicate

    Flags = NDArray[np.bool_]


def append(
    snapshot: Snapshot,
    adds: Sequence[Add],
    *,
    reads: Reads = NOTHING,
    txn: Transaction | None = None,
    obeys: Collection[Constraint] = (),
    checkpoint: bool = True,
) -> Committed:
    """Append files that already exist in a table's directory; `adds_of` describes them.

    >>> import deltalog
    >>> deltalog.append(snapshot, [new_file]).version
    2
    >>> deltalog.open_snapshot(table).paths()
    ['part-0.parquet', 'part-1.parquet']

    `reads`: the parts of the table that the rows were derived from; by default none.
    `txn`: the application's id and its number for this change; a committed number is not committed again.
    `obeys`: constraints of the table that the writer of the files has enforced on their rows.
    `checkpoint`: see `commit`.

    Raises as `commit`.
    """
    change = Change(operation="WRITE", parameters={"mode": "Append"}, adds=adds, reads=reads, txn=txn, obeys=obeys)
    return commit(snapshot, change, checkpoint=checkpoint)


def overwrite(
    snapshot: Snapshot,
    adds: Sequence[Add],
    *,
    where: Predicate | None = None,
    shown: str | None = None,
    schema: str | None = None,
    txn: Transaction | None = None,
    obeys: Collection[Constraint] = (),
    checkpoint: bool = True,
) -> Committed:
    """Replace all files, or the files of selected partitions.

    >>> import deltalog
    >>> overwritten = deltalog.overwrite(snapshot, [new_file])
    >>> deltalog.open_snapshot(table).paths()
    ['part-1.parquet']

    `where`: a predicate that uses only partition columns.
    `shown`: the text of `where` in the history.
    `schema`: a new schema as JSON, if all files are replaced.
    `txn`, `obeys`, `checkpoint`: see `append`.

    Raises RefusedCommit if it is undecided whether `where` selects every row or no row of a file, or if an added file
    is outside `where`; else as `commit`.
    """
    parameters = {"mode": "Overwrite"} | (
        {} if where is None else {"predicate": str(where) if shown is None else shown}
    )
    if where is None:
        removes, reads = snapshot.paths(), WHOLE_TABLE
    else:
        removes, reads = _inside(snapshot, adds, where), Reads(where=where)
    change = Change(
        operation="WRITE",
        parameters=parameters,
        adds=adds,
        removes=removes,
        reads=reads,
        txn=txn,
        replaces=True,
        obeys=obeys,
    )
    after = snapshot.state
    if schema is not None:
        change, after = altered(snapshot, change, properties=snapshot.properties, schema=schema)
    return commit_to(snapshot, change, after, checkpoint=checkpoint)


def replace_partitions(
    snapshot: Snapshot,
    adds: Sequence[Add],
    *,
    txn: Transaction | None = None,
    obeys: Collection[Constraint] = (),
    checkpoint: bool = True,
) -> Committed:
    """Replace all files in the partitions of the added files; all files if the table is unpartitioned.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import deltalog
    >>> table, places = tempfile.mkdtemp(), {"monday.parquet": "1", "tuesday.parquet": "2", "new.parquet": "2"}
    >>> created = deltalog.create_table(table, pa.schema({"day": pa.int32(), "id": pa.int64()}), partition_by=["day"])
    >>> for name in places:
    ...     pq.write_table(pa.table({"id": [1, 2, 3]}), f"{table}/{name}")
    >>> snapshot = deltalog.open_snapshot(table)
    >>> files = [deltalog.NewFile(name, {"day": day}) for name, day in places.items()]
    >>> monday, tuesday, new = deltalog.adds_of(table, snapshot.schema, files)
    >>> appended = deltalog.append(snapshot, [monday, tuesday])
    >>> replaced = deltalog.replace_partitions(deltalog.open_snapshot(table), [new])
    >>> sorted(deltalog.open_snapshot(table).paths())
    ['monday.parquet', 'new.parquet']

    `txn`, `obeys`, `checkpoint`: see `append`. Raises as `commit`.
    """
    if not partition_columns(snapshot.schema):
        return overwrite(snapshot, adds, txn=txn, obeys=obeys, checkpoint=checkpoint)
    reads = reads_of_partitions(snapshot, adds)
    removes = _decided(snapshot, lambda block: place_files(snapshot.schema, reads.partitions, block))
    change = Change(
        operation="WRITE",
        parameters={"mode": "Overwrite", "partitionOverwriteMode": "dynamic"},
        adds=adds,
        removes=removes,
        reads=reads,
        txn=txn,
        replaces=True,
        obeys=obeys,
    )
    return commit(snapshot, change, checkpoint=checkpoint)


def reads_of_partitions(snapshot: Snapshot, adds: Sequence[Add]) -> Reads:
    """Return the reads of a commit that replaces the partitions of `adds`.

    An unpartitioned table is replaced, and therefore read, as a whole.
    """
    if not partition_columns(snapshot.schema):
        return WHOLE_TABLE
    return Reads(
        partitions=[dict(pairs) for pairs in {tuple(sorted((add.partition_values or {}).items())) for add in adds}]
    )


def rewrite(
    snapshot: Snapshot,
    *,
    removes: Sequence[str],
    adds: Sequence[Add] = (),
    reads: Reads = NOTHING,
    operation: str = "DELETE",
    parameters: Mapping[str, object] | None = None,
    txn: Transaction | None = None,
    checkpoint: bool = True,
) -> Committed:
    """Replace files by new files with the remaining or changed rows, as DELETE, UPDATE and MERGE do.

    This example deletes all rows of the table's only file:

    >>> import deltalog
    >>> deleted = deltalog.rewrite(snapshot, removes=["part-0.parquet"])
    >>> deltalog.open_snapshot(table).paths()
    []

    `removes`: canonical paths as in `Snapshot.paths`; they count as read.
    `reads`: everything else that was read to choose these files; for a delete, the parts of the table that were
    searched for rows to delete.
    `operation`, `parameters`: shown in the history.
    `txn`, `checkpoint`: see `append`.

    Raises as `commit`.
    """
    change = Change(
        operation=operation,
        parameters={} if parameters is None else parameters,
        adds=adds,
        removes=removes,
        reads=_with_files(reads, removes),
        txn=txn,
    )
    return commit(snapshot, change, checkpoint=checkpoint)


def compact(
    snapshot: Snapshot,
    *,
    removes: Sequence[str],
    adds: Sequence[Add],
    parameters: Mapping[str, object] | None = None,
    metrics: Mapping[str, int] | None = None,
    checkpoint: bool = True,
) -> Committed:
    """Replace files by new files with exactly the same rows.

    >>> import deltalog
    >>> compacted = deltalog.compact(snapshot, removes=snapshot.paths(), adds=[new_file])
    >>> deltalog.open_snapshot(table).paths()
    ['part-1.parquet']

    `removes`: canonical paths as in `Snapshot.paths`.
    `parameters`, `metrics`: shown in the history.
    `checkpoint`: see `commit`.

    Raises as `commit`.
    """
    change = Change(
        operation="OPTIMIZE",
        parameters=parameters or {},
        metrics=metrics or {},
        adds=adds,
        removes=removes,
        reads=_with_files(NOTHING, removes),
        data_change=False,
    )
    return commit(snapshot, change, checkpoint=checkpoint)


def altered(
    snapshot: Snapshot, change: Change, *, properties: Mapping[str, str], schema: str | None
) -> tuple[Change, TableState]:
    """Add properties and a schema to a change; return it with the resulting table state.

    The state's protocol has the features that the properties and the schema need.
    """
    features, configuration = requested(properties)
    metadata = msgspec.structs.replace(
        snapshot.metadata,
        configuration=dict(configuration),
        schema_string=snapshot.metadata.schema_string if schema is None else schema,
    )
    after = state_after(snapshot.state, None, metadata, location=snapshot.table)
    protocol = protocol_with(features | needed_features(after.schema, after.properties), snapshot.protocol)
    change = replace(change, metadata=metadata, protocol=None if protocol is snapshot.protocol else protocol)
    return change, replace(after, protocol=protocol)


def _with_files(reads: Reads, paths: Sequence[str]) -> Reads:
    return replace(reads, files=reads.files | frozenset(paths))


def _inside(snapshot: Snapshot, adds: Sequence[Add], where: Predicate) -> list[str]:
    """Return the files that a predicate selects. Raises RefusedCommit if it excludes an added file."""
    if adds:
        added = block_of_adds(adds)
        outside = ~select_files(where, snapshot.schema, added).certain
        if outside.any():
            add = adds[int(np.flatnonzero(outside)[0])]
            raise RefusedCommit(
                f"{snapshot.table}: {_partition_text(snapshot, add)} is written, but is not among the partitions to "
                f"overwrite",
                Fix(step=Step.STAY_IN_PARTITIONS),
            )
    return _decided(snapshot, lambda block: select_files(where, snapshot.schema, block))


def _partition_text(snapshot: Snapshot, add: Add) -> str:
    """Return a file's partition as text for messages; the file's path if it has no partition values."""
    columns = partition_columns(snapshot.schema)
    values = (add.partition_values or {}).items()
    parts = [
        f"{columns[key].leaf.name}={'null' if value is None else value}" for key, value in values if key in columns
    ]
    return f"partition {', '.join(parts)}" if parts else f"add {add.path!r}"


def _decided(snapshot: Snapshot, ask: Callable[[FileBlock], tuple[Flags, Flags]]) -> list[str]:
    """Return the files that are certainly selected. Raises RefusedCommit if one is undecided."""
    chosen = []
    for block in snapshot.blocks:
        certain, possible = ask(block)
        doubtful = np.flatnonzero(possible & ~certain)
        if len(doubtful):
            path = block.path[int(doubtful[0])].as_py()
            raise RefusedCommit(
                f"{snapshot.table}: the partition values of {path} do not decide whether it is overwritten "
                f"({counted(len(doubtful), 'such file')}); name the files to replace with `rewrite`, or overwrite all"
            )
        chosen.append(certain)
    return snapshot.paths(np.concatenate(chosen)) if chosen else []
