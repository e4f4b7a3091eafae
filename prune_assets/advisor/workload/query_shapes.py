"""A workload as plain data: the shapes of the queries on each table, how often they ran, and what they read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

# Constants of one shape that are kept; a shape that ran with more keeps an even sample of them.
MOST_PREDICATES = 100
# `columns` of a `SELECT *`; a column of that name would have back quotes.
ALL_COLUMNS = ("*",)


class RanPredicate(NamedTuple):
    """A predicate with its constants as a WHERE in Spark SQL, empty for all rows, and how many queries had it.

    `columns`: columns that these queries read; None if all queries of the shape read the same columns.
    """

    where: str
    runs: float = 1.0
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ScanTotals:
    """What the scans of a shape read together. None: the source does not say.

    `bytes_read`: bytes of files. `rows_read`: rows that the scan returned. `rows_selected`: those that its filter kept.
    """

    files_read: int | None = None
    bytes_read: int | None = None
    rows_read: int | None = None
    rows_selected: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class QueryShape:
    """Queries on one table whose predicates differ in their constants alone, whatever columns they read.

    `table`: a path, or a name of a catalog. `shape`: the predicate with `?` for each constant. `columns`: all columns
    that any of the queries reads, those of the predicate included; `ALL_COLUMNS` of a `SELECT *`. `runs`: queries that
    had it, weights of a declared workload included.
    """

    table: str
    shape: str
    columns: tuple[str, ...]
    runs: float
    predicates: tuple[RanPredicate, ...]
    totals: ScanTotals = ScanTotals()
    joined_on: tuple[str, ...] = ()
    applications: tuple[str, ...] = ()
    # Of a catalog, where the table was read by name.
    names: tuple[str, ...] = ()
    # Why conjuncts are left out, so that fewer rows were selected than the predicates say.
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Workload:
    """Query shapes, and by reason how many scans could not be understood.

    `own_queries`: how many queries prune-assets itself ran, such as for skip reports and `optimize`; no shape has them.
    `other_applications`: how many applications `app` and `user` leave out.
    """

    shapes: tuple[QueryShape, ...]
    not_understood: dict[str, int] = field(default_factory=dict)
    # First and last scan, ISO 8601 in UTC; empty where the source does not say.
    since: str = ""
    until: str = ""
    # A line for each source that could not be read, or not to its end.
    problems: tuple[str, ...] = ()
    own_queries: int = 0
    other_applications: int = 0

    def of_table(self, table: str) -> tuple[QueryShape, ...]:
        """Return the shapes of one table, by its path or name as the workload has it."""
        return tuple(shape for shape in self.shapes if shape.table == table)
