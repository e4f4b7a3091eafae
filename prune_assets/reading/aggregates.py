"""Aggregates of the rows that a predicate selects: count, minimum and maximum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parquet_core.layout.sort_key import SortKey
from prune_assets.reading.arrow_columns import names_of, not_read
from prune_assets.reading.arrow_scan import check_limit, plan_rows, scan_of
from prune_assets.reading.ordered_rows import rows_in_order

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from pyspark.sql import Column, SparkSession

    from prune_assets.reading.read_stats import ReadStats
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.format import Location


def count(
    table: Location,
    *,
    where: str | Column = "true",
    limit: int | None = None,
    session: SparkSession | None = None,
    semantics: SparkSemantics | None = None,
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
    stats: ReadStats | None = None,
) -> int:
    """Count the rows of a table that a predicate selects, without Spark.

    Row groups and pages whose rows are all proven to match are not read.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> pr.count(table, where="id < 150")
    150

    `limit`: largest count. Reading stops when it is reached; with `limit=1` the result is 1 if a row is selected:

    >>> pr.count(table, where="id >= 150", limit=1), pr.count(table, where="id = 1500", limit=1)
    (1, 0)

    Takes the other arguments and raises the errors of `read_arrow`.
    """
    check_limit(limit)
    planned = plan_rows(
        table,
        where=where,
        columns=[],
        session=session,
        semantics=semantics,
        version=version,
        timestamp=timestamp,
        allow=allow,
    )
    scan = scan_of(planned, (), session, stats)
    return scan.count(scan.kept(), limit)


def min_max(
    table: Location,
    column: str,
    *,
    where: str | Column = "true",
    session: SparkSession | None = None,
    semantics: SparkSemantics | None = None,
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
    stats: ReadStats | None = None,
) -> tuple[Any, Any]:
    """Return the minimum and maximum of a column, without Spark.

    Only rows that the predicate selects count. Reads only row groups whose bounds exceed the values already found.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> pr.min_max(table, "id", where="id > 42")
    (43, 999)

    Both results are None if no row has a value. NaN is greater than every number, as in Spark. Takes the arguments and
    raises the errors of `read_arrow`.
    """
    planned = plan_rows(
        table,
        where=where,
        columns=[column],
        session=session,
        semantics=semantics,
        version=version,
        timestamp=timestamp,
        allow=allow,
    )
    names = names_of(planned, [column])
    if any(
        leaf.path[0] == names[0] and (len(leaf.path) > 1 or leaf.max_repetition_level) for leaf in planned.table.columns
    ):
        raise not_read(names[0], "min_max of a list, a map or a struct is not defined")
    ends = [SortKey(column, descending=descending, nulls_last=True) for descending in (False, True)]
    least, greatest = (
        rows_in_order(planned, names, [key], 1, session=session, stats=stats).column(0).to_pylist() for key in ends
    )
    return (least or [None])[0], (greatest or [None])[0]
