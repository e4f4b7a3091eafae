"""One writer at a time in a plain directory."""

from __future__ import annotations

import datetime as dt
import os
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from parquet_core.errors import StorageFailure, UnfinishedWrite, UnsupportedFeature

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK = "_prune_lock"


@contextmanager
def write_lock(table: Path) -> Iterator[None]:
    """Keep every other writer out of a directory; UnfinishedWrite where one is at work.

    The system holds the lock for this process and lets it go when that ends, however it ends: a file that is left
    keeps nobody out. Where directories are shared between machines, the file system must share locks too.
    """
    path = table / LOCK
    lock = _take(path)
    try:
        _sign(lock)
        yield
    finally:
        # While it is held: nobody else's is removed.
        with suppress(OSError):
            path.unlink()
        os.close(lock)


def _sign(lock: int) -> None:
    """Say whose lock it is, for those that it keeps out; it holds as well where there is no room for that."""
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    with suppress(OSError):
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"process {os.getpid()} on {socket.gethostname()} since {now}".encode(), 0)


def _take(path: Path) -> int:
    while True:
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise StorageFailure(f"{path}: {error.strerror}; check the path and its permissions") from None
        try:
            _lock(lock, path)
            if _is_at(lock, path):
                return lock
        except BaseException:
            os.close(lock)
            raise
        # Its owner removed it meanwhile.
        os.close(lock)


def _lock(lock: int, path: Path) -> None:
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(lock, 200, 0).decode(errors="replace") or "a process that has just begun"
        raise UnfinishedWrite(
            f"{path.parent}: another write is under way ({owner}); try again when it has ended"
        ) from None
    except OSError as error:
        raise UnsupportedFeature(
            f"{path}: this file system has no locks ({error.strerror}), so that two writers could undo each other; put "
            "the table on another one"
        ) from None


def _is_at(lock: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), path.stat())
    except FileNotFoundError:
        return False
