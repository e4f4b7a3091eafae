"""Live files of a version as `remove` actions name them.

Other readers know a file by the very text of its path, and writers encode paths in their own ways: a `remove` repeats
what the `add` wrote, which is read from the log again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow.compute as pc

from deltalog.actions import DeletionVector
from deltalog.commits import decode_commit
from deltalog.errors import RefusedCommit
from deltalog.file_block import ABSENT
from deltalog.paths import canonical_paths
from deltalog.texts import path_array
from parquet_core.arrow_arrays import flags_from, from_numpy
from parquet_core.storage import read_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from deltalog.file_block import FileBlock
    from deltalog.snapshot import Snapshot


class LiveFile(NamedTuple):
    """A live file: its canonical path, its path as written, and what else a `remove` repeats."""

    path: str
    spelling: str
    partition_values: dict[str, str | None]
    size: int
    vector: DeletionVector | None


def live_files(snapshot: Snapshot, paths: Sequence[str]) -> list[LiveFile]:
    """Find live files by their canonical paths; RefusedCommit names one that is not live."""
    if not paths:
        return []
    wanted = path_array(sorted(set(paths)))
    spelled = _spellings(snapshot, wanted)
    found = [file for block in snapshot.blocks for file in _of_block(block, wanted, spelled)]
    missing = set(paths) - {file.path for file in found}
    if missing:
        raise RefusedCommit(
            f"{snapshot.table}: {min(missing)} is no live file of version {snapshot.version} ({len(missing)} such); "
            "open the table again and give paths as its snapshot does"
        )
    return found


def _of_block(block: FileBlock, wanted: pa.Array, spelled: dict[str, str]) -> Iterator[LiveFile]:
    at = np.flatnonzero(flags_from(pc.is_in(block.path, value_set=wanted)))
    paths = block.path.take(from_numpy(at)).to_pylist()
    vectors = [None] * len(at) if block.vectors is None else block.vectors.take(from_numpy(at)).to_pylist()
    texts = {name: ([*values.values.to_pylist()], values.codes) for name, values in block.partition.items()}
    for i, path, vector in zip(at.tolist(), paths, vectors, strict=True):
        yield LiveFile(
            path=path,
            spelling=spelled[path],
            partition_values={
                name: values[codes[i]] if codes[i] >= 0 else None
                for name, (values, codes) in texts.items()
                if codes[i] != ABSENT
            },
            size=int(block.size[i]),
            vector=None if vector is None else _vector(vector),
        )


def _vector(said: dict[str, object]) -> DeletionVector:
    return DeletionVector(
        storage_type=str(said["storageType"]),
        path_or_inline_dv=str(said["pathOrInlineDv"]),
        size_in_bytes=int(str(said["sizeInBytes"])),
        cardinality=int(str(said["cardinality"])),
        offset=None if said["offset"] is None else int(str(said["offset"])),
    )


def _spellings(snapshot: Snapshot, wanted: pa.Array) -> dict[str, str]:
    """Return the path of each file as its last `add` wrote it."""
    found: dict[str, str] = {}
    for written in _written_paths(snapshot):
        canonical = canonical_paths(written)
        chosen = pc.is_in(canonical, value_set=wanted)
        for path, spelling in zip(
            canonical.filter(chosen).to_pylist(), written.filter(chosen).to_pylist(), strict=True
        ):
            found.setdefault(path, spelling)
        if len(found) == len(wanted):
            break
    return found


def _written_paths(snapshot: Snapshot) -> Iterator[pa.Array]:
    """Yield the paths of `add` actions as written, the newest first."""
    newest_first = [file for _, _, file in snapshot.segment.tail[::-1]]
    whole = read_whole(newest_first, purpose="log", traffic=snapshot.traffic)
    for file, data in zip(newest_first, whole, strict=True):
        yield path_array([line.add.path for line in decode_commit(data, file=file)[::-1] if line.add is not None])
    for checkpoint in snapshot._checkpoint:  # noqa: SLF001 - its files are no business of who asks for live files
        yield from map(checkpoint.written_paths, checkpoint.row_groups())
