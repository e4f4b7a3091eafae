"""Columns stored in a type that makes Spark's queries fail.

Spark cannot convert the stored type to the column's type in the table, and the whole query fails. Source: observed with
the default reader of Spark 4.3. Not covered are types that Spark reads with a loss, and types for which success depends
on something besides the type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.format.schema import Physical
from parquet_core.spark_rules.type_promotion import is_read_as

if TYPE_CHECKING:
    from collections.abc import Callable

    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn

_BYTES = frozenset({"text", "bytes", "decimal"})
# Type families that Spark may read from each physical type.
_MAY_BE_READ = {
    Physical.BOOLEAN: frozenset({"boolean"}),
    Physical.INT32: frozenset({"small", "large", "double", "date", "time", "decimal"}),
    Physical.INT64: frozenset({"large", "time", "decimal"}),
    Physical.INT96: frozenset({"time"}),
    Physical.FLOAT: frozenset({"float", "double"}),
    Physical.DOUBLE: frozenset({"double"}),
    Physical.BYTE_ARRAY: _BYTES,
    Physical.FIXED_LEN_BYTE_ARRAY: _BYTES,
}
# Stored families that Spark may read as times or as decimals. Spark does not read values with another annotation as
# times or decimals, nor bytes without an annotation as decimals.
_ONLY_OF = {"time": frozenset({"time", "date"}), "decimal": frozenset({"decimal", "small", "large"})}
_SMALL = frozenset({pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16()})
_IS: tuple[tuple[str, Callable[[pa.DataType], bool]], ...] = (
    ("boolean", pa.types.is_boolean),
    ("small", lambda arrow_type: arrow_type in _SMALL),
    # Spark reads uint64 as a decimal.
    ("large", lambda arrow_type: arrow_type in {pa.int64(), pa.uint32()}),
    ("decimal", lambda arrow_type: pa.types.is_decimal(arrow_type) or arrow_type == pa.uint64()),
    ("float", pa.types.is_float32),
    ("double", pa.types.is_float64),
    ("date", pa.types.is_date32),
    ("time", pa.types.is_timestamp),
    ("text", pa.types.is_string),
    ("bytes", lambda arrow_type: pa.types.is_binary(arrow_type) or pa.types.is_fixed_size_binary(arrow_type)),
)
NESTED = "a nested column"


def unread_type(column: LeafColumn, provenance: Provenance) -> tuple[str, str] | None:
    """Return a column's types in file and table if Spark cannot convert them.

    None if Spark can convert them, or if that is unknown.
    """
    stored = provenance.by_path.get(column.path)
    if stored is not None:
        return (type_text(stored), type_text(column)) if _is_unread(stored, column) else None
    top = column.path[:1]
    if len(column.path) > 1:
        plain = provenance.by_path.get(top)
        return None if plain is None else (type_text(plain), NESTED)
    is_nested = any(leaf.path[:1] == top for leaf in provenance.columns)
    return (NESTED, type_text(column)) if is_nested else None


def type_text(leaf: LeafColumn) -> str:
    """Return the name of a leaf's type."""
    return "null" if leaf.always_null else str(leaf.type)


def _is_unread(stored: LeafColumn, column: LeafColumn) -> bool:
    if stored.type == column.type or stored.max_repetition_level or column.max_repetition_level:
        return False
    here, wanted = _family(stored.type), _family(column.type)
    if not here or not wanted or is_read_as(stored, column):
        return False
    return wanted not in _MAY_BE_READ[stored.physical] or here not in _ONLY_OF.get(wanted, {here})


def _family(arrow_type: pa.DataType | None) -> str:
    """Return the family of a type in Spark; empty if unknown."""
    return "" if arrow_type is None else next((family for family, holds in _IS if holds(arrow_type)), "")
