"""Local storage: listing, and reading by position."""

from __future__ import annotations

import errno
import os
from itertools import repeat
from operator import attrgetter
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import NoSuchPath, StaleListing, StorageFailure, TableNotFound
from parquet_core.storage.failures import changed
from parquet_core.storage.files import JOURNAL, DataFile, blocks_of, cut, is_unlisted, outside
from parquet_core.storage.spellings import step_where_missing
from parquet_core.storage.stores import is_remote

try:
    from parquet_core.storage import system_calls
except ImportError:  # built without a compiler, or not on POSIX
    system_calls = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import ModuleType

    from parquet_core.arrays import Numbers
    from parquet_core.storage.files import Traffic


# Ranges with a smaller gap between them are read together: a read by position costs about as much as copying this
# number of bytes.
HOLE = 32 << 10
# No file is larger, and sums of positions up to this limit do not overflow.
_MOST_BYTES = 1 << 61

_SIZE, _MODIFIED, _CHANGED = attrgetter("size"), attrgetter("modified_ns"), attrgetter("changed_ns")
# Opening a pipe blocks until a writer opens it. With O_NONBLOCK, a pipe that replaced a listed file is opened at once,
# and the read fails.
_FOR_READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)


class Walked(NamedTuple):
    """Files by directory path, and the paths of the journals in these directories."""

    files: dict[str, list[DataFile]]
    journals: list[str]


def walk(root: str) -> Walked:
    """List a directory and its subdirectories, in no order; empty files are included.

    `root`: without a trailing slash. Hidden names are left out, except names that begin like a summary file.
    """
    walked = Walked({}, [])
    directories = [root]
    while directories:
        directory = directories.pop()
        walked.files[directory] = []
        _list(directory, walked, directories)
    return walked


def find(path: str) -> DataFile | None:
    """Return the file of exactly this name; None if missing."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return None if S_ISDIR(status.st_mode) else _regular(path, status)


def children(prefix: str, wanted: re.Pattern[str]) -> tuple[list[str], list[DataFile]]:
    """List the subdirectories and files directly in a directory whose names match.

    Both lists are empty if the path is not a directory.
    """
    try:
        entries = [entry for entry in list(os.scandir(prefix or ".")) if wanted.fullmatch(entry.name)]
        directories = [prefix + entry.name for entry in entries if entry.is_dir()]
        return directories, [stat(prefix + entry.name) for entry in entries if not entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except (OSError, ValueError) as error:
        raise _failure(prefix, error) from None


def stat(path: str) -> DataFile:
    """Return the file at a path. Raises TableNotFound if missing."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        raise _failure(path, error) from None
    return _regular(path, status)


def _regular(path: str, status: os.stat_result) -> DataFile:
    if not S_ISREG(status.st_mode) and not S_ISDIR(status.st_mode):
        # Opening a pipe blocks until a writer opens it.
        raise StorageFailure(f"{path}: is a pipe, a socket or a device; only regular files are read: save it as a file")
    return _file(path, status)


def _file(path: str, status: os.stat_result) -> DataFile:
    return DataFile(path, status.st_size, status.st_mtime_ns, None, status.st_ctime_ns)


def _failure(path: str, error: OSError | ValueError) -> TableNotFound | StorageFailure:
    if isinstance(error, ValueError) or error.errno == errno.ENAMETOOLONG:
        return TableNotFound(f"{path}: the path is not valid on any file system ({_error_text(error)}); check it")
    if isinstance(error, FileNotFoundError):
        return NoSuchPath.of(path, f"no such file or directory; {step_where_missing(path)}")
    return StorageFailure(f"{path}: {error.strerror}; check its permissions")


def _error_text(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeError):
        return "the path cannot be encoded"
    return str(error.strerror if isinstance(error, OSError) else error)


def _list(directory: str, walked: Walked, directories: list[str]) -> None:
    """Add the visible entries of a directory, and its journal, to `walked` and `directories`."""
    path = directory
    files = walked.files[directory]
    opened = -1
    try:
        # The descriptor saves looking up the directory again for every file.
        opened = os.open(directory or "/", os.O_RDONLY | os.O_DIRECTORY)
        prefix = f"{directory}/"
        if system_calls is not None and _list_at_once(system_calls, opened, directory, walked, directories):
            return
        for entry in list(os.scandir(opened)):
            name = entry.name
            if name == JOURNAL:
                walked.journals.append(prefix + name)
            if is_unlisted(name):
                continue
            path = prefix + name
            if entry.is_dir():
                directories.append(path)
                continue
            files.append(_file(path, entry.stat()))
    except (OSError, ValueError) as error:
        # An entry that disappeared after the listing is reported as missing; the directory itself exists.
        raise _failure(path, error) from None
    finally:
        if opened >= 0:
            os.close(opened)


def _list_at_once(calls: ModuleType, opened: int, directory: str, walked: Walked, directories: list[str]) -> bool:
    """List a directory as `_list` with fewer system calls per file.

    If a call fails, returns False and adds nothing.
    """
    prefix, files = f"{directory}/", walked.files[directory]
    names, is_directory = calls.entries(opened)
    # `entries` omits names with a leading dot. A name that neither begins nor ends with "_", like most, is visible.
    visible = [i for i, name in enumerate(names) if (name[0] != "_" and name[-1] != "_") or not is_unlisted(name)]
    below = [prefix + names[i] for i in visible if is_directory[i]]
    rest = [names[i] for i in visible if not is_directory[i]]
    sizes, modified, changed = calls.states(opened, rest, threads())
    if -2 in sizes:
        return False
    paths = [prefix + name for name in rest]
    # Equivalent to `DataFile._make`, without a Python call for each file.
    listed = map(tuple.__new__, repeat(DataFile), zip(paths, sizes, modified, repeat(None), changed, strict=False))
    if -1 in sizes:
        below += [path for path, size in zip(paths, sizes, strict=True) if size == -1]
        files += [file for file in listed if file.size >= 0]
    else:
        files += listed
    directories += below
    if len(visible) < len(names) and JOURNAL in names:
        walked.journals.append(prefix + JOURNAL)
    return True


def threads() -> int:
    """Return the number of threads that this process may run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_files(
    wanted: Iterable[tuple[DataFile, Sequence[tuple[int, int]]]], *, purpose: str, traffic: Traffic
) -> Iterator[list[bytes]]:
    """Yield (start, length) ranges of many files, file by file; each is opened once.

    Files are read as results are taken. Raises the error of the first failing file: MalformedFile for a range outside
    of the file as listed, StaleListing if the file changed since it was listed, StorageFailure if it cannot be read.
    """
    requests = fetched = 0
    # One loop and one count for all, without helpers: with thousands of files, a call per file takes noticeable time.
    try:
        for file, ranges in wanted:
            path, size = file.path, file.size
            for start, length in ranges:
                if start < 0 or length < 0 or start + length > size:
                    raise outside(file, start, length)
            blocks = None if len(ranges) == 1 else blocks_of(ranges, HOLE)
            try:
                descriptor = os.open(path, _FOR_READING)
                try:
                    if blocks is None:
                        answers = [_read(path, descriptor, *ranges[0])]
                    else:
                        read = [_read(path, descriptor, start, stop - start) for start, stop, _ in blocks]
                    _check_listed(file, descriptor)
                finally:
                    os.close(descriptor)
            except OSError as error:
                raise _unread(path, error) from None
            if blocks is None:
                requests += 1
                fetched += len(answers[0])
            else:
                requests += len(read)
                fetched += sum(map(len, read))
                answers = cut(ranges, blocks, read)
            yield answers
    finally:
        if requests:
            traffic.add(purpose, fetched, requests=requests)


class WantedRanges(NamedTuple):
    """Ranges in order of file and start.

    File i has the ranges `first[i]` to `first[i + 1]`. Each range is written to `offset` of the buffer with
    index `target`.
    """

    first: Numbers
    start: Numbers
    length: Numbers
    target: Numbers
    offset: Numbers


def is_compiled() -> bool:
    """Return True if the compiled module is built, which lists and reads many files without the interpreter lock."""
    return system_calls is not None


def reads_at_once(paths: Sequence[str]) -> bool:
    """Return True if `read_at_once` supports these files."""
    return is_compiled() and not any(map(is_remote, paths))


def read_at_once(
    files: Sequence[DataFile],
    wanted: WantedRanges,
    sizes: list[int],
    before: bytes,
    arrived: Callable[[bytes, int], None] | None,
    *,
    purpose: str,
    traffic: Traffic,
) -> list[bytes] | None:
    """Read ranges of many files into buffers with compiled calls.

    All ranges must be inside their files. Returns None if a range is too large or a read failed; the caller then reads
    the files one by one, which raises the error.
    `sizes`: bytes to read into each buffer.
    `before`: bytes at the beginning of the first buffer, before the ranges.
    `arrived`: called as described in `ranges.gather`.
    """
    furthest = wanted.start.max(initial=0)
    if furthest >= _MOST_BYTES or wanted.length.max(initial=0) >= _MOST_BYTES:
        return None
    whole = [sizes[0] + len(before), *sizes[1:]]
    paths = [file.path for file in files]
    listed = _listed(files)
    buffers, requests, fetched = system_calls.read(paths, *wanted, whole, before, HOLE, threads(), arrived, listed)
    if -1 in requests:
        return None
    if any(requests):
        traffic.add(purpose, sum(fetched), requests=sum(requests))
    return buffers


def _listed(files: Sequence[DataFile]) -> Numbers:
    """Return the size and times of each file as listed, one row per file."""
    import numpy as np  # imported here: finding a layout file does not need numpy

    fields = [
        np.fromiter((getter(file) for file in files), np.int64, len(files)) for getter in (_SIZE, _MODIFIED, _CHANGED)
    ]
    return np.ascontiguousarray(np.stack(fields, axis=1))


def read_block(file: DataFile, start: int, length: int) -> bytes:
    """Read one range that is inside of the file."""
    try:
        descriptor = os.open(file.path, _FOR_READING)
        try:
            data = _read(file.path, descriptor, start, length)
            _check_listed(file, descriptor)
            return data
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _unread(file.path, error) from None


def _check_listed(file: DataFile, descriptor: int) -> None:
    """Raise StaleListing if an open file changed since it was listed.

    Called after the read: an earlier change is detected, and a later change does not affect the bytes.
    """
    if not file.modified_ns:  # no time to compare: a log names the file, or the file may grow
        return
    status = os.fstat(descriptor)
    same = status.st_size == file.size and status.st_mtime_ns == file.modified_ns
    if not same or (file.changed_ns and status.st_ctime_ns != file.changed_ns):
        raise changed(file)


def _unread(path: str, error: OSError) -> StorageFailure:
    """Return the error for a listed file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return StaleListing(f"{path}: {error.strerror}, although it was listed; list the table again")
    return StorageFailure(f"{path}: {error.strerror}; check its permissions")


def _read(path: str, descriptor: int, start: int, length: int) -> bytes:
    data = os.pread(descriptor, length, start)
    if len(data) == length:
        return data
    # Linux returns at most 2 GiB per call.
    while more := os.pread(descriptor, length - len(data), start + len(data)):
        data += more
    if len(data) != length:
        raise StaleListing(f"{path}: {len(data)} of {length} bytes at {start}; the file changed while it was read")
    return data
