"""Files of this machine, written whole or not at all."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from parquet_core.errors import StorageFailure, UncertainWrite, UnsupportedFeature

if TYPE_CHECKING:
    from collections.abc import Iterator

# What file systems without hard links answer to `link`, and some to a flush of a directory.
_CANNOT = {errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.EINVAL}


def put_if_absent(path: str, data: bytes) -> bool:
    """Write a file unless there is one of this name; tells whether it was written. See `storage.writing`."""
    with _staged(path, data) as temporary:
        try:
            _name(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            raise _failure(path, error) from None
    _make_lasting(path)
    return True


def put(path: str, data: bytes) -> None:
    """Write a file over the one of this name, if any."""
    with _staged(path, data) as temporary:
        try:
            os.replace(temporary, path)
        except OSError as error:
            raise _failure(path, error) from None
    _make_lasting(path)


@contextmanager
def _staged(path: str, data: bytes) -> Iterator[str]:
    """Put the bytes on the disk under a temporary name, which is gone afterwards."""
    directory, name = os.path.split(path)
    temporary = os.path.join(directory, f".{name}.{uuid4()}.tmp")
    try:
        try:
            _write(directory, temporary, data)
        except OSError as error:
            raise _failure(path, error) from None
        yield temporary
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _write(directory: str, temporary: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        opened = os.open(temporary, flags, 0o666)
    except FileNotFoundError:
        os.makedirs(directory, exist_ok=True)
        opened = os.open(temporary, flags, 0o666)
    with os.fdopen(opened, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _name(temporary: str, path: str) -> None:
    """Give the file its name; FileExistsError when another has it."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        raise UnsupportedFeature(
            f"{path}: this file system has no hard links, so that two writers could undo each other; put the table on "
            "another one"
        ) from None


def _make_lasting(path: str) -> None:
    """Flush the directory, so that the name outlives a power failure.

    The file is there by now: when this fails, whether it will stay is what cannot be told.
    """
    try:
        opened = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
    except OSError as error:
        # Some file systems flush no directories, and need not.
        if error.errno not in _CANNOT:
            raise UncertainWrite(
                f"{path}: written, but its directory could not be flushed ({error.strerror}); check the disk"
            ) from None


def _failure(path: str, error: OSError) -> StorageFailure:
    return StorageFailure(f"{path}: not written ({error.strerror}); check the disk and who may write there")
