"""What plans, reads and checks need of a table; each format is a module beside this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from parquet_core.dataset.logged import FileAnswers
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.layout.spec import LayoutSpec
    from parquet_core.predicate import Path, Predicate
    from parquet_core.trust.bounds import Bounds
    from prune_assets.report.skip_report import DeltaVersion
    from prune_assets.tables.claims import Claims


class TablePart(Protocol):
    """Some files of a table; can be pickled."""

    def read_all(self) -> MetadataIndex:
        """Read the footers of the files, which are the last ones of the index."""


class Table(Protocol):
    """A table at one moment.

    `is_plain`: Spark reads the files as they lie there, with its own reader of Parquet.
    """

    is_plain: ClassVar[bool]

    @property
    def name(self) -> str:
        """What the user called it."""

    @property
    def version_number(self) -> int | None:
        """The version that was opened; None for a table without versions."""

    @property
    def is_unfinished(self) -> bool:
        """Whether it holds the journal of a write that Spark knows nothing of."""

    @property
    def columns(self) -> Sequence[LeafColumn]:
        """The columns that a predicate may name."""

    @property
    def partitions(self) -> Sequence[LeafColumn]:
        """The columns of which each file has one value, told where the files are listed."""

    def empty_frame(self, spark: SparkSession) -> DataFrame:
        """Return a DataFrame with the columns of the table, for expressions to be resolved on."""

    def answers(self, predicate: Predicate) -> FileAnswers:
        """Return what is known of a predicate in every file before it is opened."""

    def read(self, wanted: NDArray[np.bool_]) -> MetadataIndex:
        """Read the footers of files; others that cost nothing may count as read too."""

    def read_partitioned(self, numbers: NDArray[np.int64] | None = None) -> tuple[MetadataIndex, NDArray[np.int64]]:
        """Read the footers of all files, or of some as a table of these alone, and number the partition of each."""

    def unread(self) -> NDArray[np.bool_]:
        """Tell of which files the footers are not known yet."""

    def part(self, numbers: NDArray[np.int64]) -> TablePart:
        """Return some of the files for another process to read."""

    def rewrite_scope(self) -> NDArray[np.int64]:
        """Return a number for what a rewrite keeps the rows of each file in: its partition, or its directory."""

    def check_rewrite(self, layout: LayoutSpec) -> None:
        """Refuse what a rewrite of some files could not honour, before Spark has anything to do."""

    def claims(self) -> Claims:
        """Return what the table claims of its files before they are opened."""

    def deleted_rows(self) -> NDArray[np.int64]:
        """Return how many rows of each file are deleted without a rewrite of the file."""

    def partition_text(self, path: Path, file: int) -> str | None:
        """Return the value that a file has of a partition column, in words; None where the path is none."""

    def file_bounds(self, path: Path) -> Bounds | None:
        """Return the bounds that the list of files gives of a column; None where it gives none."""

    def count_rows(self, index: MetadataIndex) -> None:
        """Put in how many rows the unopened files have: no plan needs it, reports do."""

    def version(
        self, index: MetadataIndex, read: NDArray[np.bool_], *, pro_rata: bool, log_bytes: int
    ) -> DeltaVersion | None:
        """Describe the version that was planned; `read`: by file whether it is read; None of what has no versions."""

    def save(self) -> None:
        """Keep on disk what was read of the list of files."""
