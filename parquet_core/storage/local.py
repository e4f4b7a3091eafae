"""Storage on this machine: listing, and reading by position."""

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
except ImportError:  # there was no compiler, or no POSIX
    system_calls = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import ModuleType

    from parquet_core.arrays import Numbers
    from parquet_core.storage.files import Traffic


# Neighbouring ranges are read together when the hole between them is smaller than this:
# a read by position costs about as much as copying so many bytes.
HOLE = 32 << 10
# No file has more; so far sums of positions cannot wrap around.
_MOST_BYTES = 1 << 61

_SIZE, _MODIFIED, _CHANGED = attrgetter("size"), attrgetter("modified_ns"), attrgetter("changed_ns")
# Who opens a pipe waits for a writer: one that took the place of a listed file is opened, and cannot be read.
_FOR_READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)


class Walked(NamedTuple):
    """The files in each directory by its path, and the paths of the journals among what is hidden in them."""

    files: dict[str, list[DataFile]]
    journals: list[str]


def walk(root: str) -> Walked:
    """List a directory and those below it, in no order: by the path of each the files in it, empty ones included.

    `root`: without a slash at its end. Hidden names are left out, but not those that begin as summaries do.
    """
    walked = Walked({}, [])
    directories = [root]
    while directories:
        directory = directories.pop()
        walked.files[directory] = []
        _list(directory, walked, directories)
    return walked


def find(path: str) -> DataFile | None:
    """Look a file up; None when there is none of exactly this name."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return None if S_ISDIR(status.st_mode) else _regular(path, status)


def children(prefix: str, wanted: re.Pattern[str]) -> tuple[list[str], list[DataFile]]:
    """List what lies directly in a directory and has a name that matches; nothing when it is no directory."""
    try:
        entries = [entry for entry in list(os.scandir(prefix or ".")) if wanted.fullmatch(entry.name)]
        directories = [prefix + entry.name for entry in entries if entry.is_dir()]
        return directories, [stat(prefix + entry.name) for entry in entries if not entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except (OSError, ValueError) as error:
        raise _failure(prefix, error) from None


def stat(path: str) -> DataFile:
    """Look a file up; TableNotFound when it is not there."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        raise _failure(path, error) from None
    return _regular(path, status)


def _regular(path: str, status: os.stat_result) -> DataFile:
    if not S_ISREG(status.st_mode) and not S_ISDIR(status.st_mode):
        # Who opens a pipe waits until somebody writes into it.
        raise StorageFailure(f"{path}: is a pipe, a socket or a device; only regular files are read: save it as a file")
    return _file(path, status)


def _file(path: str, status: os.stat_result) -> DataFile:
    return DataFile(path, status.st_size, status.st_mtime_ns, None, status.st_ctime_ns)


def _failure(path: str, error: OSError | ValueError) -> TableNotFound | StorageFailure:
    if isinstance(error, ValueError) or error.errno == errno.ENAMETOOLONG:
        return TableNotFound(f"{path}: no file system has such a path ({_said(error)}); check it")
    if isinstance(error, FileNotFoundError):
        return NoSuchPath.of(path, f"no such file or directory; {step_where_missing(path)}")
    return StorageFailure(f"{path}: {error.strerror}; check who may read it")


def _said(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeError):
        return "it is text that cannot be encoded"
    return str(error.strerror if isinstance(error, OSError) else error)


def _list(directory: str, walked: Walked, directories: list[str]) -> None:
    """Add what lies in a directory and is not hidden, or is a journal, to `found` or `directories`."""
    path = directory
    files = walked.files[directory]
    opened = -1
    try:
        # Through its descriptor the directory is not looked up again for every file in it.
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
        # What is gone since it was listed is missing; the directory itself has been seen to be there.
        raise _failure(path, error) from None
    finally:
        if opened >= 0:
            os.close(opened)


def _list_at_once(calls: ModuleType, opened: int, directory: str, walked: Walked, directories: list[str]) -> bool:
    """Do the same with few calls of the system's for each file; False when one of them failed, and nothing is added."""
    prefix, files = f"{directory}/", walked.files[directory]
    names, known = calls.entries(opened)
    # Nearly all names begin and end with other letters than those that hide one.
    visible = [i for i, name in enumerate(names) if (name[0] != "_" and name[-1] != "_") or not is_unlisted(name)]
    below = [prefix + names[i] for i in visible if known[i]]
    rest = [names[i] for i in visible if not known[i]]
    sizes, modified, changed = calls.states(opened, rest, threads())
    if -2 in sizes:
        return False
    paths = [prefix + name for name in rest]
    # What `DataFile._make` does, but for a call of Python's for each file.
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
    """Return how many threads this process may run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_files(
    wanted: Iterable[tuple[DataFile, Sequence[tuple[int, int]]]], *, purpose: str, traffic: Traffic
) -> Iterator[list[bytes]]:
    """Read (start, length) ranges of many files, each opened once, file by file as the answers are taken.

    Raises the error of the first file that has one: MalformedFile for a range outside of the file as listed,
    StaleListing for a file that is not the one that was listed, StorageFailure when it cannot be read.
    """
    requests = fetched = 0
    # One loop and one count for all: with thousands of files each call more for a file shows.
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
    """Ranges in order of file and start: those of file i are `first[i]` to `first[i + 1]`.

    Each goes to place `at` of the buffer of number `target`.
    """

    first: Numbers
    start: Numbers
    length: Numbers
    target: Numbers
    at: Numbers


def is_compiled() -> bool:
    """Tell whether many files are listed and read by compiled calls, outside of Python's lock."""
    return system_calls is not None


def reads_at_once(paths: Sequence[str]) -> bool:
    """Tell whether `read_at_once` may be asked for these files."""
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
    """Read ranges inside of files into buffers, where the compiled calls are there; None when one could not be read.

    `sizes` leaves out `before`, with which the first buffer begins; for `arrived` see `gather`. Whoever reads the
    file that could not be read by itself gets its error.
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
    """Return by file its size and times when it was listed."""
    import numpy as np  # not above: a layout file is found without it

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

    Called after the read: a change before it shows, and a later one does not matter to the bytes.
    """
    if not file.modified_ns:  # as a log names it, or a file that may grow
        return
    status = os.fstat(descriptor)
    same = status.st_size == file.size and status.st_mtime_ns == file.modified_ns
    if not same or (file.changed_ns and status.st_ctime_ns != file.changed_ns):
        raise changed(file)


def _unread(path: str, error: OSError) -> StorageFailure:
    """Make the error of a listed file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return StaleListing(f"{path}: {error.strerror}, though it was listed; list the table again")
    return StorageFailure(f"{path}: {error.strerror}; check who may read it")


def _read(path: str, descriptor: int, start: int, length: int) -> bytes:
    data = os.pread(descriptor, length, start)
    if len(data) == length:
        return data
    # Linux answers at most 2 GiB at once.
    while more := os.pread(descriptor, length - len(data), start + len(data)):
        data += more
    if len(data) != length:
        raise StaleListing(f"{path}: {len(data)} of {length} bytes at {start}; the file changed while it was read")
    return data
