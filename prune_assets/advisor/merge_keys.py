"""MERGEs of a workload as queries on their join keys.

A MERGE selects rows by its join, so its scan has no predicate. Here it becomes a query on a sample of key values, from
the files that the last MERGEs wrote, or else from the whole table.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import PurePosixPath
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from deltalog.snapshot.row_changes import by_condition
from prune_assets.advisor.sample import rows_of_files
from prune_assets.advisor.workload.query_shapes import MERGE, QueryShape, RanPredicate, Workload
from prune_assets.sql.render import column_sql, literal_sql
from prune_assets.tables.examination import LAST_MERGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltalog.snapshot.row_changes import RowChange
    from parquet_core.format.schema import LeafColumn
    from prune_assets.tables.table import Table

# Number of key samples per query shape. Keys per sample: the number if the source rows are unknown, and the maximum.
_SAMPLES = 5
_USUAL_KEYS, _MOST_KEYS = 20, 100
_MOST_ROWS = 100_000


def with_merge_keys(
    table: Table, shapes: Sequence[QueryShape], workload: Workload | Sequence[str]
) -> tuple[list[QueryShape], tuple[str, ...]]:
    """Return query shapes in which MERGEs select sampled keys, and the join keys of these MERGEs.

    If no shape is a MERGE, the MERGEs are used that the table's log records for the period of the workload.
    """
    has_merges = any(shape.statement for shape in shapes)
    if not has_merges and not (isinstance(workload, Workload) and workload.since):
        return [*shapes], ()
    row_changes = table.format.examination().row_changes
    changes = [] if row_changes is None else row_changes(table, LAST_MERGES, [MERGE])
    if not has_merges and isinstance(workload, Workload):
        shapes = [*shapes, *_in_log(table, changes, workload)]
    with_keys = [_on_keys(table, shape, changes) if shape.statement and shape.joined_on else shape for shape in shapes]
    changed = [new for new, old in zip(with_keys, shapes, strict=True) if new is not old]
    return with_keys, tuple(dict.fromkeys(", ".join(shape.joined_on) for shape in changed))


def _in_log(table: Table, changes: Sequence[RowChange], workload: Workload) -> Iterator[QueryShape]:
    """Yield the MERGEs that the log records between the first and the last query of a workload."""
    first, last = (dt.datetime.fromisoformat(time).timestamp() * 1000 for time in (workload.since, workload.until))
    during = [change for change in changes if first <= change.timestamp <= last and change.join_keys]
    for (statement, keys), group in by_condition(during).items():
        runs = float(len(group))
        predicates = (RanPredicate("", runs),)
        yield QueryShape(table.name, "", keys, runs, predicates, joined_on=keys, statement=statement)


def _on_keys(table: Table, shape: QueryShape, changes: Sequence[RowChange]) -> QueryShape:
    """Return a MERGE whose predicates select sampled keys; the shape itself if no key can be sampled."""
    of_name = {column_sql(column.path).casefold(): column for column in (*table.columns, *table.partitions)}
    keys = [of_name[name.casefold()] for name in shape.joined_on if name.casefold() in of_name]
    keys = [column for column in keys if len(column.path) == 1]
    names = {name.casefold() for name in shape.joined_on}
    own = [change for change in changes if {key.casefold() for key in change.join_keys} == names]
    count = median([change.source_rows for change in own if change.source_rows] or [_USUAL_KEYS])
    samples = [*_samples(table, keys, own, round(min(count, _MOST_KEYS)))] if keys else []
    predicates = tuple(
        ran._replace(
            where=" AND ".join(filter(None, [ran.where and f"({ran.where})", sample])), runs=ran.runs / _SAMPLES
        )
        for ran in shape.predicates
        for sample in samples
    )
    return replace(shape, predicates=predicates) if predicates else shape


def _samples(table: Table, keys: Sequence[LeafColumn], own: Sequence[RowChange], count: int) -> Iterator[str]:
    """Yield conditions on sampled keys; each condition uses the rows of a different MERGE if the log has several."""
    names = [key.path[0] for key in keys]
    written = [frozenset(map(_file_name, change.added)) for change in own if change.added]
    rows_of = [
        rows for files in written[:_SAMPLES] if (rows := rows_of_files(table, names, files, _MOST_ROWS)).num_rows
    ]
    rows_of = rows_of or [rows_of_files(table, names, None, _MOST_ROWS)]
    random = np.random.default_rng(0)
    for i in range(_SAMPLES):
        rows = rows_of[i % len(rows_of)]
        chosen = rows.take(pa.array(np.sort(random.permutation(rows.num_rows)[:count])))
        conditions = [_among(key, chosen.column(key.path[0])) for key in keys if key.path[0] in chosen.column_names]
        if any(conditions):
            yield " AND ".join(filter(None, conditions))


def _file_name(path: str) -> str:
    return PurePosixPath(unquote(path)).name


def _among(column: LeafColumn, values: pa.ChunkedArray) -> str:
    """Return the condition that a column has one of `values`; "" if all values are null."""
    found = values.drop_null().unique()
    if pa.types.is_timestamp(found.type):
        found = found.cast(pa.timestamp("us", found.type.tz))
    return f"{column_sql(column.path)} IN ({', '.join(map(literal_sql, found))})" if len(found) else ""
