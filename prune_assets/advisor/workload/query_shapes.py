"""A workload as plain data: query shapes with runs and bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from prune_assets.advisor.workload.observe import Time

# Maximum number of stored predicates per shape; a shape with more keeps an even sample of them.
MOST_PREDICATES = 100
# `columns` of a `SELECT *`; a column with that name would be in backquotes.
ALL_COLUMNS = ("*",)
# The statement of a shape if its scans search the rows that a MERGE changes.
MERGE = "MERGE"


class RanPredicate(NamedTuple):
    """A predicate with its constants, as a WHERE in Spark SQL, and its number of runs.

    `where`: the condition; "" if all rows are selected.
    `columns`: columns that the queries with this predicate read. None if all queries of the shape read the same
    columns.
    """

    where: str
    runs: float = 1.0
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ScanTotals:
    """Totals of the scans of a shape. Figures are None if unknown.

    `bytes_read`: bytes of the files read.
    `rows_read`: number of rows that the scans returned.
    `rows_selected`: number of rows that their filters kept.
    """

    files_read: int | None = None
    bytes_read: int | None = None
    rows_read: int | None = None
    rows_selected: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class QueryShape:
    """Queries on one table whose predicates differ only in constants. The queries may read different columns.

    `table`: a path or a catalog name.
    `shape`: the predicate with `?` for each constant.
    `columns`: all columns that any of the queries reads, including columns of the predicate; `ALL_COLUMNS` for `SELECT
    *`.
    `runs`: number of queries, weighted in a declared workload.
    `joined_on`: columns that joins compare.
    `statement`: `MERGE` for scans of the table that a MERGE changes; `joined_on` then has its join keys. "" for other
    queries.
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
    statement: str = ""


@dataclass(frozen=True, slots=True)
class Workload:
    """Query shapes, and the number of scans that were not understood, by reason.

    >>> import prune_assets as pr
    >>> len(pr.Workload.of("lake/orders", ["day = DATE '2024-01-01'", "id = 7"]).shapes)
    2

    `own_queries`: number of queries of prune-assets itself, such as for skip reports and `optimize`; the shapes do not
    include them.
    `other_applications`: number of applications that `app` and `user` exclude.
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

    @staticmethod
    def read(
        event_logs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        since: Time | None = None,
        until: Time | None = None,
        table: str | os.PathLike[str] | None = None,
        cursor: str | os.PathLike[str] | None = None,
        progress: Callable[[int, int], None] | None = None,
        app: str | Iterable[str] | None = None,
        user: str | Iterable[str] | None = None,
    ) -> Workload:
        """Return the workload of real queries: their shapes per table, runs, and bytes read.

        `event_logs`: event logs, zips and directories of them, also in stores, or files of SQL that end in `.sql`.
        `since`, `until`: only queries that began in this interval (`until` is excluded); times without a zone are in
        UTC.
        `table`: only queries on this table, by its path or catalog name.
        `cursor`: a file that records what was read; the next call with it returns only newer queries.
        `progress`: called with the bytes read and the total bytes.
        `app`: only applications with this name or id, or one of several, with `*` as a wildcard.
        `user`: only applications that these users started.

        Queries of prune-assets itself, such as for skip reports and `optimize`, are counted in `own_queries` only.

        >>> import tempfile
        >>> from pathlib import Path
        >>> import prune_assets as pr
        >>> queries = Path(tempfile.mkdtemp(), "queries.sql")
        >>> _ = queries.write_text("SELECT id FROM lake.orders WHERE day = DATE '2024-01-01'  -- weight: 10")
        >>> [(shape.table, shape.shape, shape.runs) for shape in pr.Workload.read(queries).shapes]
        [('lake.orders', 'day = ?', 10.0)]

        Unreadable parts are counted in `not_understood`, or reported in `problems`. Raises TableNotFound if a path does
        not exist, WrongUse if no file is an event log, or if a file of SQL has no usable statement.
        """
        from prune_assets.advisor.workload.observe import observed

        return observed(
            event_logs, since=since, until=until, table=table, cursor=cursor, progress=progress, app=app, user=user
        )

    @staticmethod
    def of(
        table: str | os.PathLike[str], predicates: Sequence[str], *, weights: Sequence[float] | None = None
    ) -> Workload:
        """Return a workload of predicates on one table.

        `weights`: runs of each predicate, 1 by default.

        >>> import prune_assets as pr
        >>> found = pr.Workload.of("lake/orders", ["day = DATE '2024-01-01'", "id = 7"], weights=[10, 1])
        >>> [(shape.shape, shape.columns, shape.runs) for shape in found.shapes]
        [('day = ?', ('day',), 10.0), ('id = ?', ('id',), 1.0)]

        Raises WrongUse if the number of weights differs from the number of predicates, PredicateSyntaxError for invalid
        SQL.
        """
        from prune_assets.advisor.workload.declared import declared

        return declared(table, predicates, weights=weights)

    def of_table(self, table: str) -> tuple[QueryShape, ...]:
        """Return the shapes of one table.

        `table`: the table's path or name, as in the workload.
        """
        return tuple(shape for shape in self.shapes if shape.table == table)
