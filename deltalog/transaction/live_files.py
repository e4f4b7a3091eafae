"""Find live files with their paths as written, which `remove` actions repeat.

Other readers compare the exact text of paths, and writers encode paths differently. So a `remove` repeats the text of
the `add`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.errors import RefusedCommit
from deltalog.log.actions import DeletionVector
from deltalog.log.file_block import ABSENT
from deltalog.log.paths import path_array
from parquet_core.arrow_arrays import flags_from, from_numpy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deltalog.log.file_block import FileBlock
    from deltalog.snapshot.snapshot import Snapshot


class LiveFile(NamedTuple):
    """A live file: canonical path, path as written, and other fields that a `remove` repeats."""

    path: str
    spelling: str
    partition_values: dict[str, str | None]
    size: int
    vector: DeletionVector | None


def live_files(snapshot: Snapshot, paths: Sequence[str]) -> list[LiveFile]:
    """Return live files by canonical path. Raises RefusedCommit, naming a file, if one is not live."""
    if not paths:
        return []
    wanted = path_array(sorted(set(paths)))
    chosen = _among(snapshot.blocks, wanted)
    files = [
        file for block, here in zip(snapshot.blocks, chosen, strict=True) for file in _live_files_of_block(block, here)
    ]
    missing = set(paths) - {file.path for file in files}
    if missing:
        raise RefusedCommit(
            f"{snapshot.table}: {min(missing)} is not a live file of version {snapshot.version} ({len(missing)} such); "
            "open the table again and give paths as its snapshot does"
        )
    return files


def _among(blocks: Sequence[FileBlock], wanted: pa.Array) -> list[NDArray[np.bool_]]:
    """Return flags of wanted files per block; one look-up for all blocks is faster."""
    if not blocks:
        return []
    here = flags_from(pc.is_in(pa.concat_arrays([block.path for block in blocks]), value_set=wanted))
    return np.split(here, np.cumsum([len(block) for block in blocks])[:-1])


def _live_files_of_block(block: FileBlock, here: NDArray[np.bool_]) -> Iterator[LiveFile]:
    rows = np.flatnonzero(here)
    row_array = from_numpy(rows)
    paths, written = (array.take(row_array).to_pylist() for array in (block.path, block.written_paths()))
    vectors = [None] * len(rows) if block.vectors is None else block.vectors.take(row_array).to_pylist()
    values = _partition_values(block, rows)
    for path, spelling, size, of_file, vector in zip(
        paths, written, block.size[rows].tolist(), values, vectors, strict=True
    ):
        yield LiveFile(
            path, spelling, of_file, size, None if vector is None else msgspec.convert(vector, DeletionVector)
        )


def _partition_values(block: FileBlock, rows: NDArray[np.intp]) -> list[dict[str, str | None]]:
    """Return the partition values of some files as in the log: missing entries stay missing."""
    values: list[dict[str, str | None]] = [{} for _ in rows]
    for name, coded in block.partition.items():
        # NULL (-1) indexes the last entry.
        values_by_code = [*coded.values.to_pylist(), None]
        for of_file, code in zip(values, coded.codes[rows].tolist(), strict=True):
            if code != ABSENT:
                of_file[name] = values_by_code[code]
    return values
