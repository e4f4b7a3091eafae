"""The common operations on a table, each committed as one change: append, overwrite, rewrite, compact.

Every function takes the snapshot that the change was decided from. Added files are in the table's directory already.
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
    """Add files that lie in the directory of a table already; `adds_of` describes them.

    >>> import deltalog
    >>> deltalog.append(snapshot, [new_file]).version
    2
    >>> deltalog.open_snapshot(table).paths()
    ['part-0.parquet', 'part-1.parquet']

    `reads`: what of the table their rows were made from; by default nothing.
    `txn`: the application's own number of this change, which keeps it from being made twice.
    `obeys`: the constraints of the table that whoever wrote the files has held their rows to.
    `checkpoint`: as `commit` has it.

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
    """Replace all files, or those of the partitions that a predicate selects, by others.

    >>> import deltalog
    >>> overwritten = deltalog.overwrite(snapshot, [new_file])
    >>> deltalog.open_snapshot(table).paths()
    ['part-1.parquet']

    `where`: of partition columns alone.
    `shown`: how the history shows it.
    `schema`: a new one, as JSON, when everything is replaced.
    `txn`, `obeys`, `checkpoint`: as `append` has them.

    Raises RefusedCommit when `where` does not tell of a file whether all or none of its rows are selected, or when an
    added file lies outside; else as `commit`.
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
    """Replace the files of exactly those partitions that the added files lie in; all of a table without partitions.

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

    `txn`, `obeys`, `checkpoint`: as `append` has them. Raises as `commit`.
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
    """Return the reads of a commit that replaces the partitions of added files; without partitions, the whole table."""
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
    """Remove files and add others that hold the rows of them that stay or changed: delete, update, merge.

    Here every row of the table's only file is deleted:

    >>> import deltalog
    >>> deleted = deltalog.rewrite(snapshot, removes=["part-0.parquet"])
    >>> deltalog.open_snapshot(table).paths()
    []

    `removes`: canonical paths, as of `Snapshot.paths`; they count as read.
    `reads`: what else was read to find them, which for a delete is where rows may be that it should have deleted.
    `operation`, `parameters`: how the history shows it.
    `txn`, `checkpoint`: as `append` has them.

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
    """Replace files by others with exactly the same rows.

    >>> import deltalog
    >>> compacted = deltalog.compact(snapshot, removes=snapshot.paths(), adds=[new_file])
    >>> deltalog.open_snapshot(table).paths()
    ['part-1.parquet']

    `removes`: canonical paths, as of `Snapshot.paths`. `parameters`, `metrics`: how the history shows it.
    `checkpoint`: as `commit` has it. Raises as `commit`.
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
    """Return a change that also gives a table properties and a schema, and the state with the features they need."""
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
    """Return the files that a predicate selects; RefusedCommit for an added file that it does not."""
    if adds:
        added = block_of_adds(adds)
        outside = ~select_files(where, snapshot.schema, added).certain
        if outside.any():
            add = adds[int(np.flatnonzero(outside)[0])]
            raise RefusedCommit(
                f"{snapshot.table}: {_partition_text(snapshot, add)} is written, and is not among the partitions "
                "to overwrite",
                Fix(step=Step.STAY_IN_PARTITIONS),
            )
    return _decided(snapshot, lambda block: select_files(where, snapshot.schema, block))


def _partition_text(snapshot: Snapshot, add: Add) -> str:
    """Name the partition of a file by its values, or the file where there are none."""
    columns = partition_columns(snapshot.schema)
    values = (add.partition_values or {}).items()
    parts = [f"{columns[key].leaf.name}={'null' if text is None else text}" for key, text in values if key in columns]
    return f"partition {', '.join(parts)}" if parts else f"add {add.path!r}"


def _decided(snapshot: Snapshot, ask: Callable[[FileBlock], tuple[Flags, Flags]]) -> list[str]:
    """Return the files that certainly lie inside; RefusedCommit for one of which that cannot be told."""
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
