"""A version of a table with its files and metadata, and the cost of reading it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from deltalog.log.replay import Tail
from deltalog.table.state import TableVersion
from parquet_core.arrow_arrays import from_numpy

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from deltalog.log.checkpoint_file import CheckpointFile
    from deltalog.log.file_block import FileBlock
    from deltalog.snapshot.write_cache import CachedSnapshot
    from parquet_core.storage import DataFile


@dataclass(frozen=True, slots=True)
class Snapshot(TableVersion):
    """A version of a table, as `open_snapshot` returns it.

    >>> import deltalog
    >>> snapshot = deltalog.open_snapshot(table)
    >>> snapshot.version, snapshot.file_count, len(snapshot.paths())
    (1, 1, 1)

    `blocks`: the live files. Positions of files count from 0 over all blocks, in order.
    `notes`: defects of the log that did not affect the files.
    `opened`: the log files that were read.
    `allow`: locations outside of the table where files may be.
    """

    blocks: tuple[FileBlock, ...]
    notes: tuple[str, ...]
    opened: tuple[DataFile, ...]
    seconds: float
    allow: tuple[str, ...] = ()
    _tail: Tail = field(default_factory=Tail)
    _checkpoint: tuple[CheckpointFile, ...] = ()
    _cached: CachedSnapshot | None = None

    @property
    def file_count(self) -> int:
        """Number of live files."""
        return sum(map(len, self.blocks))

    @property
    def total_bytes(self) -> int:
        """Total size of the live files in bytes, as stated in the log."""
        return sum(int(block.size.sum()) for block in self.blocks)

    def paths(self, wanted: NDArray[np.bool_] | None = None) -> list[str]:
        """Return the canonical paths of all files, or of the flagged ones."""
        return [path for array in self._each_path(wanted) for path in array.to_pylist()]

    def _each_path(self, wanted: NDArray[np.bool_] | None) -> list[pa.Array]:
        if wanted is None:
            return [block.path for block in self.blocks]
        ends = np.cumsum([len(block) for block in self.blocks])[:-1]
        parts = np.split(wanted, ends) if self.blocks else []
        return [block.path.filter(from_numpy(part)) for block, part in zip(self.blocks, parts, strict=True)]

    def settle(self) -> None:
        """Make statistics that queries have parsed available to later queries."""
        if self._cached is not None:
            self._cached.settle()

    def save(self) -> None:
        """Write newly read data of the log to the disk cache, if there is one."""
        if self._cached is not None:
            self._cached.save(self)
