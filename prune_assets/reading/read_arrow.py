"""Read the rows that a predicate selects into Arrow, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.errors import WrongUse
from prune_assets.planner.plan_read import plan_read
from prune_assets.reading.arrow_scan import ArrowScan, scan_of
from prune_assets.tables.column_names import resolve

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, SparkSession

    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.format import Location

_LIMITED_WINDOW = 1 << 20


def read_arrow(
    table: Location,
    *,
    where: str | Column = "true",
    columns: Sequence[str] | None = None,
    limit: int | None = None,
    session: SparkSession | SparkSemantics | None = None,
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
) -> pa.Table:
    """Return the rows of a table that a predicate selects as an Arrow table, read page by page without Spark.

    Only the pages that may hold a selected row are read: those of the predicate's columns first, of the other columns
    those that hold a row that the predicate selected.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> rows = pa.table({"id": range(1000), "name": [f"n{i}" for i in range(1000)]})
    >>> pq.write_table(rows, f"{table}/part-0.parquet", write_page_index=True)
    >>> pr.read_arrow(table, where="id BETWEEN 41 AND 42", columns=["name"]).to_pylist()
    [{'name': 'n41'}, {'name': 'n42'}]

    `table`, `where`, `session`, `version`, `timestamp`, `allow`: as `plan` has them. `columns`: those to return, by
    default all. `limit`: at most so many rows; reading stops when they are found.

    Rows come in the order of files and of rows inside of them. Types are those that Spark has for the table.

    Raises what `plan` raises, StaleTable when a file changed since it was planned, and UnsupportedFeature for a column
    or a part of the predicate that is not read here, which it names: `pr.read` reads them.
    """
    if columns is not None and len(columns) == 0:
        raise WrongUse("columns=[]: name at least one column; pr.count counts the rows")
    planned = plan_read(
        table, where=where, columns=columns, session=session, version=version, timestamp=timestamp, allow=allow
    )
    scan = scan_of(planned, _names(planned, columns))
    return pa.concat_tables([scan.schema.empty_table(), *_limited(scan, limit)])


def count(
    table: Location,
    *,
    where: str | Column = "true",
    session: SparkSession | SparkSemantics | None = None,
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
) -> int:
    """Return how many rows of a table a predicate selects, without Spark.

    Of row groups and pages that are proven to match wholly no value is read.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> pr.count(table, where="id < 150")
    150

    Arguments and errors are those of `read_arrow`.
    """
    planned = plan_read(
        table, where=where, columns=[], session=session, version=version, timestamp=timestamp, allow=allow
    )
    scan = scan_of(planned, ())
    return scan.count(scan.kept())


def exists(
    table: Location,
    *,
    where: str | Column,
    session: SparkSession | SparkSemantics | None = None,
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
) -> bool:
    """Tell whether a predicate selects at least one row of a table, without Spark.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> pr.exists(table, where="id = 150"), pr.exists(table, where="id = 1500")
    (True, False)

    Arguments and errors are those of `read_arrow`.
    """
    planned = plan_read(
        table, where=where, columns=[], session=session, version=version, timestamp=timestamp, allow=allow
    )
    return next(_limited(scan_of(planned, ()), 1), None) is not None


def _names(planned: PlannedRead, columns: Sequence[str] | None) -> list[str]:
    every = [*planned.table.columns, *planned.table.partitions]
    if columns is None:
        return list(dict.fromkeys(column.path[0] for column in every))
    return [resolve(name, every) for name in columns]


def _limited(scan: ArrowScan, limit: int | None) -> Iterator[pa.Table]:
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise WrongUse(f"limit={limit!r}: give a whole number of rows, 0 or more")
    positions = scan.kept()
    if limit is None:
        yield from scan.tables(positions)
        return
    for table in scan.tables(positions, first_window=_LIMITED_WINDOW) if limit else ():
        yield table.slice(0, limit)
        limit -= len(table)
        if limit <= 0:
            return
