"""Aggregates of the rows that a predicate selects: count, existence, minimum and maximum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parquet_core.layout.sort_key import SortKey
from prune_assets.reading.arrow_columns import names_of, not_read
from prune_assets.reading.arrow_scan import plan_rows, scan_of
from prune_assets.reading.ordered_rows import rows_in_order

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from pyspark.sql import Column, SparkSession

    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.format import Location


def count(
    table: Location,
    *,
    where: str | Column = "true",
    session: SparkSession | None = None,
    semantics: SparkSemantics | None = None,
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
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

    Takes the arguments and raises the errors of `read_arrow`.
    """
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
    scan = scan_of(planned, (), session)
    return scan.count(scan.kept())


def exists(
    table: Location,
    *,
    where: str | Column,
    session: SparkSession | None = None,
    semantics: SparkSemantics | None = None,
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
) -> bool:
    """Return True if a predicate selects at least one row of a table, without Spark.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> pr.exists(table, where="id = 150"), pr.exists(table, where="id = 1500")
    (True, False)

    Takes the arguments and raises the errors of `read_arrow`.
    """
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
    return next(scan_of(planned, (), session).first(1), None) is not None


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

    Both are None if no row has a value. NaN is greater than every number, as in Spark. Takes the arguments and raises
    the errors of `read_arrow`.
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
    least, greatest = (rows_in_order(planned, names, [key], 1, session).column(0).to_pylist() for key in ends)
    return (least or [None])[0], (greatest or [None])[0]
