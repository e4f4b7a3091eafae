"""Metadata cache of tables: decoded in memory, encoded on disk.

In memory, a key includes the state of the data files, so that a value is never used after the files change. Cached
values are immutable: a caller must copy a value before it changes the value.

On disk, each dataset has a directory, with one file for its row groups and one per column. A file is a magic number, a
checksum and an Arrow IPC stream. Complete files are renamed into place; a damaged or foreign file counts as missing.
The schema metadata of a file contains its entry name and its `generation`: a hash of the state of the data files.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, field, fields, is_dataclass
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import xxhash

from parquet_core.dataset.arrow_form import to_batch
from parquet_core.trust.known_faults import KNOWN_FAULTS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping
    from pathlib import Path

    from parquet_core.storage import DataFile

MOST_BYTES = 128 << 20
_OBJECT_BYTES = 64


@dataclass(slots=True)
class DecodedCache:
    """Thread-safe LRU cache, limited to `most_bytes`."""

    most_bytes: int = MOST_BYTES
    used_bytes: int = 0
    _values: dict[Hashable, tuple[Any, int]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, key: Hashable) -> Any | None:
        """Return the value of a key; None if missing."""
        with self._lock:
            entry = self._values.pop(key, None)
            if entry is None:
                return None
            self._values[key] = entry
            return entry[0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Store a value of `size` bytes, replacing the previous one.

        A value of more than half of `most_bytes` is not stored.
        """
        with self._lock:
            self.used_bytes -= self._values.pop(key, (None, 0))[1]
            if size > self.most_bytes // 2:
                return
            self._values[key] = value, size
            self.used_bytes += size
            while self.used_bytes > self.most_bytes:
                self.used_bytes -= self._values.pop(next(iter(self._values)))[1]


def bytes_of(value: Any) -> int:
    """Estimate the memory of a value in bytes, from its arrays and a flat amount per object.

    >>> bytes_of({"numbers": np.zeros(100, np.int64)})
    928
    """
    if isinstance(value, np.ndarray | pa.Array):
        return int(value.nbytes) + _OBJECT_BYTES
    if is_dataclass(value):
        return sum(bytes_of(getattr(value, part.name)) for part in fields(value))
    if isinstance(value, dict):
        return sum(map(bytes_of, value)) + sum(map(bytes_of, value.values()))
    return sum(map(bytes_of, value)) if isinstance(value, tuple | list) else _OBJECT_BYTES


# Version of the cache file format; files of another version are ignored.
_FORM = 11
# Cached bounds are trusted bounds, so a new known fault of a writer makes the cache obsolete.
_MAGIC = b"PRUNE" + xxhash.xxh3_64_digest(repr((_FORM, KNOWN_FAULTS)).encode())[:3]
_HEADER_BYTES = len(_MAGIC) + 8
DEFAULT_BYTES = 2 << 30
_BLOCK_BYTES = 1 << 20
_FRESH_NS = 2_000_000_000
_TOUCH_SECONDS = 60.0
_STALE_SECONDS = 3600.0
# The modification time of this file is the time of the last eviction.
_LAST_LOOK, _LOOK_SECONDS = ".last-look", 3600.0


def generation_of(files: Iterable[DataFile]) -> str:
    """Return the hash of the state of data files: path, size, modification times and ETag."""
    state = [f"{f.path}\x00{f.size}\x00{f.modified_ns}\x00{f.changed_ns}\x00{f.etag}" for f in files]
    return blake2b("\n".join(state).encode(errors="surrogateescape"), digest_size=16).hexdigest()


def is_settled(file: DataFile, now_ns: int) -> bool:
    """Return True if any change of a file after `now_ns` would alter its modification times or ETag.

    A second write shortly after the first one can have the same modification time, so fresh files are not settled. Nor
    are files of a web server that returns neither a time nor an ETag.
    """
    is_dated = file.modified_ns > 0 or file.changed_ns > 0 or file.etag is not None
    return is_dated and file.modified_ns < now_ns - _FRESH_NS


@dataclass(frozen=True, slots=True)
class MetadataCache:
    """Directory of cached metadata, one subdirectory per dataset.

    `most_bytes`: limit of all entries; once an hour, the least recently used entries beyond it are removed.
    `decoded`: cache of decoded entries in the memory of this process. None to keep nothing in memory.
    """

    directory: Path
    most_bytes: int = DEFAULT_BYTES
    decoded: DecodedCache | None = field(default=None, repr=False, compare=False)

    def of_table(self, table: str) -> TableCache:
        """Return the cache of one table.

        `table`: a string that identifies the table.
        """
        name = blake2b(table.encode(errors="surrogateescape"), digest_size=12).hexdigest()
        return TableCache(self.directory / name, self)

    def make_room(self) -> None:
        """Evict entries if the last eviction was at least an hour ago."""
        with contextlib.suppress(OSError):
            marker = self.directory / _LAST_LOOK
            if not marker.exists() or marker.stat().st_mtime < time.time() - _LOOK_SECONDS:
                marker.touch(mode=0o600)  # before the eviction, so that other processes do not evict too
                self.evict()

    def evict(self) -> None:
        """Remove the least recently used entries beyond `most_bytes`, and files of crashed writers.

        If entries exceed `most_bytes`, an eighth of `most_bytes` is free afterwards.
        """
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        most = self.most_bytes if total <= self.most_bytes else self.most_bytes * 7 // 8
        for used, size, path in entries:
            abandoned = path.endswith(".part") and used < time.time() - _STALE_SECONDS
            if total > most or abandoned:
                with contextlib.suppress(OSError):
                    os.unlink(path)
                total -= size
        for directory in _directories(self.directory):
            with contextlib.suppress(OSError):
                os.rmdir(directory)  # fails for a directory that is not empty

    def _entries(self) -> Iterable[tuple[float, int, str]]:
        for directory in _directories(self.directory):
            with contextlib.suppress(OSError), os.scandir(directory) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        status = entry.stat()
                        yield status.st_mtime, status.st_size, entry.path


def _directories(parent: Path) -> list[str]:
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        return [entry.path for entry in entries if entry.is_dir()]
    return []


@dataclass(frozen=True, slots=True)
class TableCache:
    """Cached entries of one table, by name (free text).

    An entry that cannot be read back unchanged counts as missing.
    """

    directory: Path
    cache: MetadataCache

    def read(self, name: str) -> tuple[str, pa.RecordBatch] | None:
        """Return the generation and arrays of an entry; None if missing or damaged."""
        path = self._path(name)
        try:
            # The file is not memory-mapped: truncating a mapped file would crash the process.
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            return None
        # Entries in another user's directory cannot be marked as used, but can be read.
        with contextlib.suppress(OSError):
            _touch(path)
        body = memoryview(data)[_HEADER_BYTES:]
        if data[:_HEADER_BYTES] != _MAGIC + xxhash.xxh3_64_digest(body):
            return None
        try:
            return _batch(name, body)
        except (pa.ArrowException, OSError, KeyError, StopIteration, TypeError, ValueError):
            return None

    def write(self, name: str, generation: str, values: Mapping[str, Any]) -> None:
        """Write an entry; does nothing if the directory is not writable."""
        batch = to_batch(values)
        schema = batch.schema.with_metadata({"generation": generation, "name": name})
        part = self.directory / f"{uuid4().hex}.part"
        try:
            # Entries contain values of the data (bounds), so only the owner may read them.
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            # The stream goes directly to the file because entries may be large.
            part.touch(mode=0o600)
            with pa.OSFile(str(part), "wb") as sink:
                sink.write(bytes(_HEADER_BYTES))
                with pa.ipc.new_stream(sink, schema) as stream:
                    stream.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
            _seal(part)
            part.replace(self._path(name))
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink()

    def mark(self, name: str) -> bool:
        """Mark an entry as used; return False if it is missing."""
        try:
            _touch(self._path(name))
        except FileNotFoundError:
            return False
        except OSError:  # the entry belongs to another user
            return True
        return True

    def drop(self, name: str) -> None:
        """Remove an entry."""
        with contextlib.suppress(OSError):
            os.unlink(self._path(name))

    def _path(self, name: str) -> str:
        # String formatting is faster than pathlib; a plan builds many paths.
        return f"{self.directory}/{blake2b(name.encode(), digest_size=12).hexdigest()}.arrow"


def _batch(name: str, body: memoryview) -> tuple[str, pa.RecordBatch] | None:
    """Return the generation and arrays of a stream; None if it contains an entry of another name."""
    with pa.ipc.open_stream(pa.py_buffer(body)) as stream:
        metadata = stream.schema.metadata
        if metadata[b"name"] != name.encode():
            return None
        batch = stream.read_next_batch()
        # A checksum detects damage, not wrong content: offsets outside of the values would crash the process.
        batch.validate(full=True)
        return metadata[b"generation"].decode(), batch


def _seal(part: Path) -> None:
    """Write the magic number and the checksum to the reserved header of a file."""
    with part.open("r+b") as file:
        file.seek(_HEADER_BYTES)
        digest = xxhash.xxh3_64()
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
        file.seek(0)
        file.write(_MAGIC + digest.digest())


def _touch(path: str) -> None:
    """Update the modification time of a file, but at most once a minute, so that frequent reads do not cause writes."""
    if os.stat(path).st_mtime < time.time() - _TOUCH_SECONDS:
        os.utime(path)
