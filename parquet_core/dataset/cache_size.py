"""How large a directory of many processes is, without a look at its files: what a scan found, and what came since.

The file `.size` begins with the total of the last scan; each process appends a byte for every `UNIT` that it writes.
Files that are replaced or removed count until the next scan, so that the sum is never too small. A process that scans
starts a new file first: what others write meanwhile may count twice, and is never lost.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNIT = 4096
# After so long a scan is due whatever was written: it removes what a crashed writer left, too.
MAX_AGE_SECONDS = 24 * 3600.0
_NAME = ".size"
_WIDTH = 20
_SCANNING = -1


def count_written(directory: Path, size: int) -> None:
    """Count the bytes of a new file."""
    with contextlib.suppress(OSError), _opened(directory, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as file:
        os.write(file, b"." * -(-size // UNIT))


def most_bytes_of(directory: Path) -> int | None:
    """Return how large the files of a directory are at most; None where that is not known, or is known for too long."""
    try:
        with _opened(directory, os.O_RDONLY) as file:
            status, total = os.fstat(file), int(os.read(file, _WIDTH))
            since = int(os.pread(file, _WIDTH, _WIDTH))
    except (OSError, ValueError):
        return None
    if total == _SCANNING or not 0 <= time.time() - since < MAX_AGE_SECONDS:
        return None
    return total + (status.st_size - 2 * _WIDTH) * UNIT


@contextlib.contextmanager
def scan(directory: Path) -> Iterator[list[int]]:
    """Let one process scan a directory; it appends the bytes that it leaves. Raises BlockingIOError for all others."""
    import fcntl

    held = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _start(directory)
        totals: list[int] = []
        yield totals
        with contextlib.suppress(OSError), _opened(directory, os.O_WRONLY) as file:
            os.pwrite(file, b"%*d" % (_WIDTH, sum(totals)), 0)
    finally:
        os.close(held)


def _start(directory: Path) -> None:
    part = directory / f"{_NAME}.{uuid4().hex}"
    with contextlib.suppress(OSError):
        part.touch(mode=0o600)
        part.write_bytes(b"%*d%*d" % (_WIDTH, _SCANNING, _WIDTH, int(time.time())))
        part.replace(directory / _NAME)


@contextlib.contextmanager
def _opened(directory: Path, flags: int) -> Iterator[int]:
    file = os.open(directory / _NAME, flags, 0o600)
    try:
        yield file
    finally:
        os.close(file)
