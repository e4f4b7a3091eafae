"""The files and row groups of a dataset, columnar: which file a row group lies in, its rows, who wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.dataset.logged import FileList
from parquet_core.format.column_chunk import ALL_TRAITS, ChunkTraits
from parquet_core.spark_rules.columns_in_files import leaf_as_read
from parquet_core.spark_rules.type_promotion import stored_form
from parquet_core.trust.contradictions import Doubt
from parquet_core.trust.trust_policy import trust

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.arrays import Flags, Positions
    from parquet_core.format.column_chunk import ColumnChunks
    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.spark_rules.names_in_files import NamesInFiles
    from parquet_core.storage import DataFile, Traffic
    from parquet_core.trust.contradictions import Doubts
    from parquet_core.trust.trust_policy import Trust


@dataclass(slots=True, kw_only=True)
class RowGroupTable:
    """One entry per row group over all files, and what is known of the files.

    `file`, `ordinal` and `row_count` have one entry per row group: index of its file, its number in
    the file, its rows. `kind`, by file, is an index in `kinds`: schema, writer and orders. `columns` are those
    of the file that Spark takes the schema from; a column that a directory name overrides is marked as not to
    be pruned on. `partition_values` has, by path of those `partitions` that are certain, the value in each
    file. `summary`: that file, if it holds no data. `opened`, by file: of the others, which a log or directory
    names rule out, nothing was read; each stands there as one row group of number -1. None when all were.
    `deleted`, by file: where some rows no longer count. None where all do. `doubts`: what each row group says of itself
    as a whole that is not believed. `names`: what files call the columns. `uncounted`: the row groups of which nothing
    tells the rows; None for those of all files that were not opened. They count as one row, as they may not be empty.
    """

    files: Sequence[DataFile]
    kinds: tuple[Provenance, ...]
    kind: Positions
    columns: tuple[LeafColumn, ...]
    partitions: tuple[LeafColumn, ...]
    summary: DataFile | None
    traffic: Traffic
    file: Positions
    ordinal: Positions
    row_count: Positions
    doubts: Doubts
    partition_values: dict[Path, pa.Array]
    names: NamesInFiles
    opened: NDArray[np.bool_] | None = None
    deleted: NDArray[np.bool_] | None = None
    uncounted: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.row_count)

    def put_row_count(self, row_count: Positions, uncounted: Flags) -> None:
        """Replace the row counts, as the log of a table counts the rows of files that were not opened."""
        self.row_count, self.uncounted = row_count, uncounted

    def place(self, position: int, column: LeafColumn) -> str:
        """Name a column of a row group in messages."""
        path = self.files[int(self.file[position])].path
        return f"{path}: row group {self.ordinal[position]}, column {column.name!r}"

    def name_in_files(self, column: LeafColumn) -> str:
        """Return the dotted path that files know a column by."""
        return ".".join(self.names.of(column.path)[0])

    def provenance(self, position: int) -> Provenance:
        """Return the schema and writer of a row group's file."""
        return self.kinds[int(self.kind[self.file[position]])]

    def kinds_of_files(self) -> list[Provenance]:
        """Return the distinct schemas and writers of the files; none if there are no files."""
        return [self.kinds[i] for i in np.unique(self.kind).tolist()]

    def sizes_of_files(self) -> Positions:
        """Return the bytes of each file."""
        if isinstance(self.files, FileList):
            return self.files.sizes
        return np.array([file.size for file in self.files], np.int64)

    def has_rows(self, row_count: Positions, positions: Positions) -> bool:
        """Tell whether footers that were read again have so many rows in the row groups at `positions`."""
        if len(row_count) != len(positions):
            return False
        believed = self.doubts[positions] & np.uint8(Doubt.ROWS) == 0
        return not np.any((self.row_count[positions] != row_count) & believed)

    def has_uncounted(self, chosen: NDArray[np.bool_]) -> bool:
        """Tell whether nothing tells the rows of some of the chosen row groups."""
        return bool(np.any(chosen & (self.ordinal < 0 if self.uncounted is None else self.uncounted)))

    def read_from(self) -> Positions:
        """Return the row groups that something is read of."""
        return np.arange(len(self)) if self.opened is None else np.flatnonzero(self.opened[self.file])

    def opened_files(self, positions: Positions) -> Positions:
        """Return the files of row groups, counted among those that were opened."""
        file = self.file[positions]
        return file if self.opened is None else (np.cumsum(self.opened) - 1)[file]

    def trusts(self, column: LeafColumn) -> list[Trust]:
        """Return the trust in a column by kind of file, the least that a chunk of such files deserves."""
        return [trust(column, kind) for kind in self.kinds]

    def judged(
        self, column: LeafColumn, chunks: ColumnChunks, positions: Positions, *, believing: bool = False
    ) -> tuple[list[Trust], Positions]:
        """Return the different trusts in the chunks of a column, and the index among them for each chunk.

        `chunks`: the chunks of the row groups at `positions`. `believing`: trust writers in spite of
        their known faults.
        """
        trusts = [trust(column, of_files, believing=believing) for of_files in self.kinds]
        kind = self.kind[self.file[positions]]
        if not any(fault.only_in for trust in trusts for fault in trust.faults):
            return trusts, kind
        by_traits = [
            trust(column, of_files, traits=ChunkTraits(traits), believing=believing)
            for traits in range(ALL_TRAITS + 1)
            for of_files in self.kinds
        ]
        return by_traits, chunks.traits() * len(self.kinds) + kind

    def has_several_types(self, column: LeafColumn) -> bool:
        """Tell whether a file stores the column in another type that Spark reads as the table's."""
        return any(trust.stored is not None for trust in self.trusts(column))

    def stored_as(self, column: LeafColumn, positions: Positions) -> list[tuple[LeafColumn, Positions]]:
        """Return the leaves that store a column, one a type, and which of the chosen row groups are theirs.

        Row groups of files that store it otherwise, or lack it, are with those of the column itself.
        """
        stored = [leaf_as_read(column, kind) for kind in self.kinds]
        leaves = {stored_form(leaf): leaf for leaf in stored if leaf is not None} | {stored_form(column): column}
        number = {form: i for i, form in enumerate(leaves)}
        forms = [number[stored_form(column if leaf is None else leaf)] for leaf in stored]
        of = np.array(forms, np.int64)[self.kind[self.file[positions]]]
        parts = [(leaf, positions[of == i]) for i, leaf in enumerate(leaves.values())]
        return [(leaf, at) for leaf, at in parts if len(at)]
