"""What plans, reads and checks need of a table; each format is a module beside this one."""

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
    """What is named to Spark, where it lists files by itself."""

    NOTHING = auto()
    PATHS = auto()
    NAMES = auto()
    TABLE = auto()


@dataclass(frozen=True, slots=True)
class FilesToRead:
    """The files of which Spark reads rows.

    `files`: their numbers in the index, which ascend. `opening`: how to name them, where Spark lists files by itself.
    `options`: of Spark's reader, for this read alone. `where`: the predicate. `is_text`: whether it was given as one:
    that of a Column may mean something else to Spark.
    """

    index: MetadataIndex
    files: NDArray[np.int64]
    opening: Opening
    options: Mapping[str, str]
    where: LoweredPredicate
    is_text: bool


class DeletedRows(Protocol):
    """Rows of a file that are deleted without a rewrite of the file; can be pickled."""

    def read(self) -> NDArray[np.int64]:
        """Return their numbers in the file, which ascend."""


class FileConstants(NamedTuple):
    """What a file has for all of its rows: values of columns, or why they are not known; and which rows are deleted."""

    values: Mapping[str, pa.Scalar]
    unknown: Mapping[str, str]
    deleted: DeletedRows | None = None


class TablePart(Protocol):
    """Some files of a table; can be pickled."""

    def read_all(self) -> MetadataIndex:
        """Read the footers of the files, which are the last ones of the index."""


class TableDefaults(Protocol):
    """Members of `Table` that a format may leave as they are."""

    def declared_type(self, name: str) -> DeclaredType | None:  # noqa: ARG002 - none is declared
        """Return the type that the table declares for a top-level column; None where its files alone tell it.

        Raises UnsupportedFeature for a type that Arrow lacks.
        """
        return None

    def file_bounds(self, path: Path) -> Bounds | None:  # noqa: ARG002 - of none
        """Return the bounds that the list of files gives of a column; None where it gives none."""
        return None

    def count_rows(self, index: MetadataIndex) -> None:  # noqa: ARG002 - of no list
        """Put in how many rows the unopened files have: no plan needs it, reports do."""
        return None  # noqa: RET501 - else abstract to mypy


class Table(TableDefaults, Protocol):
    """A table at one moment."""

    @property
    def format(self) -> Format:
        """The entry that opened it, for what holds of all tables of the format."""

    @property
    def given(self) -> Location:
        """What names it: of a table that a catalog has, where it lies."""

    @property
    def semantics(self) -> SparkSemantics:
        """The settings by which its columns were read."""

    @property
    def name(self) -> str:
        """What the user called it."""

    @property
    def version_number(self) -> int | None:
        """The version that was opened; None for a table without versions."""

    @property
    def columns(self) -> Sequence[LeafColumn]:
        """The columns that a predicate may name."""

    @property
    def partitions(self) -> Sequence[LeafColumn]:
        """The columns of which each file has one value, told where the files are listed."""

    def empty_frame(self, spark: SparkSession) -> DataFrame:
        """Return a DataFrame with the columns of the table, for expressions to be resolved on."""

    def answers(self, predicate: Predicate) -> FileAnswers:
        """Return the outcome of a predicate for every file before any is opened."""

    def read(self, wanted: NDArray[np.bool_]) -> MetadataIndex:
        """Read the footers of files; others that cost nothing may count as read too."""

    def read_all(self) -> MetadataIndex:
        """Read the footers of all files."""

    def open_in_spark(self, spark: SparkSession, wanted: FilesToRead) -> DataFrame:
        """Open files with the columns of the whole table, without deleted rows; other files of the table may come too.

        Only where Spark lists the files by itself, and then only those that `wanted.opening` leaves in.
        """

    def constants(self, index: MetadataIndex, files: Sequence[int], names: Collection[str]) -> list[FileConstants]:
        """Return the constants of some files, given by ascending indices; `names`: the columns that are read.

        These are partition columns, and columns that a file lacks although it has a value for them.
        """

    def unread(self) -> NDArray[np.bool_]:
        """Tell of which files the footers are not known yet."""

    def part(self, numbers: NDArray[np.int64]) -> TablePart:
        """Return some of the files for another process to read."""

    def partition_names(self) -> Sequence[str]:
        """Return by what the table is partitioned, as `partition_by` of a layout has it."""

    def partition_text(self, path: Path, file: int) -> str | None:
        """Return the value that a file has of a partition column, in words; None where the path is none."""
