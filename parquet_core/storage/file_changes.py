"""Write files piece by piece and publish them at once; move files, and delete them one by one.

Readers see the whole file, or none. On this machine the pieces go to `.{name}.{uuid}.tmp` in the same directory, which
no reader takes for a file of a table. Objects are put together on this machine and sent as one: a store shows an upload
when it is whole.

A file that cannot be deleted is reported, and does not stop the others.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import PruneError, UnsupportedFeature
from parquet_core.storage import local_writing
from parquet_core.storage.ranges import in_flight
from parquet_core.storage.remote import find_file
from parquet_core.storage.stores import OF_SCHEME, is_remote, local_path, scheme_of
from parquet_core.storage.writing import holds, put_unique, writer_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parquet_core.storage.files import DataFile


# Larger files are sent in parts, which stores take without a condition. All writers of a name write the same content.
_SENT_AT_ONCE = 64 << 20


@contextmanager
def staged(path: str) -> Iterator[str]:
    """Yield a temporary local path for the content of `path`; an unpublished file is removed."""
    if is_remote(path):
        writer_for(path)
    target = os.path.join(tempfile.gettempdir(), path.rpartition("/")[2]) if is_remote(path) else local_path(path)
    with local_writing.staged(target) as temporary:
        yield temporary


def publish(temporary: str, path: str, *, replace: bool = False) -> bool:
    """Name a staged file `path` unless such a file exists; return True if it was named. `replace`: overwrite.

    Raises as `put_if_absent`.
    """
    if not is_remote(path):
        return local_writing.publish(temporary, local_path(path), replace=replace)
    small = os.path.getsize(temporary) <= _SENT_AT_ONCE
    if not replace and small:
        return put_unique(path, Path(temporary).read_bytes())
    if not replace and find_file(path) is not None:
        return False
    try:
        writer_for(path).put_file(path, Path(temporary), in_parts=not small)
    except PruneError:
        # The answer to the end of the upload may be lost, and the object be complete.
        with suppress(PruneError):
            if holds(path, Path(temporary)):
                return True
        raise
    return True


def move_files(moves: Mapping[str, str]) -> None:
    """Rename files to unused names in the same file system or store; raises StorageFailure.

    A store copies each within itself and deletes the first.
    """
    for _ in in_flight(lambda move: _move(*move), list(moves.items())):
        pass


def _move(path: str, to: str) -> None:
    if is_remote(path):
        writer_for(to).rename(path, to)
    else:
        local_writing.rename(local_path(path), local_path(to))


class Deletions(NamedTuple):
    """Deleted files, and the others with a reason and a next step."""

    deleted: tuple[DataFile, ...]
    failed: tuple[tuple[DataFile, str], ...]


def check_deletable(location: str) -> None:
    """Raise UnsupportedFeature where nothing can be deleted."""
    scheme = scheme_of(location)
    if scheme is not None and scheme not in OF_SCHEME:
        raise UnsupportedFeature(
            f"{location}: {scheme}:// is not deleted from; use a local path, S3, Google Cloud Storage or Azure"
        )


def delete_files(files: Sequence[DataFile]) -> Deletions:
    """Delete files in their order, of stores several at a time. One that is gone already counts as deleted.

    A local file that changed since it was listed is left where it is.
    """
    reasons = list(in_flight(_reason, files)) if any(is_remote(file.path) for file in files) else map(_reason, files)
    failures = list(zip(files, reasons, strict=True))
    return Deletions(
        tuple(file for file, reason in failures if not reason),
        tuple((file, reason) for file, reason in failures if reason),
    )


def _reason(file: DataFile) -> str:
    """Delete a file; why it could not be, empty when it was."""
    try:
        if is_remote(file.path):
            writer_for(file.path).delete(file.path)
            return ""
        return _delete_local(file)
    except PruneError as error:
        return str(error)


def _delete_local(file: DataFile) -> str:
    path = local_path(file.path)
    try:
        now = os.lstat(path)
        if (now.st_size, now.st_mtime_ns) != (file.size, file.modified_ns):
            return f"{path}: changed since it was listed, so it was left; try again"
        os.unlink(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{path}: not deleted ({error.strerror}); check who may write in its directory, and try again"
    return ""
