"""Delete rows by deletion vectors: the files stay, and a bitmap beside them says which of their rows no longer count.

Source: the Delta protocol, "Deletion Vectors" and "Per-file Statistics".
"""

from __future__ import annotations

from dataclasses import replace
from operator import index
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import msgspec
import pyarrow.compute as pc

from deltalog.errors import RefusedCommit, UncertainCommit
from deltalog.log.actions import DeletionVector, FullAdd
from deltalog.log.deletion_vectors import LAYOUT, encode_z85, read_vector, stored_bitmap, vector_file
from deltalog.log.paths import canonical_path, canonical_paths, path_array
from deltalog.maintenance.checkpoint_rows import STORED_ADD, AddForm, adds_from_store
from deltalog.maintenance.file_changes import delete_files
from deltalog.maintenance.log_state import open_state
from deltalog.transaction.change import NOTHING, Change
from deltalog.transaction.check_change import check_vectors_allowed
from deltalog.transaction.commit import commit
from parquet_core.errors import StorageFailure
from parquet_core.storage import find_file, put_unique

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyroaring import BitMap64

    from deltalog.log.actions import Transaction
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.transaction.change import Reads
    from deltalog.transaction.commit import Checkpointing, Committed


class _Deletion(NamedTuple):
    """A file and all of its rows that do not count; `records`: how many rows it holds, these included."""

    add: FullAdd
    rows: BitMap64
    records: int


def delete_rows(
    snapshot: Snapshot,
    rows: Mapping[str, Sequence[int]],
    *,
    reads: Reads = NOTHING,
    parameters: Mapping[str, object] | None = None,
    txn: Transaction | None = None,
    checkpoint: Checkpointing = "background",
) -> Committed:
    """Delete rows of files by their positions; a file without a row left is removed.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import deltalog
    >>> table, properties = tempfile.mkdtemp(), {"delta.enableDeletionVectors": "true"}
    >>> written = deltalog.write_table(table, pa.table({"id": [1, 2, 3]}), properties=properties)
    >>> snapshot = deltalog.open_snapshot(table)
    >>> deltalog.delete_rows(snapshot, {snapshot.paths()[0]: [0, 2]}).version
    1
    >>> deltalog.inspect_snapshot(deltalog.open_snapshot(table)).rows
    1

    `rows`: by canonical path, as of `Snapshot.paths`, positions in the file from 0 on, deleted ones counted.
    `reads`: what else was read to find them, which is where rows may be that should have been deleted.
    `parameters`, `txn`, `checkpoint`: as `rewrite` has them.

    Raises RefusedCommit where the table has no deletion vectors enabled, for a position that a file does not have, and
    when no row would be deleted; else as `commit`. Of what fails no file is left.
    """
    check_vectors_allowed(snapshot.protocol, snapshot.properties, snapshot.table)
    deletions = [one for one in _deletions(snapshot, rows) if one is not None]
    if not deletions:
        raise RefusedCommit(f"{snapshot.table}: these rows are deleted already; nothing is left to commit")
    left = [deletion for deletion in deletions if len(deletion.rows) < deletion.records]
    paths = [canonical_path(deletion.add.path) for deletion in deletions]
    identity = uuid4()
    file = vector_file(snapshot.table, identity)
    content, adds = _vectors(left, encode_z85(identity.bytes))
    if left and not put_unique(file, content):
        raise StorageFailure(f"{file}: there is a file of this name; delete again")
    change = Change(
        operation="DELETE",
        parameters={} if parameters is None else parameters,
        adds=adds,
        removes=paths,
        reads=replace(reads, files=reads.files | frozenset(paths)),
        txn=txn,
    )
    try:
        done = commit(snapshot, change, checkpoint=checkpoint)
    except UncertainCommit:
        raise  # a commit may name the file
    except BaseException:
        _remove(file)
        raise
    if not done.written:
        _remove(file)
    return done


def _remove(path: str) -> None:
    found = find_file(path)
    if found is not None:
        delete_files([found])


def _deletions(snapshot: Snapshot, rows: Mapping[str, Sequence[int]]) -> Iterator[_Deletion | None]:
    """Yield what becomes of each file, None where nothing does."""
    from pyroaring import BitMap64

    adds = _full_adds(snapshot, rows)
    for path, positions in rows.items():
        if path not in adds:
            raise RefusedCommit(
                f"{snapshot.table}: {path} is not a live file of version {snapshot.version}; give paths as its "
                "snapshot does"
            )
        add = adds[path]
        records = _records(add, snapshot.table)
        wanted = _numbers(positions, path)
        if wanted and not 0 <= min(wanted) <= max(wanted) < records:
            raise RefusedCommit(f"{snapshot.table}: {path} has {records:,} rows, and one of {max(wanted):,} is named")
        vector = add.deletion_vector
        before = BitMap64() if vector is None else read_vector(vector, snapshot.table, allow=snapshot.allow)
        after = before | BitMap64(wanted)
        yield None if len(after) == len(before) else _Deletion(add, after, records)


def _numbers(positions: Sequence[int], path: str) -> list[int]:
    try:
        return [index(position) for position in positions]
    except TypeError:
        raise RefusedCommit(f"{path}: positions of rows must be whole numbers") from None


def _records(add: FullAdd, location: str) -> int:
    try:
        return msgspec.json.decode(add.stats if isinstance(add.stats, str) else "", type=_DeletedCount).num_records
    except msgspec.DecodeError:
        raise RefusedCommit(
            f"{location}: {add.path}: its statistics do not say how many rows it has, as a file with a deletion vector "
            "must; write its rows anew"
        ) from None


class _DeletedCount(msgspec.Struct, rename="camel"):
    num_records: int


def _vectors(deletions: Sequence[_Deletion], name: str) -> tuple[bytes, list[FullAdd]]:
    """Return a file of deletion vectors, and the files that they are of."""
    content, adds = bytearray(LAYOUT), []
    for add, rows, _ in deletions:
        stored = stored_bitmap(rows)
        vector = DeletionVector("u", name, stored.size, len(rows), len(content))
        content += stored.data
        adds.append(msgspec.structs.replace(add, deletion_vector=vector, stats=_wide(str(add.stats)), data_change=True))
    return bytes(content), adds


def _wide(stats: str) -> str:
    """Say that bounds are those of all rows, deleted ones too; numbers keep their digits."""
    statistics = msgspec.json.decode(stats, type=dict[str, msgspec.Raw])
    return msgspec.json.encode(statistics | {"tightBounds": msgspec.Raw(b"false")}).decode()


def _full_adds(snapshot: Snapshot, paths: Mapping[str, object]) -> dict[str, FullAdd]:
    """Return live files with every field of their actions, by canonical path."""
    state = open_state(snapshot.table, snapshot.version)
    by_path = {path: add for add in state.adds if (path := canonical_path(add.path)) in paths}
    if len(by_path) == len(paths):
        return by_path
    data = [column for column in state.schema.columns if column.partition is None]
    form, wanted = AddForm(json=True, statistics=None, data=data, partitions=()), path_array(list(paths))
    for actions in state.stored_actions(adds=STORED_ADD, removes=()):
        if actions.adds is not None:
            for row in _chosen(actions.adds, wanted, form):
                by_path.setdefault(canonical_path(row.path), row)
    return by_path


def _chosen(stored: pa.StructArray, wanted: pa.Array, form: AddForm) -> Iterator[FullAdd]:
    some = stored.filter(pc.is_in(canonical_paths(pc.struct_field(stored, "path")), value_set=wanted))
    for row in adds_from_store(form, some).to_pylist(maps_as_pydicts="strict") if len(some) else ():
        yield msgspec.convert({name: value for name, value in row.items() if value is not None}, FullAdd)
