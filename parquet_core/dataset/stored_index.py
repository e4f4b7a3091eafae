"""Disk cache of one table's metadata, looked up by the table's current row groups.

Files may change between two plans, so each column is cached with the generation of files from which it was read. A file
with the same state (path, size, modification times, etag) keeps its cached row groups.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import array_of
from parquet_core.dataset.arrow_form import array_at, numbers_at
from parquet_core.dataset.metadata_cache import bytes_of, generation_of, is_settled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_core.arrays import Numbers
    from parquet_core.dataset.metadata_cache import TableCache
    from parquet_core.format.provenance import EncodedKind
    from parquet_core.storage import DataFile
    from parquet_core.trust.contradictions import Doubts


_LATEST = "latest"
# Number of generations to keep; columns cached with an older generation are read again.
MOST_GENERATIONS = 8
_NEVER = -(1 << 63)  # a modification time that no file has
# Memory cache names of the last listed files and of their row groups.
_FILES = "files"
_ROW_GROUPS = "row groups"
_FILE_BYTES = 512
_STATE = ("path", "size", "modified_ns", "changed_ns", "etag")


class RowGroups(NamedTuple):
    """Row groups of a list of files.

    `kinds`: distinct footer kinds: encoded schema, key-value metadata, writer and column orders.
    `kind`: for each file, the index in `kinds`.
    `first`: the row groups of file i are the elements `first[i]` to `first[i + 1]` of `row_count` and `doubts`.
    `doubts`: distrusted claims about each row group.
    """

    kinds: tuple[EncodedKind, ...]
    kind: Numbers
    first: Numbers
    row_count: Numbers
    doubts: Doubts


@dataclass(slots=True)
class StoredIndex:
    """Cached metadata of one table, for its current files.

    `listed_ns`: time of the listing.
    `is_settled`: True if a later change of a file would alter its times or ETag. Otherwise results are not cached in
    memory.
    `changed`: True if entries were written since the last eviction.
    """

    cache: TableCache
    files: tuple[DataFile, ...]
    generation: str = ""
    changed: bool = False
    is_settled: bool = False
    listed_ns: int = field(default_factory=time.time_ns)
    _datasets: dict[str, pa.RecordBatch | None] = field(default_factory=dict)
    _file_indices: dict[str, Numbers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Most listings equal the previous one, and comparing is cheaper than hashing.
        files, self.generation = self.recall(_FILES) or ((), "")
        if files != self.files:
            self.generation = generation_of(self.files)

    def narrowed(self, chosen: Numbers) -> StoredIndex:
        """Return the index for a part of the files.

        `chosen`: indices of these files.
        """
        files = tuple(self.files[i] for i in chosen.tolist())
        within = {self.generation: chosen} | {name: index[chosen] for name, index in self._file_indices.items()}
        return StoredIndex(
            self.cache, files, listed_ns=self.listed_ns, _datasets=dict(self._datasets), _file_indices=within
        )

    def row_groups(self) -> tuple[RowGroups, Numbers] | None:
        """Return the cached row groups, and the index in them of each current file; -1 for a new file.

        None if nothing is cached.
        """
        generation = self.generation
        if (groups := self.recall(_ROW_GROUPS)) is not None and self.cache.mark(f"dataset {generation}"):
            self.is_settled = True
            return groups, np.arange(len(self.files))
        if self._dataset(generation) is None:
            latest = self.cache.read(_LATEST)
            generation = "" if latest is None else latest[0]
        batch = self._dataset(generation)
        if batch is None:
            return None
        parts = [array_at(batch, f"kind_{part}").to_pylist() for part in range(4)]
        groups = RowGroups(
            tuple(zip(*parts, strict=True)),
            numbers_at(batch, "kind"),
            numbers_at(batch, "first"),
            numbers_at(batch, "row_count"),
            numbers_at(batch, "doubts"),
        )
        return groups, self._files_in(generation, batch)

    def _dataset(self, generation: str) -> pa.RecordBatch | None:
        if generation not in self._datasets:
            found = self.cache.read(f"dataset {generation}")
            self._datasets[generation] = None if found is None or found[0] != generation else found[1]
        return self._datasets[generation]

    def _files_in(self, generation: str, batch: pa.RecordBatch) -> Numbers:
        """Return the index that each current file has in a generation; -1 if the file is new."""
        if generation == self.generation:
            return np.arange(len(self.files))
        if generation not in self._file_indices:
            states = zip(*(array_at(batch, name).to_pylist() for name in _STATE), strict=True)
            index = {state: i for i, state in enumerate(states)}
            found = [index.get(_state(file), -1) for file in self.files]
            self._file_indices[generation] = np.array(found, np.int64)
        return self._file_indices[generation]

    def keep_row_groups(self, groups: RowGroups) -> None:
        """Cache the row groups of the current files; does nothing if they are cached already."""
        if self.is_settled:
            return
        if self._dataset(self.generation) is not None:
            self._remember_row_groups(groups)
            return
        # The listing time counts, not the current time: while footers are read, a file may change without a new time.
        settled = [is_settled(file, self.listed_ns) for file in self.files]
        if not all(settled):
            # An unsettled file may change without a new state; a random generation never matches a later listing.
            self.generation = uuid4().hex
        times = [file.modified_ns if ok else _NEVER for file, ok in zip(self.files, settled, strict=True)]
        values: dict[str, Any] = {
            "path": array_of([_encoded(file.path) for file in self.files], pa.binary()),
            "size": np.array([file.size for file in self.files], np.int64),
            "modified_ns": np.array(times, np.int64),
            "changed_ns": np.array([file.changed_ns for file in self.files], np.int64),
            "etag": array_of([file.etag or "" for file in self.files], pa.string()),
            "kind": groups.kind,
            "first": groups.first,
            "row_count": groups.row_count,
            "doubts": groups.doubts,
        }
        values |= {f"kind_{part}": array_of([kind[part] for kind in groups.kinds], pa.binary()) for part in range(4)}
        self.write(f"dataset {self.generation}", values)
        self._drop_oldest()
        if all(settled):
            self._remember_row_groups(groups)

    def _remember_row_groups(self, groups: RowGroups) -> None:
        self.is_settled = True
        self.remember(_ROW_GROUPS, groups)
        if (decoded := self.cache.cache.decoded) is not None:
            known = self.files, self.generation
            decoded.put(self._key(_FILES, "", b""), known, _FILE_BYTES * len(self.files))

    def _drop_oldest(self) -> None:
        """Record this generation as the latest; drop all but the last `MOST_GENERATIONS`."""
        latest = self.cache.read(_LATEST)
        before = [] if latest is None else array_at(latest[1], "generation").to_pylist()
        known = list(dict.fromkeys([self.generation, *before]))
        self.write(_LATEST, {"generation": array_of(known[:MOST_GENERATIONS], pa.string())})
        for generation in known[MOST_GENERATIONS:]:
            self.cache.drop(f"dataset {generation}")

    def read(self, name: str, file: Numbers, ordinal: Numbers) -> tuple[pa.RecordBatch, Numbers] | None:
        """Return the disk entry of a name, and the row of each current row group in the entry.

        The row is -1 for a row group that the entry lacks. None if there is no entry, or if its generation was dropped.
        `file`: for each current row group, the index of its file.
        `ordinal`: for each current row group, its number within its file.
        """
        stored = self.cache.read(name)
        if stored is None:
            return None
        generation, batch = stored
        dataset = self._dataset(generation)
        if dataset is None:
            return None
        if generation == self.generation:
            return batch, np.arange(len(file))
        like = self._files_in(generation, dataset)[file]
        first = numbers_at(dataset, "first")
        return batch, np.where(like >= 0, first[like] + ordinal, -1)

    def recall(self, name: str, among: bytes = b"") -> Any | None:
        """Return the memory entry of a name for unchanged files; None if missing.

        `among`: key that identifies the opened files among all files of the table.
        """
        decoded = self.cache.cache.decoded
        return None if decoded is None else decoded.get(self._key(name, self.generation, among))

    def remember(self, name: str, value: Any, among: bytes = b"") -> None:
        """Cache a value in memory; does nothing unless the files are settled."""
        decoded = self.cache.cache.decoded
        if decoded is not None and self.is_settled:
            decoded.put(self._key(name, self.generation, among), value, bytes_of(value))

    def _key(self, name: str, generation: str, among: bytes) -> tuple[str, str, bytes, str]:
        return str(self.cache.directory), generation, among, name

    def finish(self) -> None:
        """Evict old entries of the cache if entries were written."""
        if self.changed:
            self.cache.cache.make_room()
            self.changed = False

    def write(self, name: str, values: Mapping[str, Any]) -> None:
        """Write arrays of the current row groups to the disk cache."""
        self.cache.write(name, self.generation, values)
        self.changed = True


def _encoded(path: str) -> bytes:
    """Return the cache key of a path; a URL is hashed because it may contain keys or signatures."""
    # A local path may contain bytes that are not valid UTF-8.
    encoded = path.encode(errors="surrogateescape")
    return blake2b(encoded, digest_size=16).digest() if "://" in path else encoded


def _state(file: DataFile) -> tuple[bytes, int, int, int, str]:
    return _encoded(file.path), file.size, file.modified_ns, file.changed_ns, file.etag or ""
