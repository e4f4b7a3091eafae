"""Log replay: the newest action per file, protocol, metadata, transactions and domains.

Files are identified by canonical path and deletion vector. Commits after the checkpoint override the checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import pyarrow.compute as pc

from deltalog.log.actions import Add
from deltalog.log.commit_file import read_commits
from deltalog.log.file_block import FileBlock, Texts, block_of_adds, identities
from deltalog.log.path_fingerprints import may_repeat
from deltalog.log.paths import canonical_path, path_array
from parquet_core.arrow_arrays import flags_from, from_numpy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from deltalog.log.actions import DeletionVector, DomainMetadata, Line, Metadata, Protocol, Remove, Transaction
    from deltalog.log.commit_file import AnyLine
    from parquet_core.storage import DataFile, Traffic

    Key = tuple[str, str | None]


@dataclass(slots=True)
class Tail:
    """Net effect of the commits after a checkpoint.

    Commits are added from the newest to the oldest.
    `most_deleted`: largest number of deleted rows of a file in any action, by path.
    """

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: dict[str, Transaction] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)
    added: dict[Key, Add] = field(default_factory=dict)
    removed: dict[Key, Remove] = field(default_factory=dict)
    most_deleted: dict[str, int] = field(default_factory=dict)

    def take(self, lines: Sequence[Line]) -> None:
        """Add the lines of the next older commit; within one commit the last line wins."""
        for line in reversed(lines):
            action = line.add if line.add is not None else line.remove
            if action is None:
                self._take_other(line)
                continue
            key = key_of(action.path, action.deletion_vector)
            if key not in self.added and key not in self.removed:
                if isinstance(action, Add):
                    self.added[key] = action
                else:
                    self.removed[key] = action
            if action.deletion_vector is not None:
                deleted = self.most_deleted.get(key[0], 0)
                self.most_deleted[key[0]] = max(deleted, action.deletion_vector.cardinality)

    def take_earlier(self, earlier: Tail) -> None:
        """Merge the state before these commits, except its files.

        If both have an entry, the entry of these commits wins.
        """
        self.protocol = earlier.protocol if self.protocol is None else self.protocol
        self.metadata = earlier.metadata if self.metadata is None else self.metadata
        self.transactions = earlier.transactions | self.transactions
        self.domains = earlier.domains | self.domains
        for path, deleted in earlier.most_deleted.items():
            self.most_deleted[path] = max(deleted, self.most_deleted.get(path, 0))

    def live(self) -> list[Add]:
        """Return the added files, oldest first.

        If an earlier deletion vector of a file had more rows than the current one, rows were restored. The statistics
        may describe only the rows that were live in between, so the statistics are dropped.
        """
        if not self.most_deleted:
            return list(reversed(self.added.values()))
        return [
            msgspec.structs.replace(add, stats=None) if _deleted(add) < self.most_deleted.get(path, 0) else add
            for (path, _), add in reversed(self.added.items())
        ]

    def _take_other(self, line: Line) -> None:
        if line.protocol is not None and self.protocol is None:
            self.protocol = line.protocol
        if line.meta_data is not None and self.metadata is None:
            self.metadata = line.meta_data
        if line.txn is not None:
            self.transactions.setdefault(line.txn.app_id, line.txn)
        if line.domain_metadata is not None:
            self.domains.setdefault(line.domain_metadata.domain, line.domain_metadata)


def read_tail(commits: Sequence[DataFile], decoder: msgspec.json.Decoder[AnyLine], traffic: Traffic) -> Tail:
    """Read commits, given from the oldest to the newest. Raises as `read_commits`."""
    tail = Tail()
    for lines in read_commits(commits[::-1], decoder, traffic=traffic):
        tail.take([*lines])
    return tail


def without_adds(tail: Tail) -> Tail:
    """Return a tail without its added files."""
    return replace(tail, added={})


def _deleted(add: Add) -> int:
    return 0 if add.deletion_vector is None else add.deletion_vector.cardinality


def key_of(path: str, vector: DeletionVector | None) -> Key:
    """Return the replay key of a file: canonical path and deletion vector identity.

    >>> key_of("file:///t/a%20b", None)
    ('/t/a b', None)
    """
    return canonical_path(path), None if vector is None else vector.identity


class Live(NamedTuple):
    """Live files of a version.

    `repeated_files`: number of files that the checkpoint repeats.
    """

    blocks: tuple[FileBlock, ...]
    repeated_files: int = 0


def live_blocks(tail: Tail, checkpoint: Iterable[FileBlock]) -> Live:
    """Return the live files, checkpoint files first."""
    blocks, twice = _without_repeats(_without_changed_files(tail, checkpoint))
    return Live(_with_adds(blocks, tail), twice)


def apply_commits(tail: Tail, before: Sequence[FileBlock], earlier: Tail) -> tuple[FileBlock, ...] | None:
    """Return the live files after further commits, and merge `earlier` into `tail`.

    Returns None if the commits change the deletion vector of a live file: all commits are then needed to determine
    whether the file's statistics can be trusted.
    """
    left = _without_changed_files(tail, before)
    if tail.most_deleted:
        paths = path_array(list(tail.most_deleted))
        if any(pc.any(pc.is_in(block.path, value_set=paths)).as_py() for block in left):
            return None
    tail.take_earlier(earlier)
    return _with_adds(left, tail)


def _with_adds(blocks: Sequence[FileBlock], tail: Tail) -> tuple[FileBlock, ...]:
    adds = tail.live()
    return tuple(block for block in (*blocks, *([block_of_adds(adds)] if adds else ())) if len(block))


def _without_changed_files(tail: Tail, blocks: Iterable[FileBlock]) -> list[FileBlock]:
    """Return the blocks without the files that the commits in `tail` add or remove."""
    changed = path_array([path for path, _ in chain(tail.added, tail.removed)])
    return [_drop_changed_files(block, tail, changed) if len(changed) else block for block in blocks]


def _drop_changed_files(block: FileBlock, tail: Tail, changed: pa.Array) -> FileBlock:
    rows = np.flatnonzero(flags_from(pc.is_in(block.path, value_set=changed)))
    gone = [key in tail.added or key in tail.removed for key in _keys(block, rows)]
    if not any(gone):
        return block
    remaining = np.ones(len(block), np.bool_)
    remaining[rows[gone]] = False
    return filter_block(block, remaining)


def _keys(block: FileBlock, rows: NDArray[np.int64]) -> list[Key]:
    row_array = from_numpy(rows)
    vectors = [None] * len(rows) if block.vectors is None else identities(block.vectors.take(row_array)).to_pylist()
    return list(zip(block.path.take(row_array).to_pylist(), vectors, strict=True))


def _without_repeats(blocks: list[FileBlock]) -> tuple[list[FileBlock], int]:
    """Drop files that a checkpoint repeats; also return how many were dropped."""
    doubtful = may_repeat([block.path for block in blocks])
    if doubtful is None:
        return blocks, 0
    seen: set[Key] = set()
    left = []
    for block, doubt in zip(blocks, np.split(doubtful, np.cumsum([*map(len, blocks)])[:-1]), strict=True):
        remaining, rows = ~doubt, np.flatnonzero(doubt)
        for i, key in zip(rows.tolist(), _keys(block, rows), strict=True):
            remaining[i] = key not in seen
            seen.add(key)
        left.append(block if remaining.all() else filter_block(block, remaining))
    return left, sum(map(len, blocks)) - sum(map(len, left))


def filter_block(block: FileBlock, remaining: NDArray[np.bool_]) -> FileBlock:
    """Return a block with only the flagged files."""
    flags = from_numpy(remaining)
    return replace(
        block,
        path=block.path.filter(flags),
        written=None if block.written is None else block.written.filter(flags),
        size=block.size[remaining],
        modified=block.modified[remaining],
        partition={name: Texts(coded.codes[remaining], coded.values) for name, coded in block.partition.items()},
        vectors=None if block.vectors is None else block.vectors.filter(flags),
        statistics=block.statistics.take(np.flatnonzero(remaining)),
        position=None if block.position is None else block.position[remaining],
    )
