"""List the files below a table's directory, those that Spark passes over included.

Directories whose names begin with `_` or `.` are left alone unless they are partitions; so are links, which lead out of
the table, and tables inside of it, which have a log of their own.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from deltalog.log.listing import LOG
from parquet_core.errors import StorageFailure
from parquet_core.storage import DataFile, is_hidden, is_remote
from parquet_core.storage.remote import remote_of

if TYPE_CHECKING:
    from collections.abc import Iterator

CHANGES = "_change_data"


def table_files(table: str, *, changes: bool = False) -> dict[str, DataFile]:
    """Return the files of a table by their path below it. `changes`: those of the change data feed too.

    Raises StorageFailure when a directory cannot be listed.
    """
    found = _remote(table) if is_remote(table) else dict(_local(table))
    return {path: file for path, file in found.items() if _counts(path, changes=changes)}


def _counts(path: str, *, changes: bool) -> bool:
    names = path.split("/")
    if names[0] == CHANGES and len(names) > 1:
        return changes and not any(map(is_hidden, names[1:]))
    return not any(map(is_hidden, names))


def _local(table: str) -> Iterator[tuple[str, DataFile]]:
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        directory = os.path.join(table, inside)
        try:
            entries = list(os.scandir(directory))
            if inside and any(entry.name == LOG for entry in entries):
                continue
            for entry in entries:
                path = f"{inside}/{entry.name}" if inside else entry.name
                if entry.is_dir(follow_symlinks=False):
                    if path == CHANGES or not is_hidden(entry.name):
                        waiting.append(path)
                elif entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    where = os.path.join(table, path)
                    yield path, DataFile(where, status.st_size, status.st_mtime_ns, None, status.st_ctime_ns)
        except FileNotFoundError:
            # Gone since its name was read, which is what was to become of it.
            continue
        except (OSError, ValueError) as error:
            said = error.strerror if isinstance(error, OSError) else "no file system has such a path"
            raise StorageFailure(f"{directory}: not listed ({said}); check it, and who may read it") from None


def _remote(table: str) -> dict[str, DataFile]:
    base = f"{table.rstrip('/')}/"
    found = {file.path[len(base) :]: file for file in remote_of(table).walk(table) if file.path.startswith(base)}
    inner = {path.partition(f"/{LOG}/")[0] + "/" for path in found if f"/{LOG}/" in path}
    return {path: file for path, file in found.items() if not any(path.startswith(place) for place in inner)}
