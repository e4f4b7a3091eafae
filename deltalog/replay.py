"""Replay: the newest word on each file, on the table, on each application and domain.

A file is known by its canonical path and its deletion vector. What the files after the checkpoint say of it goes
before what the checkpoint says.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from deltalog.actions import Add
from deltalog.file_block import ChosenStatistics, FileBlock, Texts, block_of_adds, identities
from deltalog.fingerprints import fingerprints, repeated
from deltalog.paths import canonical_path
from deltalog.texts import path_array
from parquet_core.arrow_arrays import from_numpy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from deltalog.actions import DeletionVector, DomainMetadata, Line, Metadata, Protocol, Remove, Transaction
    from deltalog.fingerprints import Fingerprints

    Key = tuple[str, str | None]


@dataclass(slots=True)
class Tail:
    """What the commits after a checkpoint say in the end, gathered from the newest to the oldest."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: dict[str, Transaction] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)
    added: dict[Key, Add] = field(default_factory=dict)
    removed: dict[Key, Remove] = field(default_factory=dict)
    most_deleted: dict[str, int] = field(default_factory=dict)

    def take(self, lines: Sequence[Line]) -> None:
        """Take the lines of the next older commit; of one commit the last word counts."""
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

    def live(self) -> list[Add]:
        """Return the files that were added, the oldest first.

        Where a file had more deleted rows before than it has now, rows came back: its statistics may be those of the
        rows that were left in between, and are forgotten.
        """
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


def _deleted(add: Add) -> int:
    return 0 if add.deletion_vector is None else add.deletion_vector.cardinality


def contradiction(lines: Sequence[Line]) -> str:
    """Say of which file actions speak twice, empty when of none: then their order says nothing."""
    seen: set[Key] = set()
    for line in lines:
        action = line.add if line.add is not None else line.remove
        if action is not None:
            key = key_of(action.path, action.deletion_vector)
            if key in seen:
                return action.path
            seen.add(key)
    return ""


def key_of(path: str, vector: DeletionVector | None) -> Key:
    """Return what a file is known by.

    >>> key_of("file:///t/a%20b", None)
    ('/t/a b', None)
    """
    return canonical_path(path), None if vector is None else vector.identity


def live_blocks(tail: Tail, checkpoint: Iterable[FileBlock]) -> tuple[tuple[FileBlock, ...], int]:
    """Return the live files, those of the checkpoint first, and how many of them were there twice."""
    shadowed: dict[str, set[str | None]] = {}
    for path, identity in (*tail.added, *tail.removed):
        shadowed.setdefault(path, set()).add(identity)
    spoken_of = fingerprints(path_array(list(shadowed)))
    blocks, marks = [], []
    for block in checkpoint:
        numbers = fingerprints(block.path)
        kept = ~_shadowed(block, numbers, shadowed, spoken_of)
        blocks.append(block if kept.all() else filter_block(block, kept))
        marks.append(numbers[kept])
    blocks, twice = _without_repeats(blocks, marks)
    adds = tail.live()
    blocks += [block_of_adds(adds)] if adds else []
    return tuple(block for block in blocks if len(block)), twice


def _shadowed(
    block: FileBlock, numbers: Fingerprints, shadowed: dict[str, set[str | None]], spoken_of: Fingerprints
) -> NDArray[np.bool_]:
    """Tell of which files the commits have spoken."""
    found = np.isin(numbers, spoken_of) if len(spoken_of) else np.zeros(len(numbers), np.bool_)
    at = np.flatnonzero(found)
    if len(at):
        keys = _keys(block, at)
        found[at] = [path in shadowed and vector in shadowed[path] for path, vector in keys]
    return found


def _keys(block: FileBlock, at: NDArray[np.int64]) -> list[Key]:
    some = from_numpy(at)
    vectors = [None] * len(at) if block.vectors is None else identities(block.vectors.take(some)).to_pylist()
    return list(zip(block.path.take(some).to_pylist(), vectors, strict=True))


def _without_repeats(blocks: list[FileBlock], marks: list[Fingerprints]) -> tuple[list[FileBlock], int]:
    """Leave one of what a checkpoint lists twice."""
    doubtful = repeated(np.concatenate(marks)) if marks else np.zeros(0, np.bool_)
    if not doubtful.any():
        return blocks, 0
    seen: set[Key] = set()
    kept_blocks, twice = [], 0
    for block, doubt in zip(blocks, np.split(doubtful, np.cumsum([len(mark) for mark in marks])[:-1]), strict=True):
        kept = np.ones(len(block), np.bool_)
        at = np.flatnonzero(doubt)
        for i, key in zip(at.tolist(), _keys(block, at), strict=True):
            kept[i] = key not in seen
            seen.add(key)
        twice += int((~kept).sum())
        kept_blocks.append(block if kept.all() else filter_block(block, kept))
    return kept_blocks, twice


def filter_block(block: FileBlock, kept: NDArray[np.bool_]) -> FileBlock:
    """Return a block of the files that are kept."""
    flags = from_numpy(kept)
    return replace(
        block,
        path=block.path.filter(flags),
        size=block.size[kept],
        modified=block.modified[kept],
        partition={name: Texts(texts.codes[kept], texts.values) for name, texts in block.partition.items()},
        vectors=None if block.vectors is None else block.vectors.filter(flags),
        statistics=ChosenStatistics(block.statistics, np.flatnonzero(kept), len(kept)),
    )
