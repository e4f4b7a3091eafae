"""Write files piece by piece and publish them at once, and delete files one by one.

Readers see the whole file, or none. On this machine the pieces go to `.{name}.{uuid}.tmp` beside the file, which is no
file of a log. What a process that died leaves behind of that kind, cleaning up the log removes. Objects are put
together on this machine and sent as one: a store shows an upload when it is whole.

A file that cannot be deleted is reported, and does not stop the others.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from parquet_core.errors import PruneError, StorageFailure, UnsupportedFeature
from parquet_core.storage import find_file, holds, is_remote, local_path, put_unique
from parquet_core.storage.failures import explaining
from parquet_core.storage.ranges import in_flight
from parquet_core.storage.stores import OF_SCHEME, scheme_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parquet_core.storage import DataFile


# What is larger is sent in parts, for which stores know no condition: whoever wrote a name first wrote the same.
_SENT_AT_ONCE = 64 << 20


@contextmanager
def staged(path: str) -> Iterator[str]:
    """Give a local path to write a file to that is to become `path`; what is not published is gone afterwards."""
    _check(path)
    temporary = _beside(path)
    try:
        if not is_remote(path):
            os.makedirs(os.path.dirname(temporary) or ".", exist_ok=True)
        yield temporary
    except OSError as error:
        raise _failure(path, error) from None
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def publish(temporary: str, path: str, *, replace: bool = False) -> bool:
    """Give a staged file its name unless another has it; tells whether it was given. `replace`: in any case.

    Raises StorageFailure.
    """
    if is_remote(path):
        return _send(temporary, path, replace=replace)
    target = local_path(path)
    try:
        _flush(temporary)
        if replace:
            os.replace(temporary, target)
        else:
            _link(temporary, target)
        _flush(os.path.dirname(target) or ".")
    except FileExistsError:
        return False
    except OSError as error:
        raise _failure(path, error) from None
    return True


def _beside(path: str) -> str:
    name = f".{path.rpartition('/')[2]}.{uuid4()}.tmp"
    return os.path.join(tempfile.gettempdir() if is_remote(path) else os.path.dirname(local_path(path)), name)


def _check(path: str) -> None:
    scheme = scheme_of(path)
    if scheme is not None and scheme not in OF_SCHEME:
        raise UnsupportedFeature(
            f"{path}: {scheme}:// is not written to; write to a local path, S3, Google Cloud Storage or Azure"
        )


def _link(temporary: str, target: str) -> None:
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        # No hard links there. Whoever else writes this name writes the same.
        if os.path.exists(target):
            raise FileExistsError(target) from None
        os.replace(temporary, target)


def _flush(path: str) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _send(temporary: str, path: str, *, replace: bool) -> bool:
    import obstore

    from parquet_core.storage.objects import object_store

    small = os.path.getsize(temporary) <= _SENT_AT_ONCE
    if not replace and small:
        return put_unique(path, Path(temporary).read_bytes())
    if not replace and find_file(path) is not None:
        return False
    bucket = object_store(path)
    try:
        with explaining(path):
            obstore.put(bucket.store, bucket.key(path), Path(temporary), use_multipart=not small)
    except PruneError:
        # The answer to the end of the upload may be lost, and the object be complete.
        with suppress(PruneError):
            if holds(path, Path(temporary)):
                return True
        raise
    return True


def _failure(path: str, error: OSError) -> StorageFailure:
    reason = error.strerror or str(error) or type(error).__name__
    return StorageFailure(f"{path}: not written ({reason}); check the disk and who may write there")


def move_files(moves: Mapping[str, str]) -> None:
    """Give files other names, which no file has, in the same file system or store; StorageFailure where that fails.

    A store copies each within itself and deletes the first.
    """
    for _ in in_flight(lambda move: _move(*move), list(moves.items())):
        pass


def _move(path: str, to: str) -> None:
    _check(to)
    if not is_remote(path):
        try:
            os.makedirs(os.path.dirname(local_path(to)), exist_ok=True)
            os.rename(local_path(path), local_path(to))
        except OSError as error:
            raise _failure(to, error) from None
        return
    import obstore

    from parquet_core.storage.objects import object_store

    bucket = object_store(path)
    with explaining(path):
        obstore.rename(bucket.store, bucket.key(path), bucket.key(to))


class Deletions(NamedTuple):
    """What was deleted, and what was not, with the reason and what to do about it."""

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
            _delete_object(file.path)
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


def _delete_object(uri: str) -> None:
    import obstore

    from parquet_core.storage.objects import object_store

    bucket = object_store(uri)
    with explaining(uri):
        try:
            obstore.delete(bucket.store, bucket.key(uri))
        except FileNotFoundError:
            return
