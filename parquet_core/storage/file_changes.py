"""Write files in pieces and publish them atomically; move and delete files.

Readers see a complete file or no file. Local files are written to `.{name}.{uuid}.tmp` in the same directory, a name
that no reader treats as part of a table. Objects are assembled in a local file and uploaded as one object, which a
store shows only when the upload is complete.

A file that cannot be deleted is reported, and the other files are still deleted.
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


# Larger files are uploaded in parts. Stores cannot make such an upload conditional on a missing object. This is safe
# because all writers of a name write the same content.
_SENT_AT_ONCE = 64 << 20


@contextmanager
def staged(path: str) -> Iterator[str]:
    """Yield a temporary local path for the content of `path`.

    The temporary file is removed at the end.
    """
    if is_remote(path):
        writer_for(path)
    target = os.path.join(tempfile.gettempdir(), path.rpartition("/")[2]) if is_remote(path) else local_path(path)
    with local_writing.staged(target) as temporary:
        yield temporary


def publish(temporary: str, path: str, *, replace: bool = False) -> bool:
    """Publish a staged file as `path`; return False if another file has that name.

    `replace`: overwrite an existing file. Raises the errors of `put_if_absent`.
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
        # The response to the last part may be lost although the object is complete.
        with suppress(PruneError):
            if holds(path, Path(temporary)):
                return True
        raise
    return True


def move_files(moves: Mapping[str, str]) -> None:
    """Rename files to unused names in the same file system or store.

    In a store, each object is copied and the original is deleted. Raises StorageFailure.
    """
    for _ in in_flight(lambda move: _move(*move), list(moves.items())):
        pass


def _move(path: str, to: str) -> None:
    if is_remote(path):
        writer_for(to).rename(path, to)
    else:
        local_writing.rename(local_path(path), local_path(to))


class Deletions(NamedTuple):
    """Files that were deleted, and files that could not be deleted.

    `failed`: each file that could not be deleted, and the reason, which includes the next step.
    """

    deleted: tuple[DataFile, ...]
    failed: tuple[tuple[DataFile, str], ...]


def check_deletable(location: str) -> None:
    """Raise UnsupportedFeature if files at a location cannot be deleted."""
    scheme = scheme_of(location)
    if scheme is not None and scheme not in OF_SCHEME:
        raise UnsupportedFeature(
            f"{location}: {scheme}:// is not deleted from; use a local path, S3, Google Cloud Storage or Azure"
        )


def delete_files(files: Sequence[DataFile]) -> Deletions:
    """Delete files in order; in stores, several at a time.

    A file that no longer exists counts as deleted. A local file that changed since it was listed is kept and reported.
    """
    reasons = list(in_flight(_reason, files)) if any(is_remote(file.path) for file in files) else map(_reason, files)
    failures = list(zip(files, reasons, strict=True))
    return Deletions(
        tuple(file for file, reason in failures if not reason),
        tuple((file, reason) for file, reason in failures if reason),
    )


def _reason(file: DataFile) -> str:
    """Delete a file; return the reason if it could not be deleted, else ""."""
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
        return f"{path}: not deleted ({error.strerror}); check the permissions of its directory, and try again"
    return ""
