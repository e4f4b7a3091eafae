"""Cached metadata of tables: decoded in memory for one process, encoded on disk for later processes.

In memory a key names a list of files in one state, so that a value never outlives a change of the files. Cached values
are immutable: a caller that may change one copies it.

On disk a directory belongs to each dataset, with one file for its row groups and one per column. A file is a magic
number, a checksum and an Arrow IPC stream. It is renamed into place when it is complete; a damaged or foreign file
counts as missing. Every file names its content and its `generation`: a hash of the state of the data files.
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
    """Values by key; beyond `most_bytes` those that were used least recently are let go of."""

    most_bytes: int = MOST_BYTES
    used_bytes: int = 0
    _values: dict[Hashable, tuple[Any, int]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, key: Hashable) -> Any | None:
        """Return the value of a key, or None."""
        with self._lock:
            entry = self._values.pop(key, None)
            if entry is None:
                return None
            self._values[key] = entry
            return entry[0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Keep a value of `size` bytes instead of what was under its key; not one that takes half of the room."""
        with self._lock:
            self.used_bytes -= self._values.pop(key, (None, 0))[1]
            if size > self.most_bytes // 2:
                return
            self._values[key] = value, size
            self.used_bytes += size
            while self.used_bytes > self.most_bytes:
                self.used_bytes -= self._values.pop(next(iter(self._values)))[1]


def bytes_of(value: Any) -> int:
    """Return about how much memory a value takes: its arrays, and a flat sum for every other object.

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


# Changes with the form of the files, so that files of another form are not read.
_FORM = 10
# Cached bounds are trusted bounds, so a new known fault of a writer makes the cache obsolete.
_MAGIC = b"PRUNE" + xxhash.xxh3_64_digest(repr((_FORM, KNOWN_FAULTS)).encode())[:3]
_HEADER_BYTES = len(_MAGIC) + 8
DEFAULT_BYTES = 2 << 30
_BLOCK_BYTES = 1 << 20
_FRESH_NS = 2_000_000_000
_TOUCH_SECONDS = 60.0
_STALE_SECONDS = 3600.0
# The time of change of this file is the time of the last look at the size of the cache.
_LAST_LOOK, _LOOK_SECONDS = ".last-look", 3600.0


def generation_of(files: Iterable[DataFile]) -> str:
    """Return the hash of a list of data files as they are: paths, sizes, times of change and etags."""
    state = [f"{f.path}\x00{f.size}\x00{f.modified_ns}\x00{f.changed_ns}\x00{f.etag}" for f in files]
    return blake2b("\n".join(state).encode(errors="surrogateescape"), digest_size=16).hexdigest()


def is_settled(file: DataFile, now_ns: int) -> bool:
    """Tell whether a change after `now_ns` would show.

    Of a file just written, a second write can bear the same time. A web server may tell neither time nor ETag.
    """
    is_dated = file.modified_ns > 0 or file.changed_ns > 0 or file.etag is not None
    return is_dated and file.modified_ns < now_ns - _FRESH_NS


@dataclass(frozen=True, slots=True)
class MetadataCache:
    """A directory of datasets; the least recently used entries beyond `most_bytes` are removed once an hour.

    `decoded`: what the process keeps in memory of what is there; None for nothing.
    """

    directory: Path
    most_bytes: int = DEFAULT_BYTES
    decoded: DecodedCache | None = field(default=None, repr=False, compare=False)

    def of_table(self, table: str) -> TableCache:
        """Return the part of one table; `table` is whatever tells it from others."""
        name = blake2b(table.encode(errors="surrogateescape"), digest_size=12).hexdigest()
        return TableCache(self.directory / name, self)

    def make_room(self) -> None:
        """Remove the least recently used entries, if the last look at the files is an hour old."""
        with contextlib.suppress(OSError):
            marker = self.directory / _LAST_LOOK
            if not marker.exists() or marker.stat().st_mtime < time.time() - _LOOK_SECONDS:
                marker.touch(mode=0o600)  # first, so that other processes do not look too
                self.evict()

    def evict(self) -> None:
        """Look at every file; remove what was used least recently until the rest fits, and what a crashed writer left.

        Where they do not fit, an eighth is left free.
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
                os.rmdir(directory)  # of an empty one; any other stays

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
    """What is kept of one table. Names are free text; what they hold is read as it was written or not at all."""

    directory: Path
    cache: MetadataCache

    def read(self, name: str) -> tuple[str, pa.RecordBatch] | None:
        """Return the generation and the arrays kept under a name; None when there is nothing whole."""
        path = self._path(name)
        try:
            # Not mapped: what is cut off under a map ends the process.
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            return None
        # In a directory that is another user's nothing can be marked; what it holds serves all the same.
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
        """Keep arrays under a name; nothing is kept where the directory cannot be written."""
        batch = to_batch(values)
        schema = batch.schema.with_metadata({"generation": generation, "name": name})
        part = self.directory / f"{uuid4().hex}.part"
        try:
            # What is kept tells of the data: bounds are values.
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Straight into the file: what is kept may be large.
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
        """Mark what is kept under a name as used; False where there is nothing."""
        try:
            _touch(self._path(name))
        except FileNotFoundError:
            return False
        except OSError:  # it is another user's
            return True
        return True

    def drop(self, name: str) -> None:
        """Remove what is kept under a name."""
        with contextlib.suppress(OSError):
            os.unlink(self._path(name))

    def _path(self, name: str) -> str:
        # Joined as text: a plan asks for many.
        return f"{self.directory}/{blake2b(name.encode(), digest_size=12).hexdigest()}.arrow"


def _batch(name: str, body: memoryview) -> tuple[str, pa.RecordBatch] | None:
    """Return the generation and the arrays of a stream, None where it holds what is kept under another name."""
    with pa.ipc.open_stream(pa.py_buffer(body)) as stream:
        metadata = stream.schema.metadata
        if metadata[b"name"] != name.encode():
            return None
        batch = stream.read_next_batch()
        # A checksum tells what is damaged, not what is wrong: offsets beyond their values end the process.
        batch.validate(full=True)
        return metadata[b"generation"].decode(), batch


def _seal(part: Path) -> None:
    """Put the magic number and the checksum in front of what was written."""
    with part.open("r+b") as file:
        file.seek(_HEADER_BYTES)
        digest = xxhash.xxh3_64()
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
        file.seek(0)
        file.write(_MAGIC + digest.digest())


def _touch(path: str) -> None:
    """Mark a file as used, but not at each use: reading alone should not write."""
    if os.stat(path).st_mtime < time.time() - _TOUCH_SECONDS:
        os.utime(path)
