"""A workload as plain data: query shapes with runs and bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

# Maximum number of stored predicates per shape; a shape with more keeps an even sample of them.
MOST_PREDICATES = 100
# `columns` of a `SELECT *`; a column with that name would be in backquotes.
ALL_COLUMNS = ("*",)


class RanPredicate(NamedTuple):
    """A predicate with its constants, as a WHERE in Spark SQL, and its number of runs.

    "" selects all rows.
    `columns`: columns that these queries read; None if all queries of the shape read the same columns.
    """

    where: str
    runs: float = 1.0
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ScanTotals:
    """Totals of the scans of a shape; None if unknown.

    `bytes_read`: bytes of files. `rows_read`: rows that the scan returned. `rows_selected`: rows that its filter kept.
    """

    files_read: int | None = None
    bytes_read: int | None = None
    rows_read: int | None = None
    rows_selected: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class QueryShape:
    """Queries on one table whose predicates differ only in constants, whatever columns they read.

    `table`: a path or a catalog name. `shape`: the predicate with `?` for each constant. `columns`: all columns that
    any of the queries reads, including columns of the predicate; `ALL_COLUMNS` for `SELECT *`. `runs`: number of
    queries, weighted in a declared workload.
    """

    table: str
    shape: str
    columns: tuple[str, ...]
    runs: float
    predicates: tuple[RanPredicate, ...]
    totals: ScanTotals = ScanTotals()
    joined_on: tuple[str, ...] = ()
    applications: tuple[str, ...] = ()
    # Catalog names, if the table was read by name.
    names: tuple[str, ...] = ()
    # Reasons why conjuncts are missing; queries then select fewer rows than the predicates do.
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Workload:
    """Query shapes, and the number of scans that were not understood, by reason.

    `own_queries`: number of queries of prune-assets itself, such as for skip reports and `optimize`; the shapes do not
    include them. `other_applications`: number of applications that `app` and `user` exclude.
    """

    shapes: tuple[QueryShape, ...]
    not_understood: dict[str, int] = field(default_factory=dict)
    # Times of the first and last scan, ISO 8601 in UTC; "" if unknown.
    since: str = ""
    until: str = ""
    # A message for each source that could not be read completely.
    problems: tuple[str, ...] = ()
    own_queries: int = 0
    other_applications: int = 0

    def of_table(self, table: str) -> tuple[QueryShape, ...]:
        """Return the shapes of one table, given the path or name that the workload uses."""
        return tuple(shape for shape in self.shapes if shape.table == table)
