"""The only door to bytes: list the data files of a table, read ranges of a file, count the requests.

Local files in this version, by path or `file://` URI.
"""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from parquet_core.errors import MalformedFile, StorageFailure, TableNotFound, UnsupportedFeature

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Neighbouring ranges are fetched together when the hole between them is smaller than this.
COALESCE_HOLE = 32 << 10


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file as it was when listed: what must still be true when its planned ranges are read."""

    path: str
    size: int
    modified_ns: int
    etag: str | None = None


@dataclass(slots=True)
class Traffic:
    """What was fetched; `bytes` by purpose (`footer`, `index`, `bloom`)."""

    requests: int = 0
    bytes: dict[str, int] = field(default_factory=dict)

    def add(self, purpose: str, count: int) -> None:
        """Count one request of `count` bytes."""
        self.requests += 1
        self.bytes[purpose] = self.bytes.get(purpose, 0) + count


def local_path(table: str) -> str:
    """Turn a path or `file:` URI into a local path; UnsupportedFeature for any other scheme."""
    parts = urlsplit(table)
    if parts.scheme == "file":
        return unquote(parts.path)
    if parts.scheme and "://" in table:
        raise UnsupportedFeature(f"{table}: storage scheme {parts.scheme!r} is not read yet; use a local path")
    return table


def list_data_files(table: str | os.PathLike[str] | Iterable[str]) -> list[DataFile]:
    """List the data files of a table as Spark does, sorted by path.

    `table` is a directory, a file, a glob, a `file:` URI or a list of files. In a directory, names
    that begin with `_` or `.` are not data, unless they are partition directories (`_x=1`).
    Raises TableNotFound when nothing is there.
    """
    if not isinstance(table, str | os.PathLike):
        return _by_path(_stat(local_path(os.fspath(file))) for file in table)
    path = local_path(os.fspath(table))
    if not path:
        raise TableNotFound("the path of the table is empty; name a directory or a file")
    if not os.path.exists(path) and glob.has_magic(path):
        files = _by_path(file for match in glob.glob(path) for file in _expand(match))
    else:
        files = _by_path(_expand(path))
    if not files:
        raise TableNotFound(f"{path}: no data file in it; name a directory that holds Parquet files")
    return files


def _by_path(files: Iterable[DataFile]) -> list[DataFile]:
    # The order in which Spark looks for the file that gives the schema.
    return sorted(files, key=lambda file: file.path)


def summary_file(table: str | os.PathLike[str] | Iterable[str]) -> DataFile | None:
    """Return the file without data that Spark takes a directory's schema from, if there is one."""
    if not isinstance(table, str | os.PathLike):
        return None
    directory = local_path(os.fspath(table))
    paths = (os.path.join(directory, name) for name in ("_common_metadata", "_metadata"))
    return next((_stat(path) for path in paths if os.path.isfile(path)), None)


def _expand(path: str) -> Iterator[DataFile]:
    if os.path.isdir(path):
        yield from _walk(path)
    else:
        yield _stat(path)


def _walk(directory: str) -> Iterator[DataFile]:
    try:
        entries = list(os.scandir(directory))
    except OSError as error:
        raise StorageFailure(f"{directory}: {error.strerror}; check who may read it") from None
    for entry in entries:
        if is_hidden(entry.name):
            continue
        if entry.is_dir():
            yield from _walk(entry.path)
        elif (file := _stat(entry.path)).size:
            # Spark reads no empty file, so an empty one is no damage either.
            yield file


def is_hidden(name: str) -> bool:
    """Tell whether Spark passes over a file or directory of this name.

    Source: `HadoopFSUtils.shouldFilterOutPathName` and `PartitioningAwareFileIndex.isDataPath`.

    >>> [is_hidden(name) for name in ("_SUCCESS", ".crc", "_day=1", "part-0.parquet")]
    [True, True, False, False]
    """
    return (name.startswith("_") and "=" not in name) or name.startswith(".") or name.endswith("._COPYING_")


def _stat(path: str) -> DataFile:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise TableNotFound(f"{path}: no such file or directory; check the path") from None
    except OSError as error:
        raise StorageFailure(f"{path}: {error.strerror}; check who may read it") from None
    return DataFile(path, status.st_size, status.st_mtime_ns)


def read_range(file: DataFile, start: int, length: int, *, purpose: str, traffic: Traffic) -> bytes:
    """Read exactly `length` bytes from `start`; MalformedFile when the file is shorter."""
    if start < 0 or length < 0 or start + length > file.size:
        raise MalformedFile(
            f"{file.path}: bytes {start} to {start + length} are outside of the file ({file.size} bytes); "
            "its metadata is damaged"
        )
    try:
        descriptor = os.open(file.path, os.O_RDONLY)
        try:
            data = os.pread(descriptor, length, start)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StorageFailure(f"{file.path}: {error.strerror}; check who may read it") from None
    if len(data) != length:
        raise StorageFailure(
            f"{file.path}: {len(data)} of {length} bytes at {start}; the file changed while it was read"
        )
    traffic.add(purpose, length)
    return data


def read_ranges(file: DataFile, ranges: Sequence[tuple[int, int]], *, purpose: str, traffic: Traffic) -> list[bytes]:
    """Read (start, length) ranges, neighbours in one request; answers stand in the order asked."""
    order = sorted(range(len(ranges)), key=lambda i: ranges[i])
    answers: list[bytes] = [b""] * len(ranges)
    for group in _coalesce([(i, *ranges[i]) for i in order]):
        start = group[0][1]
        stop = max(begin + length for _, begin, length in group)
        block = read_range(file, start, stop - start, purpose=purpose, traffic=traffic)
        for i, begin, length in group:
            answers[i] = block[begin - start : begin - start + length]
    return answers


def _coalesce(ranges: list[tuple[int, int, int]]) -> Iterator[list[tuple[int, int, int]]]:
    group: list[tuple[int, int, int]] = []
    stop = 0
    for item in ranges:
        _, start, length = item
        if group and start > stop + COALESCE_HOLE:
            yield group
            group = []
        stop = start + length if not group else max(stop, start + length)
        group.append(item)
    if group:
        yield group


def name_of(file: DataFile) -> str:
    """Return the last part of the path, for messages."""
    return os.path.basename(file.path)
