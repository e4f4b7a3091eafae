"""The part of the cache on disk that is of one table, and the positions in it of the row groups of today.

Files come and go between two looks at a table. Every column is kept with the generation of files it was
read from; a file that is still the same (path, size, time of change, etag) keeps its row groups.
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
    from parquet_core.dataset.row_group_table import RowGroupTable
    from parquet_core.format.provenance import EncodedKind
    from parquet_core.format.schema import LeafColumn
    from parquet_core.storage import DataFile
    from parquet_core.trust.contradictions import Doubts


_LATEST = "latest"
# Columns kept with an older one are read again.
MOST_GENERATIONS = 8
_NEVER = -(1 << 63)  # a time of change that no file has
# Under which memory has the files last listed, and their row groups.
_FILES = "files"
_ROW_GROUPS = "row groups"
_FILE_BYTES = 512
_STATE = ("path", "size", "modified_ns", "changed_ns", "etag")


class RowGroups(NamedTuple):
    """The row groups of a list of files: `first[i]` to `first[i + 1]` are of file i, `kind` is by file.

    `doubts`: what a row group says of itself that is not believed.
    """

    kinds: tuple[EncodedKind, ...]
    kind: Numbers
    first: Numbers
    row_count: Numbers
    doubts: Doubts


class Kept(NamedTuple):
    """Arrays kept under a name, and where in them each row group of today stands: -1 where it does not."""

    batch: pa.RecordBatch
    groups: Numbers


@dataclass(slots=True)
class StoredIndex:
    """The metadata kept of one table, seen from the files of today; `listed_ns`: when these had been listed.

    `is_settled`: a change of the files since would show. Of others nothing is kept in memory.
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
        # What was listed is mostly what was listed before: to compare takes less than to hash.
        files, self.generation = self.recall(_FILES) or ((), "")
        if files != self.files:
            self.generation = generation_of(self.files)

    def narrowed(self, chosen: Numbers) -> StoredIndex:
        """Return the index of some of these files, chosen by their indices."""
        files = tuple(self.files[i] for i in chosen.tolist())
        within = {self.generation: chosen} | {name: index[chosen] for name, index in self._file_indices.items()}
        return StoredIndex(
            self.cache, files, listed_ns=self.listed_ns, _datasets=dict(self._datasets), _file_indices=within
        )

    def row_groups(self) -> tuple[RowGroups, Numbers] | None:
        """Return the row groups last kept, and the index there of each file of today, -1 where it is new."""
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
        """Return the index in a generation of each file of today, -1 where it is new."""
        if generation == self.generation:
            return np.arange(len(self.files))
        if generation not in self._file_indices:
            states = zip(*(array_at(batch, name).to_pylist() for name in _STATE), strict=True)
            index = {state: i for i, state in enumerate(states)}
            found = [index.get(_state(file), -1) for file in self.files]
            self._file_indices[generation] = np.array(found, np.int64)
        return self._file_indices[generation]

    def keep_row_groups(self, groups: RowGroups) -> None:
        """Keep which row groups the files of today have, unless that is what is kept already."""
        if self.is_settled:
            return
        if self._dataset(self.generation) is not None:
            self._remember_row_groups(groups)
            return
        # By the time before the first footer was read: reading takes time, in which a file may change within its tick.
        settled = [is_settled(file, self.listed_ns) for file in self.files]
        if not all(settled):
            # The files may change once more without their state showing it: never to be taken for these.
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
        """Note this generation as the latest, and let those go that came before the last few."""
        latest = self.cache.read(_LATEST)
        before = [] if latest is None else array_at(latest[1], "generation").to_pylist()
        known = list(dict.fromkeys([self.generation, *before]))
        self.write(_LATEST, {"generation": array_of(known[:MOST_GENERATIONS], pa.string())})
        for generation in known[MOST_GENERATIONS:]:
            self.cache.drop(f"dataset {generation}")

    def read(self, name: str, file: Numbers, ordinal: Numbers) -> Kept | None:
        """Return the entry of a name; `file` and `ordinal` are those of the current row groups."""
        stored = self.cache.read(name)
        if stored is None:
            return None
        generation, batch = stored
        dataset = self._dataset(generation)
        if dataset is None:
            return None
        if generation == self.generation:
            return Kept(batch, np.arange(len(file)))
        like = self._files_in(generation, dataset)[file]
        first = numbers_at(dataset, "first")
        return Kept(batch, np.where(like >= 0, first[like] + ordinal, -1))

    def recall(self, name: str, among: bytes = b"") -> Any | None:
        """Return the entry of a name in memory for the unchanged files; `among`: which of a table's files they are."""
        decoded = self.cache.cache.decoded
        return None if decoded is None else decoded.get(self._key(name, self.generation, among))

    def remember(self, name: str, value: Any, among: bytes = b"") -> None:
        """Keep a value in memory, unless the files may change without its showing."""
        decoded = self.cache.cache.decoded
        if decoded is not None and self.is_settled:
            decoded.put(self._key(name, self.generation, among), value, bytes_of(value))

    def _key(self, name: str, generation: str, among: bytes) -> tuple[str, str, bytes, str]:
        return str(self.cache.directory), generation, among, name

    def finish(self) -> None:
        """Make room for what was kept."""
        if self.changed:
            self.cache.cache.make_room()
            self.changed = False

    def write(self, name: str, values: Mapping[str, Any]) -> None:
        """Keep arrays of the row groups of today under a name."""
        self.cache.write(name, self.generation, values)
        self.changed = True


def _encoded(path: str) -> bytes:
    """Return the cache key of a path: the hash of an address, as addresses may contain keys or signatures."""
    # A path of this machine need not be text.
    encoded = path.encode(errors="surrogateescape")
    return blake2b(encoded, digest_size=16).digest() if "://" in path else encoded


def _state(file: DataFile) -> tuple[bytes, int, int, int, str]:
    return _encoded(file.path), file.size, file.modified_ns, file.changed_ns, file.etag or ""


@dataclass(frozen=True, slots=True)
class KeptColumns:
    """What is kept of columns, as arrays on disk and decoded in memory; `stored` is None without a cache."""

    groups: RowGroupTable
    stored: StoredIndex | None

    def recall(self, name: str, *, on_disk: bool = True) -> Any | None:
        """Return the entry of a name in memory; of an entry that is also `on_disk`, None if it was deleted there."""
        if self.stored is None or (found := self.stored.recall(name, self._among())) is None:
            return None
        # Marked as used there, it stays for the next process.
        return found if not on_disk or self.stored.cache.mark(name) else None

    def remember(self, name: str, value: Any) -> None:
        """Keep in memory what will not change any more."""
        if self.stored is not None:
            self.stored.remember(name, value, self._among())

    def _among(self) -> bytes:
        """Tell those files apart that something is read of: row groups are counted among all."""
        opened = self.groups.opened
        return b"" if opened is None else len(opened).to_bytes(8) + np.packbits(opened).tobytes()

    def name(self, what: str, column: LeafColumn) -> str:
        """Name what is kept of a column, by what it is called in files and how they store it."""
        names = self.groups.names
        paths = names.of(column.path)
        if names.numbers is not None:
            what = f"{what} {names.numbers.get(column.path)}"
        if paths == (column.path,):
            return _name(what, column)
        # What a column is called may change, and another may get its name.
        return "\x00".join([_name(what, column), *(part for path in paths for part in ("", *path))])

    def read(self, name: str) -> Kept | None:
        """Return the entry of a name, with the position of each row group in it: -1 for one that is absent."""
        if self.stored is None:
            return None
        at = self.groups.read_from()
        kept = self.stored.read(name, self.groups.opened_files(at), self.groups.ordinal[at])
        if kept is None or len(at) == len(self.groups):
            return kept
        positions = np.full(len(self.groups), -1, np.int64)
        positions[at] = kept.groups
        return kept._replace(groups=positions)

    def write(self, name: str, values: Mapping[str, Any]) -> None:
        """Keep arrays of the row groups that something is read of."""
        if self.stored is not None:
            self.stored.write(name, values)

    def finish(self) -> None:
        """Make room for what was kept."""
        if self.stored is not None:
            self.stored.finish()


def _name(what: str, column: LeafColumn) -> str:
    """Name what is kept of a column: of one stored otherwise, other bounds would be believed."""
    form = f"{column.physical} {column.type_length} {column.type} {column.max_definition_level} {column.may_be_filled}"
    return "\x00".join([what, form, str(column.max_repetition_level), *column.path])
