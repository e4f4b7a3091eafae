"""Which files of an Iceberg table are meant, as a condition on what they hold.

A procedure of Iceberg takes no names of files. So a group of files is described by its partition and by the range of
its leading sort key, in which no file lies that is not in the group; Iceberg takes the files that may hold such rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import filled, from_numpy
from parquet_core.layout.bound_layout import find_column
from parquet_core.trust.fold_pages import fold_pages
from prune_assets.sql.render import column_sql, literal_sql
from prune_assets.tables.iceberg.manifests.manifest import ABSENT
from prune_assets.tables.iceberg.single_values import as_array, number_of
from prune_assets.tables.iceberg.writes.partition_by import PartitionTransform, spark_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.trust.bounds import Bounds
    from prune_assets.tables.iceberg.columns import IcebergColumn
    from prune_assets.tables.iceberg.session_catalog import NameInSession
    from prune_assets.tables.iceberg.table import IcebergTable
    from prune_assets.tables.rewriting import Rewrite

_INTEGERS = {"year", "month", "hour", "bucket"}


def conditions_of(
    table: IcebergTable, rewrite: Rewrite, named: NameInSession, groups: Sequence[list[int]]
) -> Iterator[str]:
    """Yield the condition of each group of files, by their numbers; `TRUE` where nothing tells it apart."""
    index, keys = rewrite.index, rewrite.layout.sort_columns
    key, bounds = None, None
    if keys:
        column = find_column(keys[0], index, "sort_by")
        key = table.by_path[column.path]
        bounds = fold_pages(index.page_indexes.filled_bounds(column), index.file, len(index.files))
    for numbers in groups:
        parts = [*_of_partition(table, named, numbers[0])]
        if key is not None and bounds is not None:
            parts += _of_key(key, bounds.take(np.array(numbers)))
        yield f"({' AND '.join(parts)})" if parts and len(groups) > 1 else " AND ".join(parts) or "TRUE"


def _of_partition(table: IcebergTable, named: NameInSession, number: int) -> Iterator[str]:
    """Yield conditions that rows of a file's partition satisfy."""
    snapshot = table.snapshot
    by_id = {column.field_id: column for column in table.by_path.values()}
    for field in snapshot.partition_fields:
        column = by_id.get(field.source)
        if field.spec != snapshot.files[number].spec_id or field.transform == "void" or column is None:
            continue
        name, value = column_sql(column.leaf.path), snapshot.files[number].partition[field.position]
        transform, _, width = field.transform.removesuffix("]").partition("[")
        if value is None:
            yield f"{name} IS NULL"
        elif value is not ABSENT and (literal := _literal(column, transform, value)) is not None:
            by = PartitionTransform(column.leaf.name, spark_name(transform), int(width) if width else None)
            yield f"{by.sql(f'`{named.catalog}`.system.')} = {literal}"


def _literal(column: IcebergColumn, transform: str, value: Any) -> str | None:
    """Return a partition value as SQL; None of one that SQL has not, or that equals others."""
    if transform in _INTEGERS:
        return str(int(value))
    if transform == "day":
        return literal_sql(pa.scalar(number_of(value), pa.int32()).cast(pa.date32()))
    if isinstance(value, float) or column.kind in {"uuid", "fixed", "time"}:
        return None
    if column.kind == "string":
        return literal_sql(pa.scalar(str(value)))
    (found,) = as_array(column, [number_of(value)])
    return literal_sql(found) if found.is_valid else None


def _of_key(column: IcebergColumn, bounds: Bounds) -> Iterator[str]:
    """Yield the condition that the values of the leading key in some files satisfy, where their bounds tell it."""
    rows = from_numpy(bounds.row_count)
    has_values = filled(pc.less(bounds.null_count, rows), value=True)
    lower, upper = bounds.lower.filter(has_values), bounds.upper.filter(has_values)
    if lower.null_count or upper.null_count or pa.types.is_floating(lower.type):
        return
    name = column_sql(column.leaf.path)
    parts = [f"{name} IS NULL"] if len(lower) < len(rows) else []
    if len(lower):
        low, high = pc.min(lower), pc.max(upper)
        if column.kind == "string":
            try:
                low, high = (pa.scalar(side.as_py().decode()) for side in (low, high))
            except UnicodeDecodeError:  # a bound that was cut within a letter
                return
        parts.append(f"{name} BETWEEN {literal_sql(low)} AND {literal_sql(high)}")
    yield f"({' OR '.join(parts)})" if parts[1:] else parts[0]
