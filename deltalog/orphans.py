"""Files in the directories of a table that its log does not name: left by writers that failed, or by other programs.

Directories and files whose names begin with `_` or `.` are passed over, unless they are partitions such as `_day=1`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.deletion_vectors import vector_of, vector_path
from deltalog.paths import is_absolute
from deltalog.snapshot import open_snapshot
from parquet_core.errors import TableNotFound
from parquet_core.storage import list_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltalog.snapshot import Snapshot
    from parquet_core.storage import DataFile


def orphans(table: str) -> tuple[DataFile, ...]:
    """Return the files that neither the log nor its tombstones name, by path.

    A young one may belong to a commit that is still to come. Raises what `open_snapshot` raises.
    """
    # Listed before the log is read: what is committed meanwhile is known then.
    files = _files(table)
    snapshot = open_snapshot(table)
    base = f"{snapshot.table.rstrip('/')}/"
    named = {path.removeprefix(base) for path in _named(snapshot)}
    # An absolute path may lead into the table by another way than its name.
    endings = {path.rpartition("/")[2] for path in named if is_absolute(path)}
    unnamed = [file for file in files if file.path.removeprefix(base) not in named]
    return tuple(file for file in unnamed if file.path.rpartition("/")[2] not in endings)


def _files(table: str) -> list[DataFile]:
    try:
        listing = list_table(table)
    except TableNotFound:
        return []
    return sorted([*listing.files, *listing.empty], key=lambda file: file.path)


def _named(snapshot: Snapshot) -> Iterator[str]:
    yield from snapshot.paths()
    yield from snapshot.tombstones()
    for block in snapshot.blocks:
        if block.vectors is not None:
            for i in range(len(block)):
                vector = vector_of(block, i)
                if vector is not None and vector.storage_type != "i":
                    yield vector_path(vector, snapshot.table)
