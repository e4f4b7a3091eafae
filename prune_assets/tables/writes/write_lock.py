"""Lock a plain directory for one writer at a time; other writers wait."""

from __future__ import annotations

import datetime as dt
import logging
import math
import os
import socket
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from parquet_core.errors import StorageFailure, UnfinishedWrite, UnsupportedFeature, WrongUse
from parquet_core.printable import redacted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK = "_prune_lock"
TIMEOUT_VARIABLE = "PRUNE_LOCK_TIMEOUT"
# In seconds. Only a live writer holds a lock, so the limit is meant for consecutive writes, such as a backfill.
DEFAULT_TIMEOUT = 3600.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0
_LOG = logging.getLogger(__name__)


def lock_seconds(lock_timeout: float | None) -> float:
    """Return the seconds to wait for a lock: the argument, else PRUNE_LOCK_TIMEOUT, else an hour.

    >>> lock_seconds(30)
    30.0
    """
    given = os.environ.get(TIMEOUT_VARIABLE) if lock_timeout is None else lock_timeout
    name = TIMEOUT_VARIABLE if lock_timeout is None else "lock_timeout"
    try:
        seconds = DEFAULT_TIMEOUT if given is None or given == "" else float(given)
    except (TypeError, ValueError):
        seconds = math.nan
    if not seconds >= 0:
        raise WrongUse(f"{name}={given!r}: give a number of seconds; 0 does not wait")
    return seconds


@contextmanager
def write_lock(table: Path, *, timeout: float | None = None) -> Iterator[None]:
    """Exclude other writers from a directory. Raises UnfinishedWrite if another writer is running.

    `timeout`: seconds to wait for the end of another write; None raises at once.

    The operating system holds the lock for this process and releases it when the process ends in any way. A lock file
    that is left over does not block other writers. For directories shared between machines, the file system must share
    locks too.
    """
    path = table / LOCK
    lock = _take(path, timeout)
    try:
        _sign(lock)
        yield
    finally:
        # The file is removed while the lock is held, so that no other writer's file is removed.
        with suppress(OSError):
            path.unlink()
        os.close(lock)


def _sign(lock: int) -> None:
    """Write the owner into the lock file, for messages of waiting writers.

    If the disk is full, the lock is held without naming the owner.
    """
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    with suppress(OSError):
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"process {os.getpid()} on {socket.gethostname()} since {now}".encode(), 0)


def _take(path: Path, timeout: float | None) -> int:
    deadline = time.monotonic() + (timeout or 0)
    pause = 0.0
    while True:
        lock = _open(path)
        try:
            if _lock(lock, path):
                if _is_at(lock, path):
                    return lock
                pause = 0.0  # the owner removed the file meanwhile
            else:
                pause = _pause(lock, path, pause, timeout=timeout, left=deadline - time.monotonic())
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)
        time.sleep(pause)


def _open(path: Path) -> int:
    """Open the lock file. The table directory is created again if another writer removed it while it was empty."""
    while True:
        try:
            with suppress(FileNotFoundError):
                return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailure(f"{path}: {error.strerror}; check the path and its permissions") from None


def _lock(lock: int, path: Path) -> bool:
    """Return True if this process acquired the lock, False if another writer holds it."""
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise UnsupportedFeature(
            f"{path}: this file system has no locks ({error.strerror}), so two writers could overwrite each other; "
            f"move the table to a file system with locks"
        ) from None
    return True


def _pause(lock: int, path: Path, pause: float, *, timeout: float | None, left: float) -> float:
    """Return the seconds until the next attempt. Raises UnfinishedWrite when the time is over."""
    owner = os.pread(lock, 200, 0).decode(errors="replace") or "a process that has just begun"
    message = f"{path.parent}: another write is running ({redacted(owner)})"
    if timeout is None:
        raise UnfinishedWrite(f"{message}; try again when it has ended")
    if left <= 0:
        raise UnfinishedWrite(
            f"{message}; waited {timeout:g} s for it; try again when it has ended, or wait longer: lock_timeout= or "
            f"{TIMEOUT_VARIABLE}, in seconds"
        )
    if pause == 0:
        _LOG.warning("%s; waiting for its end, up to %g s (lock_timeout=, %s)", message, timeout, TIMEOUT_VARIABLE)
    return min(max(2 * pause, _FIRST_PAUSE), _LONGEST_PAUSE, left)


def _is_at(lock: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), path.stat())
    except FileNotFoundError:
        return False
