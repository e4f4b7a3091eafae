"""Values of columns that a data file lacks: the partition value, else the initial default, else null.

Files migrated from Hive lack partition columns. Source: "Column Projection" in Iceberg's specification.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from prune_assets.tables.iceberg.manifests.manifest import ABSENT
from prune_assets.tables.iceberg.metadata_files import wrapping_pyiceberg_errors
from prune_assets.tables.iceberg.single_values import as_array, number_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from parquet_core.dataset.metadata_index import MetadataIndex
    from prune_assets.tables.iceberg.columns import IcebergColumn
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot

_DIGITS = Context(prec=38)


def absent_values(
    snapshot: IcebergSnapshot, columns: Iterable[IcebergColumn], index: MetadataIndex, file: int
) -> Mapping[str, pa.Scalar]:
    """Return the values of top-level columns that a file lacks, by name.

    Columns of unknown value are left out. Columns whose value is null in every file that lacks them are left out too,
    because the reader fills in the nulls.
    """
    footer_kind = index.groups.provenances[int(index.groups.provenance_ids[file])]
    values = {}
    for column in columns:
        leaf = column.leaf
        if len(leaf.path) > 1 or not leaf.may_be_filled or not footer_kind.columns or leaf.path in footer_kind.by_path:
            continue
        with wrapping_pyiceberg_errors(snapshot.metadata_path):
            value = _value(snapshot, column, file, has_ids=not footer_kind.is_unnamed)
        if value is not None:
            values[leaf.path[0]] = value
    return values


def _value(snapshot: IcebergSnapshot, column: IcebergColumn, file: int, *, has_ids: bool) -> pa.Scalar | None:
    spec = int(snapshot.files.spec[file])
    for field in snapshot.partition_fields:
        if field.spec == spec and field.source == column.field_id and field.transform == "identity":
            value = snapshot.files[file].partition[field.position]
            return None if value is ABSENT else _scalar(column, value)
    # A file without field ids may have the column under an unknown name.
    return _scalar(column, _default(snapshot, column)) if has_ids else None


def _default(snapshot: IcebergSnapshot, column: IcebergColumn) -> Any:
    default = getattr(snapshot.schema.find_field(column.field_id), "initial_default", None)
    if isinstance(default, Decimal) and column.leaf.type is not None:
        return default.quantize(Decimal((0, (1,), -column.leaf.type.scale)), context=_DIGITS)
    return default


def _scalar(column: IcebergColumn, value: Any) -> pa.Scalar | None:
    """Return a value as an Arrow scalar; None if the column's type cannot hold it."""
    if value is None:
        return pa.scalar(None, pa.null())
    (scalar,) = as_array(column, [number_of(value)])
    return scalar if scalar.is_valid else None
