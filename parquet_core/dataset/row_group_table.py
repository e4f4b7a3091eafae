"""Files and row groups of a dataset as arrays."""

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
    """Row groups of all files of a dataset.

    For each row group:
    `file`: the index of its file.
    `ordinal`: its number in the file; -1 for the one row group of an unopened file.
    `row_count`: its number of rows; 1 if unknown, because the row group may not be empty.
    `doubts`: distrusted claims about the whole row group.
    `uncounted`: True if its row count is unknown. `uncounted` is None if exactly the row groups of
    unopened files have unknown row counts.

    For each file:
    `provenance_ids`: the index in `provenances` of its schema, writer and column orders.
    `opened`: False if a log or directory names exclude the file, so that its footer was not read. `opened` is None if
    all files were opened.
    `deleted`: True if some of its rows are deleted. `deleted` is None if no row is deleted.

    `columns`: leaves of the file from which Spark takes the schema (`summary`, if that file contains no data). A column
    that a directory name overrides is marked as unsupported for pruning.
    `partition_values`: one value per file for each column of `partitions`, by path; columns with uncertain values are
    missing.
    `names`: the names of the columns in files.
    """

    files: Sequence[DataFile]
    provenances: tuple[Provenance, ...]
    provenance_ids: Positions
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
        """Replace the row counts, for example by the counts in a log for unopened files."""
        self.row_count, self.uncounted = row_count, uncounted

    def place(self, position: int, column: LeafColumn) -> str:
        """Return the location of a column chunk for messages."""
        path = self.files[int(self.file[position])].path
        return f"{path}: row group {self.ordinal[position]}, column {column.name!r}"

    def name_in_files(self, column: LeafColumn) -> str:
        """Return the dotted path of a column in files."""
        return ".".join(self.names.of(column.path)[0])

    def provenance(self, position: int) -> Provenance:
        """Return the schema and writer of a row group's file."""
        return self.provenances[int(self.provenance_ids[self.file[position]])]

    def distinct_provenances(self) -> list[Provenance]:
        """Return the distinct schemas and writers of the files."""
        return [self.provenances[i] for i in np.unique(self.provenance_ids).tolist()]

    def sizes_of_files(self) -> Positions:
        """Return the size of each file in bytes."""
        if isinstance(self.files, FileList):
            return self.files.sizes
        return np.array([file.size for file in self.files], np.int64)

    def has_rows(self, row_count: Positions, positions: Positions) -> bool:
        """Return True if row counts that were read again equal the counts of the row groups.

        Row groups with a distrusted row count match any count.
        """
        if len(row_count) != len(positions):
            return False
        believed = self.doubts[positions] & np.uint8(Doubt.ROWS) == 0
        return not np.any((self.row_count[positions] != row_count) & believed)

    def has_uncounted(self, chosen: NDArray[np.bool_]) -> bool:
        """Return True if any chosen row group has an unknown row count."""
        return bool(np.any(chosen & (self.ordinal < 0 if self.uncounted is None else self.uncounted)))

    def read_from(self) -> Positions:
        """Return the positions of row groups in opened files."""
        return np.arange(len(self)) if self.opened is None else np.flatnonzero(self.opened[self.file])

    def opened_files(self, positions: Positions) -> Positions:
        """Return, for each row group, the index of its file among opened files."""
        file = self.file[positions]
        return file if self.opened is None else (np.cumsum(self.opened) - 1)[file]

    def trusts(self, column: LeafColumn) -> list[Trust]:
        """Return, for each provenance (schema and writer), a `Trust` in the column that is valid for every chunk."""
        return [trust(column, provenance) for provenance in self.provenances]

    def chunk_trusts(
        self, column: LeafColumn, chunks: ColumnChunks, positions: Positions, *, believing: bool = False
    ) -> tuple[list[Trust], Positions]:
        """Return the distinct `Trust` objects of a column's chunks, and for each chunk the index of its `Trust`.

        `chunks`: the chunks of the row groups at `positions`.
        `believing`: True to trust writers despite their known faults.
        """
        trusts = [trust(column, provenance, believing=believing) for provenance in self.provenances]
        of_chunks = self.provenance_ids[self.file[positions]]
        if not any(fault.only_in for trust in trusts for fault in trust.faults):
            return trusts, of_chunks
        by_traits = [
            trust(column, provenance, traits=ChunkTraits(traits), believing=believing)
            for traits in range(ALL_TRAITS + 1)
            for provenance in self.provenances
        ]
        return by_traits, chunks.traits() * len(self.provenances) + of_chunks

    def has_several_types(self, column: LeafColumn) -> bool:
        """Return True if some files store the column in another type, which Spark converts."""
        return any(trust.stored is not None for trust in self.trusts(column))

    def stored_as(self, column: LeafColumn, positions: Positions) -> list[tuple[LeafColumn, Positions]]:
        """Return the leaves in which files store a column, one per type, each with its row groups among `positions`.

        Row groups whose file lacks the column, or stores it in a type that is not readable as the column, are grouped
        with the column itself.
        """
        stored = [leaf_as_read(column, provenance) for provenance in self.provenances]
        leaves = {stored_form(leaf): leaf for leaf in stored if leaf is not None} | {stored_form(column): column}
        number = {form: i for i, form in enumerate(leaves)}
        forms = [number[stored_form(column if leaf is None else leaf)] for leaf in stored]
        of = np.array(forms, np.int64)[self.provenance_ids[self.file[positions]]]
        parts = [(leaf, positions[of == i]) for i, leaf in enumerate(leaves.values())]
        return [(leaf, at) for leaf, at in parts if len(at)]
