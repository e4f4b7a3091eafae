"""Atomic writes of local files."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from parquet_core.errors import StorageFailure, UncertainWrite, UnsupportedFeature

if TYPE_CHECKING:
    from collections.abc import Iterator

# Errors of file systems without hard links, or without support for flushing directories.
_CANNOT = {errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.EINVAL}


def put_if_absent(path: str, data: bytes) -> bool:
    """Write a file unless the name exists already; return True if written.

    See `storage.writing`.
    """
    return _put(path, data, replace=False)


def put(path: str, data: bytes) -> None:
    """Write a file, replacing an existing one."""
    _put(path, data, replace=True)


def _put(path: str, data: bytes, *, replace: bool) -> bool:
    with staged(path) as temporary:
        _write(temporary, data)
        return publish(temporary, path, replace=replace)


@contextmanager
def staged(path: str) -> Iterator[str]:
    """Yield a temporary path in the target directory of a file.

    The directory is created if missing. The temporary file is removed at the end.
    """
    directory, name = os.path.split(path)
    temporary = os.path.join(directory, f".{name}.{uuid4()}.tmp")
    try:
        os.makedirs(directory or ".", exist_ok=True)
        yield temporary
    except OSError as error:
        raise _failure(path, error) from None
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _write(temporary: str, data: bytes) -> None:
    opened = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with os.fdopen(opened, "wb") as file:
        file.write(data)


def publish(temporary: str, path: str, *, replace: bool = False) -> bool:
    """Flush a temporary file and publish it as `path`; return False if `path` exists.

    `replace`: overwrite an existing file. Raises StorageFailure, UnsupportedFeature and UncertainWrite.
    """
    try:
        _flush(temporary)
        if replace:
            os.replace(temporary, path)
        else:
            os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        if not replace and error.errno in _CANNOT:
            raise UnsupportedFeature(
                f"{path}: this file system has no hard links, so one of two simultaneous commits could be lost; move "
                f"the table to another file system"
            ) from None
        raise _failure(path, error) from None
    _make_lasting(path)
    return True


def rename(path: str, to: str) -> None:
    """Rename a file to an unused name and create its directories. Raises StorageFailure."""
    try:
        os.makedirs(os.path.dirname(to), exist_ok=True)
        os.rename(path, to)
    except OSError as error:
        raise _failure(to, error) from None


def _flush(path: str) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _make_lasting(path: str) -> None:
    """Flush the directory, so that the name survives a power failure.

    The file exists already: if the flush fails, it is unknown whether the file will persist.
    """
    try:
        _flush(os.path.dirname(path) or ".")
    except OSError as error:
        # Some file systems do not support flushing directories, and do not need it.
        if error.errno not in _CANNOT:
            raise UncertainWrite(
                f"{path}: written, but its directory could not be flushed ({error.strerror}); check the disk"
            ) from None


def _failure(path: str, error: OSError) -> StorageFailure:
    reason = error.strerror or str(error) or type(error).__name__
    return StorageFailure(f"{path}: not written ({reason}); check the disk and the permissions")
