"""Replay: the newest word on each file, on the table, on each application and domain.

A file is known by its canonical path and its deletion vector. What the files after the checkpoint say of it goes
before what the checkpoint says.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.file_block import ChosenStatistics, FileBlock, Texts, block_of_adds, identities
from deltalog.paths import canonical_path, match_any
from parquet_core.arrow_arrays import from_numpy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from deltalog.actions import Add, DeletionVector, DomainMetadata, Line, Metadata, Protocol, Remove, Transaction

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

    def take(self, lines: Sequence[Line]) -> None:
        """Take the lines of the next older commit; of one commit the last word counts."""
        for line in reversed(lines):
            if line.add is not None:
                key = key_of(line.add.path, line.add.deletion_vector)
                if key not in self.added and key not in self.removed:
                    self.added[key] = line.add
            elif line.remove is not None:
                key = key_of(line.remove.path, line.remove.deletion_vector)
                if key not in self.added and key not in self.removed:
                    self.removed[key] = line.remove
            else:
                self._take_other(line)

    def _take_other(self, line: Line) -> None:
        if line.protocol is not None and self.protocol is None:
            self.protocol = line.protocol
        if line.meta_data is not None and self.metadata is None:
            self.metadata = line.meta_data
        if line.txn is not None:
            self.transactions.setdefault(line.txn.app_id, line.txn)
        if line.domain_metadata is not None:
            self.domains.setdefault(line.domain_metadata.domain, line.domain_metadata)


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
    said = {*tail.added, *tail.removed}
    shadowed: dict[str, set[str | None]] = {}
    for path, identity in said:
        shadowed.setdefault(path, set()).add(identity)
    paths = pa.array(list(shadowed), pa.string())
    blocks = []
    for block in checkpoint:
        kept = ~_shadowed(block, shadowed, paths)
        blocks.append(block if kept.all() else filter_block(block, kept))
    blocks, twice = _without_repeats(blocks)
    adds = list(reversed(tail.added.values()))
    blocks += [block_of_adds(adds)] if adds else []
    return tuple(block for block in blocks if len(block)), twice


def _shadowed(block: FileBlock, shadowed: dict[str, set[str | None]], paths: pa.Array) -> NDArray[np.bool_]:
    """Tell of which files the commits have spoken."""
    found = match_any(block.path, paths)
    at = np.flatnonzero(found)
    if len(at):
        names = block.path.take(from_numpy(at)).to_pylist()
        vectors = [None] * len(at) if block.vectors is None else _identities(block.vectors.take(from_numpy(at)))
        found[at] = [vector in shadowed[name] for name, vector in zip(names, vectors, strict=True)]
    return found


def _identities(vectors: pa.StructArray) -> list[str | None]:
    found: list[str | None] = identities(vectors).to_pylist()
    return found


def _without_repeats(blocks: list[FileBlock]) -> tuple[list[FileBlock], int]:
    """Leave one of what a checkpoint lists twice."""
    if not blocks:
        return blocks, 0
    paths = pa.chunked_array([block.path for block in blocks], pa.string())
    if pc.count_distinct(paths).as_py() == len(paths):
        return blocks, 0
    seen: set[Key] = set()
    kept_blocks, twice = [], 0
    for block in blocks:
        vectors = [None] * len(block) if block.vectors is None else _identities(block.vectors)
        keys = list(zip(block.path.to_pylist(), vectors, strict=True))
        kept = np.ones(len(block), np.bool_)
        for i, key in enumerate(keys):
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
