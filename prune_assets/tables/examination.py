"""Functions of a table format for commands and checks, in addition to `Table`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from deltalog.snapshot.row_changes import RowChange
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import Path
    from parquet_core.layout.spec import Finding
    from parquet_core.trust.bounds import Bounds
    from prune_assets.tables.delete_debt import DeleteDebt

# Largest number of commits that a reader should replay.
MAX_COMMITS = 100
# Number of MERGEs whose opened and rewritten bytes are compared.
LAST_MERGES = 30


class LogLimits(NamedTuple):
    """Limits above which a log is unhealthy.

    `max_small_files`: as in `small_files`.
    """

    max_commits: int = MAX_COMMITS
    max_small_files: int | None = None


class InspectOptions(NamedTuple):
    """Options of `prune inspect`.

    `names`: the columns to show; all if empty.
    """

    names: Sequence[str] = ()
    bloom: str | None = None
    orphans: bool = False


class Inspection(NamedTuple):
    """Output of `prune inspect`: dataclasses for JSON, and the function that prints them."""

    facts: object
    print_to: Callable[[Console], None]


class Claims:
    """Claims of a table about unopened files, which `prune audit` verifies; none by default.

    Files are given by their numbers in the index.
    `name`: source of the claims.
    `partition_remedy`: next step for a file whose rows belong to another partition.
    """

    name: str
    partition_remedy: str

    def bounds(self, path: Path, file: int) -> Bounds | None:  # noqa: ARG002 - default: no claim
        """Return the claimed bounds of a column in a file; None without a claim."""
        return None

    def rows(self, file: int) -> int | None:  # noqa: ARG002 - default: no claim
        """Return the claimed row count of a file, which includes deleted rows; None without a claim."""
        return None

    def live(self, file: int, rows: int) -> NDArray[np.bool_] | None:  # noqa: ARG002 - default: no claim
        """Return flags of the rows of a file that are not deleted; None if all rows are live."""
        return None

    def partition(self, path: Path, file: int) -> Bounds | None:  # noqa: ARG002 - default: no claim
        """Return the value of a partition column in a file; None if it is not certain."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """Functions of a format for commands and checks. Each takes a table of the format as its first argument.

    `inspect`: describes a table.
    `claims`: returns the table's claims about its files.
    `read_partitioned`: reads the footers of all files or of the given files, and numbers the partition of each file.
    `deleted_rows`: number of deleted rows in each file.
    `log_findings`: returns findings about the log or manifests, without opening a data file.
    `clustered_by`: names of the columns by which the log or the metadata clusters the table.
    `delete_debt`: returns the deleted rows and delete files, from the log or manifests; None if the format has no
    deletes.
    `row_changes`: returns the last statements that changed rows, newest first, from the log or manifests; the
    arguments limit their number and operations. None if the format does not record statements.
    `is_file`: True if the table is named by the path of its only file.
    """

    inspect: Callable[[Any, InspectOptions], Inspection]
    claims: Callable[[Any], Claims]
    read_partitioned: Callable[..., tuple[MetadataIndex, NDArray[np.int64]]]
    deleted_rows: Callable[[Any], NDArray[np.int64]]
    log_findings: Callable[[Any, LogLimits], list[Finding]] = lambda *_: []
    clustered_by: Callable[[Any], Sequence[str]] = lambda _: ()
    delete_debt: Callable[[Any], DeleteDebt | None] = lambda _: None
    row_changes: Callable[[Any, int, Sequence[str]], list[RowChange]] | None = None
    is_file: Callable[[Any], bool] = lambda _: False
