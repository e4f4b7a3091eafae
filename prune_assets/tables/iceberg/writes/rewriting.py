"""Rewrite files of an Iceberg table with Iceberg's procedures, which select files by conditions.

One call has at most one group per partition, because it sorts all selected files of a partition together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import filled, from_numpy
from parquet_core.errors import LayoutError
from parquet_core.layout.bound_layout import find_column
from parquet_core.trust.fold_pages import fold_pages
from prune_assets.sql.render import column_sql, literal_sql
from prune_assets.tables.iceberg.manifests.delete_files import POSITIONS
from prune_assets.tables.iceberg.manifests.manifest import ABSENT
from prune_assets.tables.iceberg.manifests.manifest_list import read_manifest_list
from prune_assets.tables.iceberg.metadata_files import place_of
from prune_assets.tables.iceberg.session_catalog import name_in_session, snapshot_in_session
from prune_assets.tables.iceberg.single_values import as_array, number_of
from prune_assets.tables.iceberg.writes.partition_by import (
    PartitionTransform,
    spark_name,
    transforms_kept,
    transforms_of,
)
from prune_assets.tables.iceberg.writes.proof import change_at, prove
from prune_assets.tables.iceberg.writes.table_properties import (
    check_layout,
    properties_of,
    removed_properties,
    sql_text,
    statements,
)
from prune_assets.tables.rewriting import Rewritten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from parquet_core.layout.spec import LayoutSpec
    from parquet_core.trust.bounds import Bounds
    from prune_assets.tables.iceberg.columns import IcebergColumn
    from prune_assets.tables.iceberg.session_catalog import NameInSession
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot
    from prune_assets.tables.iceberg.table import IcebergTable
    from prune_assets.tables.rewriting import Rewrite

_INTEGERS = {"year", "month", "hour", "bucket"}

# Maximum number of groups per call, because a condition of more groups would be long.
_MOST_GROUPS = 100
# Manifests are merged if their number exceeds this factor times the number that their bytes need.
_MANIFESTS = 4
_MANIFEST_BYTES = 8 << 20


def check_iceberg_rewrite(table: IcebergTable, layout: LayoutSpec) -> None:
    """Refuse a layout that Iceberg's procedures cannot produce, or whose partitions differ from the table's."""
    check_layout(layout)
    if layout.hilbert_by:
        raise LayoutError(
            "hilbert_by: Iceberg rewrites files only along a Z-order; use zorder_by, or write the table again"
        )
    transforms_kept(layout, table.snapshot, table.name)


def calls_of_procedures(spark: SparkSession, table: IcebergTable, rewrite: Rewrite | None) -> tuple[str, ...]:
    """Return the calls that rewrite files; without a `Rewrite`, the calls that merge delete files and manifests."""
    named = name_in_session(table.name, spark)
    return tuple(upkeep_calls(table.snapshot, named) if rewrite is None else rewrite_calls(table, rewrite, named))


def rewrite_calls(table: IcebergTable, rewrite: Rewrite, named: NameInSession) -> list[str]:
    """Return the calls that rewrite the groups. Each call selects at most one group of each partition."""
    by_partition: dict[str, list[int]] = defaultdict(list)
    files: dict[int, list[int]] = defaultdict(list)
    for file_number, group in sorted(rewrite.group_of.items()):
        files[group].append(file_number)
    keys = table.snapshot.partition_keys()
    for group, file_numbers in files.items():
        by_partition[keys[file_numbers[0]]].append(group)
    calls = []
    for i in range(max(map(len, by_partition.values()), default=0)):
        groups = [groups[i] for groups in by_partition.values() if i < len(groups)]
        for start in range(0, len(groups), _MOST_GROUPS):
            group_files = [files[group] for group in groups[start : start + _MOST_GROUPS]]
            calls.append(_call(table, rewrite, named, " OR ".join(conditions_of(table, rewrite, named, group_files))))
    return calls


def _call(table: IcebergTable, rewrite: Rewrite, named: NameInSession, where: str) -> str:
    layout = rewrite.layout
    order = ", ".join(map(str, layout.sort_keys))
    if layout.zorder_by:
        order = f"zorder({', '.join(column_sql((name,)) for name in layout.zorder_by)})"
    # Without an order or bloom filters, Iceberg merges only small files; else it must rewrite all selected files.
    all_of_them = bool(order or layout.bloom)
    options = {"target-file-size-bytes": str(layout.target_file_bytes)}
    options |= {"rewrite-all": "true"} if all_of_them else {"min-input-files": "2", "delete-file-threshold": "1"}
    if table.deletes:
        options["remove-dangling-deletes"] = "true"
    arguments = {"table": named.table, "strategy": "sort" if order else "binpack"}
    arguments |= ({"sort_order": order} if order else {}) | ({} if where == "TRUE" else {"where": where})
    argument_list = ", ".join(f"{name} => {sql_text(value)}" for name, value in arguments.items())
    option_list = ", ".join(f"{sql_text(name)}, {sql_text(value)}" for name, value in options.items())
    return f"CALL `{named.catalog}`.system.rewrite_data_files({argument_list}, options => map({option_list}))"


def upkeep_calls(snapshot: IcebergSnapshot, named: NameInSession) -> list[str]:
    """Return the calls that merge position delete files and manifests, if there are many."""
    calls = []
    deletes = Counter(
        f"{file.spec_id} {list(file.partition)!r}"
        for file in snapshot.deletes
        if file.content == POSITIONS and file.file_format.upper() == "PARQUET"
    )
    if any(count > 1 for count in deletes.values()):
        calls.append(
            f"rewrite_position_delete_files(table => {sql_text(named.table)}, options => map('rewrite-all', 'true'))"
        )
    count, size = _manifests(snapshot)
    target = int(snapshot.metadata.properties.get("commit.manifest.target-size-bytes", _MANIFEST_BYTES))
    if count > _MANIFESTS * max(1, -(-size // target)):
        calls.append(f"rewrite_manifests(table => {sql_text(named.table)})")
    return [f"CALL `{named.catalog}`.system.{call}" for call in calls]


def _manifests(snapshot: IcebergSnapshot) -> tuple[int, int]:
    """Return the number of data manifests, and their bytes."""
    if snapshot.snapshot is None or not snapshot.snapshot.manifest_list:
        return 0, 0
    manifests = read_manifest_list(snapshot.snapshot.manifest_list, snapshot.io)
    sizes = [manifest.manifest_length or 0 for manifest in manifests if manifest.is_data]
    return len(sizes), sum(sizes)


def rewrite_iceberg(spark: SparkSession, table: IcebergTable, rewrite: Rewrite) -> Rewritten:
    """Store the layout in the table, rewrite the groups with Iceberg's procedures, and check the result."""
    named, layout = name_in_session(table.name, spark), rewrite.layout
    present = table.snapshot.metadata.properties
    options = _bloom_options(spark, named, rewrite, present)
    properties = properties_of(layout, options, partitioned=bool(transforms_of(table.snapshot)), present=present)
    removed = removed_properties(layout, present)
    for statement in statements(named.table, table.snapshot, properties, keys=layout.sort_keys, removed=removed):
        spark.sql(statement)
    for call in rewrite_calls(table, rewrite, named):
        spark.sql(call)
    return _prove_rewrites(spark, table, named, replace(layout, partition_by=()))


def _bloom_options(spark: SparkSession, named: NameInSession, rewrite: Rewrite, present: Any) -> dict[str, str]:
    """Return bloom filter options.

    Distinct values are counted for columns whose number of distinct values is not in the table's properties.
    """
    from pyspark.sql import functions as fn

    layout = rewrite.layout
    size = sum(file.size for file in rewrite.files)
    in_group = max(1, rewrite.rows * layout.row_group_bytes // max(1, size))
    new = [name for name in layout.bloom if f"write.parquet.bloom-filter-ndv.column.{name}" not in present]
    counts = [fn.approx_count_distinct(column_sql(tuple(name.split(".")))) for name in new]
    counted = dict(zip(new, spark.table(named.table).agg(*counts).first() or (), strict=True)) if new else {}
    options = {f"parquet.bloom.filter.fpp#{name}": str(share) for name, share in layout.bloom.items()}
    return options | {
        f"parquet.bloom.filter.expected.ndv#{name}": str(min(in_group, counted.get(name, 1))) for name in layout.bloom
    }


def _prove_rewrites(spark: SparkSession, table: IcebergTable, named: NameInSession, layout: LayoutSpec) -> Rewritten:
    """Check each snapshot that rewrote files since the snapshot that was assessed."""
    from pyiceberg.table.snapshots import Operation

    current = snapshot_in_session(named.table, spark)
    snapshot_ids = {each.snapshot_id for each in table.snapshot.metadata.snapshots}
    added: dict[str, int] = {}
    removed: set[str] = set()
    for each in current.metadata.snapshots:
        if each.snapshot_id in snapshot_ids or each.summary is None or each.summary.operation is not Operation.REPLACE:
            continue
        change = change_at(snapshot_in_session(named.table, spark, each.snapshot_id))
        prove(named, change, layout)
        sizes = {file.file_path: file.file_size_in_bytes for file in change.snapshot.files}
        removed |= set(change.removed)
        added = {path: size for path, size in added.items() if path not in removed}
        added |= {path: sizes[path] for path in change.added}
    return Rewritten({place_of(path): size for path, size in added.items()}, frozenset(map(place_of, removed)))


def conditions_of(
    table: IcebergTable, rewrite: Rewrite, named: NameInSession, groups: Sequence[list[int]]
) -> Iterator[str]:
    """Yield, for each group of files, the condition that selects the group; `TRUE` if nothing restricts it.

    `groups`: numbers of the files of each group.

    Iceberg's procedures do not accept file names, and select all files that may hold matching rows. So a condition
    consists of the partition and a range of the leading sort key in which no other file has rows.
    """
    index, keys = rewrite.index, rewrite.layout.sort_columns
    key, bounds = None, None
    if keys:
        column = find_column(keys[0], index, "sort_by")
        key = table.by_path[column.path]
        bounds = fold_pages(index.page_indexes.filled_bounds(column), index.groups.file, len(index.groups.files))
    for file_numbers in groups:
        parts = [*_partition_conditions(table, named, file_numbers[0])]
        if key is not None and bounds is not None:
            parts += _key_condition(key, bounds.take(np.array(file_numbers)))
        yield f"({' AND '.join(parts)})" if parts and len(groups) > 1 else " AND ".join(parts) or "TRUE"


def _partition_conditions(table: IcebergTable, named: NameInSession, file_number: int) -> Iterator[str]:
    """Yield conditions that are true for the rows of a file's partition."""
    snapshot = table.snapshot
    by_id = {column.field_id: column for column in table.by_path.values()}
    for field in snapshot.partition_fields:
        column = by_id.get(field.source)
        if field.spec != snapshot.files[file_number].spec_id or field.transform == "void" or column is None:
            continue
        name, value = column_sql(column.leaf.path), snapshot.files[file_number].partition[field.position]
        transform, _, width = field.transform.removesuffix("]").partition("[")
        if value is None:
            yield f"{name} IS NULL"
        elif value is not ABSENT and (literal := _literal(column, transform, value)) is not None:
            by = PartitionTransform(column.leaf.name, spark_name(transform), int(width) if width else None)
            yield f"{by.sql(f'`{named.catalog}`.system.')} = {literal}"


def _literal(column: IcebergColumn, transform: str, value: Any) -> str | None:
    """Return a partition value as a SQL literal; None if SQL lacks such literals, or if other values may equal it."""
    if transform in _INTEGERS:
        return str(int(value))
    if transform == "day":
        return literal_sql(pa.scalar(number_of(value), pa.int32()).cast(pa.date32()))
    if isinstance(value, float) or column.type_name in {"uuid", "fixed", "time"}:
        return None
    if column.type_name == "string":
        return literal_sql(pa.scalar(str(value)))
    (scalar,) = as_array(column, [number_of(value)])
    return literal_sql(scalar) if scalar.is_valid else None


def _key_condition(column: IcebergColumn, bounds: Bounds) -> Iterator[str]:
    """Yield a condition on the leading key that is true for all rows of files; nothing if the bounds are unknown."""
    rows = from_numpy(bounds.row_count)
    has_values = filled(pc.less(bounds.null_count, rows), value=True)
    lower, upper = bounds.lower.filter(has_values), bounds.upper.filter(has_values)
    if lower.null_count or upper.null_count or pa.types.is_floating(lower.type):
        return
    name = column_sql(column.leaf.path)
    parts = [f"{name} IS NULL"] if len(lower) < len(rows) else []
    if len(lower):
        low, high = pc.min(lower), pc.max(upper)
        if column.type_name == "string":
            try:
                low, high = (pa.scalar(side.as_py().decode()) for side in (low, high))
            except UnicodeDecodeError:  # a bound that was truncated within a character
                return
        parts.append(f"{name} BETWEEN {literal_sql(low)} AND {literal_sql(high)}")
    yield f"({' OR '.join(parts)})" if parts[1:] else parts[0]
