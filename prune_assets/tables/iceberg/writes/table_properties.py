"""Express a layout as a sort order and table properties of Iceberg; Iceberg's Parquet writer reads the properties."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from parquet_core.errors import LayoutError
from parquet_core.layout.sort_key import SortKey

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot
    from prune_assets.tables.iceberg.writes.partition_by import PartitionTransform

_BLOOM = "write.parquet.bloom-filter"
_DISTINCT = f"{_BLOOM}-ndv.column."
_MAX_BYTES = f"{_BLOOM}-max-bytes"
DISTRIBUTION = "write.distribution-mode"
# Iceberg's default number of rows before it first checks sizes.
_FIRST_CHECK = 100
# An existing distinct count is kept if it is at least this share of the new one: each property change is a commit, and
# counts are estimates.
_ENOUGH = 0.8
# Iceberg's default limit of a filter, and the largest filter of parquet-java.
_DEFAULT_BLOOM_BYTES, _MOST_BLOOM_BYTES = 1 << 20, 128 << 20
# Layout fields without a setting in Iceberg's writer.
_UNKNOWN = {
    "row_group_rows": "row groups are limited only in bytes: use row_group_bytes",
    "dictionary": "a table has dictionaries for all of its columns or for none, and columns with bloom filters have "
    "no dictionaries",
    "statistics_truncate_length": "the bounds of row groups are never truncated: use column_index_truncate_length",
}


def check_layout(layout: LayoutSpec) -> None:
    """Refuse a layout with fields that Iceberg's writer does not support."""
    for name, why in _UNKNOWN.items():
        if getattr(layout, name):
            raise LayoutError(f"{name}: in Iceberg's writer, {why}; remove it from the layout")


def properties_of(
    layout: LayoutSpec, options: Mapping[str, str], *, partitioned: bool, present: Mapping[str, str]
) -> dict[str, str]:
    """Return the table properties of a layout.

    `options`: the layout's options for Spark's writer from `arrange`, with distinct values of bloom columns.
    `present`: current properties of the table. The setting of a bloom filter that is large enough is not changed.
    """
    codec = {"none": "uncompressed"}.get(layout.compression, layout.compression)
    first_check = int(options.get("parquet.page.size.row.check.min", _FIRST_CHECK))
    properties: dict[str, object] = {
        "write.target-file-size-bytes": layout.target_file_bytes,
        "write.parquet.row-group-size-bytes": layout.row_group_bytes,
        "write.parquet.page-size-bytes": layout.page_bytes,
        "write.parquet.page-row-limit": layout.page_rows,
        "write.parquet.compression-codec": codec,
        DISTRIBUTION: "range" if layout.sort_by else "hash" if partitioned else "none",
    }
    if present.get("write.format.default", "parquet") != "parquet":
        properties["write.format.default"] = "parquet"
    if first_check < _FIRST_CHECK:
        properties["write.parquet.row-group-check-min-record-count"] = first_check
    if layout.compression_level is not None:
        properties["write.parquet.compression-level"] = layout.compression_level
    if layout.column_index_truncate_length is not None:
        properties["parquet.columnindex.truncate.length"] = layout.column_index_truncate_length
    return {name: str(value) for name, value in (properties | _bloom_properties(options, present)).items()}


def _bloom_properties(options: Mapping[str, str], present: Mapping[str, str]) -> dict[str, object]:
    properties: dict[str, object] = {}
    most = int(present.get(_MAX_BYTES, _DEFAULT_BLOOM_BYTES))
    for option, wanted in options.items():
        name, _, column = option.partition("#")
        if name != "parquet.bloom.filter.expected.ndv":
            continue
        probability, distinct = float(options[f"parquet.bloom.filter.fpp#{column}"]), max(1, int(wanted))
        before = int(present.get(f"{_DISTINCT}{column}", 0))
        distinct = before if before >= _ENOUGH * distinct else distinct
        properties |= {
            f"{_BLOOM}-enabled.column.{column}": "true",
            f"{_BLOOM}-fpp.column.{column}": probability,
            f"{_DISTINCT}{column}": distinct,
        }
        most = max(most, min(_MOST_BLOOM_BYTES, _filter_bytes(distinct, probability)))
    if properties:
        # A dictionary-encoded chunk gets no filter, and Iceberg has no dictionary setting per column.
        properties |= {_MAX_BYTES: most, "parquet.enable.dictionary": "false"}
    return properties


def _filter_bytes(distinct: int, probability: float) -> int:
    """Return the bytes of a bloom filter as parquet-java sizes it: a power of two, with 8 bits per value in a block."""
    bits = -8 * distinct / math.log1p(-(probability ** (1 / 8)))
    return 1 << math.ceil(math.log2(max(256, bits) / 8))


def removed_properties(layout: LayoutSpec, present: Mapping[str, str]) -> list[str]:
    """Return the names of current table properties that set bloom filters which the layout does not have."""
    stale = {name.rpartition(".column.")[2] for name in present if name.startswith(f"{_BLOOM}-enabled.column.")}
    stale -= set(layout.bloom)
    names = [name for name in present if name.startswith(_BLOOM) and name.rpartition(".column.")[2] in stale]
    return [*names, *(["parquet.enable.dictionary"] if names and not layout.bloom else [])]


def statements(
    table: str,
    snapshot: IcebergSnapshot,
    properties: Mapping[str, str],
    keys: Sequence[SortKey],
    removed: Sequence[str],
) -> list[str]:
    """Return the statements that store a layout in a table for all later writers; empty if it is stored already."""
    present, sql_statements = snapshot.metadata.properties, []
    if sort_order_of(snapshot) != [str(key) for key in keys]:
        # This statement also sets the distribution mode.
        order = f"ORDERED BY {', '.join(map(str, keys))}" if keys else "UNORDERED"
        sql_statements.append(f"ALTER TABLE {table} WRITE {order}")
        present = {**present, DISTRIBUTION: "range" if keys else "none"}
    other = {name: value for name, value in properties.items() if present.get(name) != value}
    if other:
        sql_statements.append(f"ALTER TABLE {table} SET TBLPROPERTIES ({listed_properties(other)})")
    if removed:
        sql_statements.append(f"ALTER TABLE {table} UNSET TBLPROPERTIES ({', '.join(map(sql_text, removed))})")
    return sql_statements


def creation(
    table: str, columns: str, partition_by: Sequence[PartitionTransform], properties: Mapping[str, str]
) -> str:
    """Return the statement that creates a table."""
    by = f" PARTITIONED BY ({', '.join(each.sql('') for each in partition_by)})" if partition_by else ""
    return f"CREATE TABLE {table} ({columns}) USING iceberg{by} TBLPROPERTIES ({listed_properties(properties)})"


def sort_order_of(snapshot: IcebergSnapshot) -> list[str]:
    """Return the keys of the table's sort order as SQL. A transform, which no layout has, is returned as its text."""
    metadata = snapshot.metadata
    order = metadata.sort_order_by_id(metadata.default_sort_order_id)
    keys = []
    for field in () if order is None else order.fields:
        name = str(metadata.schema().find_column_name(field.source_id))
        if str(field.transform) != "identity":
            name = f"{field.transform} {name}"
        keys.append(
            str(SortKey(name, str(field.direction.value) == "desc", str(field.null_order.value) == "nulls-last"))
        )
    return keys


def listed_properties(properties: Mapping[str, str]) -> str:
    """Return properties in SQL syntax."""
    return ", ".join(f"{sql_text(name)} = {sql_text(value)}" for name, value in properties.items())


def sql_text(value: str) -> str:
    """Return a string literal of Spark SQL."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
