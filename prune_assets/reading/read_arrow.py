"""Read the rows that a predicate selects into Arrow, without Spark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.errors import UnsupportedFeature, WrongUse
from prune_assets.planner.columns import check_names
from prune_assets.planner.join_keys import joins_of
from prune_assets.reading.arrow_columns import names_of, unread_columns
from prune_assets.reading.arrow_scan import check_limit, plan_rows, scan_of
from prune_assets.reading.ordered_rows import rows_in_order, sort_keys

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.reading.read_stats import ReadStats
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.format import Location

# Key in the metadata of a result's schema, under which the columns left out are listed.
COLUMNS_LEFT_OUT = b"prune_assets.columns_left_out"


def read_arrow(
    table: Location,
    *,
    where: str | Column = "true",
    keys: pa.Table | DataFrame | Sequence[pa.Table | DataFrame] | None = None,
    on: Sequence[str | tuple[str, ...] | Sequence[str | tuple[str, ...]] | None] | None = None,
    columns: Sequence[str] | None = None,
    order_by: str | Sequence[str] = (),
    limit: int | None = None,
    session: SparkSession | None = None,
    semantics: SparkSemantics | None = None,
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
    stats: ReadStats | None = None,
    skip_unsupported: bool = False,
) -> pa.Table:
    """Return the selected rows of a table as an Arrow table, without Spark.

    Pages of the predicate's columns are read first, if they may hold a selected row. Other columns are read only in
    pages with selected rows.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> rows = pa.table({"id": range(1000), "name": [f"n{i}" for i in range(1000)]})
    >>> pq.write_table(rows, f"{table}/part-0.parquet", write_page_index=True)
    >>> pr.read_arrow(table, where="id BETWEEN 41 AND 42", columns=["name"]).to_pylist()
    [{'name': 'n41'}, {'name': 'n42'}]

    `table`, `where`, `keys`, `on`, `session`, `semantics`, `version`, `timestamp`, `allow`: as in `plan`. With `keys`,
    each row that has a partner is returned once.
    `columns`: columns to return, by default all.
    `order_by`: columns to sort by, each optionally followed by `ASC` or `DESC` and `NULLS FIRST` or `NULLS LAST`, as in
    Spark SQL.
    `limit`: maximum number of rows. Reading stops when they are found; with `order_by`, when no other row group can
    hold a row that comes before them.

    >>> pr.read_arrow(table, order_by="id DESC", limit=2).to_pylist()
    [{'id': 999, 'name': 'n999'}, {'id': 998, 'name': 'n998'}]

    Without `order_by`, rows are in the order of files, and within a file in row order. Types are those that Spark has
    for the table.

    `stats`: a ReadStats, to which the figures of the read are added.
    `skip_unsupported`: without `columns`, leave out columns that are not read here, such as columns of type CHAR and
    VARIANT. The metadata of the result's schema names them with the reasons, as JSON under
    `prune_assets.columns_left_out`. By default they raise an error: a copy of a table must not lose a column silently.

    Raises the errors of `plan`, StaleTable if a file changed since it was planned, and UnsupportedFeature, which names
    a column or condition that is not read here: `pr.read` reads it.
    """
    check_limit(limit)
    order = sort_keys([order_by] if isinstance(order_by, str) else order_by)
    read = None if columns is None else [*_checked(columns), *(key.column for key in order)]
    planned = plan_rows(
        table,
        where=where,
        columns=read,
        session=session,
        semantics=semantics,
        version=version,
        timestamp=timestamp,
        allow=allow,
        joins=joins_of(keys, on),
    )
    _check_joins(planned)
    names, left_out = _returned(planned, columns, skip_unsupported=skip_unsupported)
    if order:
        return rows_in_order(planned, names, order, limit, session=session, stats=stats).replace_schema_metadata(
            left_out
        )
    scan = scan_of(planned, names, session, stats)
    tables = scan.tables(scan.kept()) if limit is None else scan.first(limit)
    return pa.concat_tables([scan.no_rows(), *tables]).replace_schema_metadata(left_out)


def _check_joins(plan: PlannedRead) -> None:
    """Raise UnsupportedFeature for a join whose conditions may also select rows without a partner."""
    for join in plan.joins:
        if not join.is_exact:
            why = "; ".join(f"{each.column} = {each.key}: {each.reason}" for each in join.unused)
            why = why or "the keys are too many to collect, or joined by several conditions on one column"
            raise UnsupportedFeature(
                f"keys: read_arrow does not decide this join: {why}; use pr.read(keys=..) and join"
            )


def read_batches(
    table: Location,
    *,
    where: str | Column = "true",
    columns: Sequence[str] | None = None,
    session: SparkSession | None = None,
    semantics: SparkSemantics | None = None,
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
    stats: ReadStats | None = None,
    skip_unsupported: bool = False,
) -> pa.RecordBatchReader:
    """Return the selected rows of a table as a stream of batches.

    The rows may exceed the memory.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> [batch.num_rows for batch in pr.read_batches(table, where="id BETWEEN 150 AND 320")]
    [50, 100, 21]

    DuckDB, polars and other consumers of Arrow streams can read the result. About 64 MiB of row groups are in memory at
    a time. Arguments, order and types are as in `read_arrow`. Errors that planning does not find are raised while the
    batches are read.
    """
    read = None if columns is None else _checked(columns)
    planned = plan_rows(
        table,
        where=where,
        columns=read,
        session=session,
        semantics=semantics,
        version=version,
        timestamp=timestamp,
        allow=allow,
    )
    names, left_out = _returned(planned, columns, skip_unsupported=skip_unsupported)
    scan = scan_of(planned, names, session, stats)
    batches = (batch for rows in scan.tables(scan.kept()) for batch in rows.combine_chunks().to_batches())
    return pa.RecordBatchReader.from_batches(scan.schema.with_metadata(left_out), batches)


def columns_left_out(schema: pa.Schema) -> dict[str, str]:
    """Return the columns that `skip_unsupported` left out of a result, with the reasons."""
    reasons: dict[str, str] = json.loads((schema.metadata or {}).get(COLUMNS_LEFT_OUT, b"{}"))
    return reasons


def _returned(
    plan: PlannedRead, columns: Sequence[str] | None, *, skip_unsupported: bool
) -> tuple[list[str], dict[bytes, bytes] | None]:
    """Return the columns of the result and its metadata.

    Raises UnsupportedFeature naming every unreadable column.
    """
    names = names_of(plan, columns)
    if columns is not None or not (unread := unread_columns(plan, names, in_files=skip_unsupported)):
        return names, None
    read = [name for name in names if name not in unread]
    if not skip_unsupported or not read:
        each = ", ".join(f"column {name!r}: {why}" for name, why in unread.items())
        step = "skip_unsupported=True reads the other columns" if read else "let Spark read the table, by pr.read"
        raise UnsupportedFeature(f"{plan.table.name}: {each}; {step}")
    return read, {COLUMNS_LEFT_OUT: json.dumps(unread).encode()}


def _checked(columns: Sequence[str]) -> Sequence[str]:
    check_names(columns)
    if len(columns) == 0:
        raise WrongUse("columns=[]: name at least one column; pr.count counts the rows")
    return columns
