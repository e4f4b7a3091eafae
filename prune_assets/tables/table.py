"""Interface of a table for plans, reads and checks; each format implements it in its own package."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.pruning.file_answers import FileAnswers
    from parquet_core.pruning.predicate import Predicate
    from parquet_core.trust.bounds import Bounds
    from prune_assets.sql.lower import LoweredPredicate
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.declared_type import DeclaredType
    from prune_assets.tables.format import Format, Location


class Opening(Enum):
    """What Spark is given to open, if Spark lists the files of a table itself.

    One of: no files, paths of files, a pattern of file names, or the whole table.
    """

    NOTHING = auto()
    PATHS = auto()
    NAMES = auto()
    TABLE = auto()


@dataclass(frozen=True, slots=True)
class FilesToRead:
    """Files whose rows Spark reads.

    `files`: index numbers of the files, ascending.
    `opening`: what Spark is given to open, if Spark lists files itself.
    `options`: options of Spark's reader for this read only.
    `predicate`: the condition on rows, with the conditions of joins.
    `where`: the WHERE that Spark filters by.
    `is_text`: True if the WHERE was given as SQL text; Spark may evaluate a Column differently from its text.
    """

    index: MetadataIndex
    files: NDArray[np.int64]
    opening: Opening
    options: Mapping[str, str]
    predicate: Predicate
    where: LoweredPredicate
    is_text: bool


class DeletedRows(Protocol):
    """Rows that are deleted without a rewrite of their file. Objects can be pickled."""

    def read(self) -> NDArray[np.int64]:
        """Return the row numbers in the file, ascending."""


class FileConstants(NamedTuple):
    """Constants of a file.

    `values`: values of columns.
    `unknown`: for each column of unknown value, the reason.
    `deleted`: deleted rows of the file. None if it has none.
    """

    values: Mapping[str, pa.Scalar]
    unknown: Mapping[str, str]
    deleted: DeletedRows | None = None


class TablePart(Protocol):
    """Some files of a table, for another process. Objects can be pickled."""

    def read_all(self) -> MetadataIndex:
        """Read the footers; the files of this part are the last ones of the index."""


class TableDefaults(Protocol):
    """Members of `Table` with a default for all formats."""

    def declared_type(self, name: str) -> DeclaredType | None:  # noqa: ARG002 - default: no declared type
        """Return the declared type of a top-level column; None if only the files store it.

        Raises UnsupportedFeature for a type that Arrow lacks.
        """
        return None

    def file_bounds(self, path: Path) -> Bounds | None:  # noqa: ARG002 - default: no bounds
        """Return the bounds of a column in each file, from the log or manifests; None if missing."""
        return None

    def count_rows(self, index: MetadataIndex) -> None:  # noqa: ARG002 - default: nothing to fill in
        """Fill in row counts of unopened files (reports only; plans do not need them)."""
        return None  # noqa: RET501 - without it, mypy takes the method as abstract


class Table(TableDefaults, Protocol):
    """A table at one moment."""

    @property
    def format(self) -> Format:
        """Format of the table; implements what all tables of the format share."""

    @property
    def given(self) -> Location:
        """Location that opens the table; for a table in a catalog, the location in its entry."""

    @property
    def semantics(self) -> SparkSemantics:
        """Spark settings with which the table's columns were read."""

    @property
    def name(self) -> str:
        """Name of the table as the user gave it."""

    @property
    def version_number(self) -> int | None:
        """Number of the opened version; None for a table without versions."""

    @property
    def columns(self) -> Sequence[LeafColumn]:
        """Columns that a predicate may refer to."""

    @property
    def partitions(self) -> Sequence[LeafColumn]:
        """Columns with one value per file, known from the list of files."""

    def empty_frame(self, spark: SparkSession) -> DataFrame:
        """Return an empty DataFrame with the table's columns, to resolve expressions."""

    def answers(self, predicate: Predicate) -> FileAnswers:
        """Return the outcomes of a predicate for every file, without opening files."""

    def read(self, wanted: NDArray[np.bool_]) -> MetadataIndex:
        """Read the footers of the wanted files. The result may have footers of other files that were read before."""

    def read_all(self) -> MetadataIndex:
        """Read the footers of all files."""

    def open_in_spark(self, spark: SparkSession, wanted: FilesToRead) -> DataFrame:
        """Open files in Spark with the columns of the whole table and without deleted rows.

        If Spark lists the files itself, other files of the table may be included, as far as `wanted.opening` allows.
        """

    def constants(self, index: MetadataIndex, files: Sequence[int], names: Collection[str]) -> list[FileConstants]:
        """Return the constants of files: values of partition columns and of columns that a file lacks.

        `files`: index numbers of the files, ascending.
        `names`: the columns to read.
        """

    def unread(self) -> NDArray[np.bool_]:
        """Return flags of the files whose footers are not read or cached yet."""

    def part(self, file_numbers: NDArray[np.int64]) -> TablePart:
        """Return some files as a part that another process can read."""

    def partition_names(self) -> Sequence[str]:
        """Return the table's partitioning, in the form of a layout's `partition_by`."""

    def partition_text(self, path: Path, file: int) -> str | None:
        """Return a file's value of a partition column as text; None for another column."""
