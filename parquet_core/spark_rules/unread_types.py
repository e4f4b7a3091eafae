"""Columns that a file stores in a type that Spark cannot read as the table's: it gives up the whole query then.

Source: observed of Spark 4.3, with the reader that it uses by default. Of types that it reads with a loss, and of those
that depend on more than the type, nothing is said.
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
# What may be read of values that are stored so.
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
# Annotated as something else they are no times, and as nothing no decimals.
_ONLY_OF = {"time": frozenset({"time", "date"}), "decimal": frozenset({"decimal", "small", "large"})}
_SMALL = frozenset({pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16()})
_IS: tuple[tuple[str, Callable[[pa.DataType], bool]], ...] = (
    ("boolean", pa.types.is_boolean),
    ("small", lambda kind: kind in _SMALL),
    # To Spark a uint64 is a decimal.
    ("large", lambda kind: kind in {pa.int64(), pa.uint32()}),
    ("decimal", lambda kind: pa.types.is_decimal(kind) or kind == pa.uint64()),
    ("float", pa.types.is_float32),
    ("double", pa.types.is_float64),
    ("date", pa.types.is_date32),
    ("time", pa.types.is_timestamp),
    ("text", pa.types.is_string),
    ("bytes", lambda kind: pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind)),
)
NESTED = "a nested column"


def unread_type(column: LeafColumn, provenance: Provenance) -> tuple[str, str] | None:
    """Return the types of a column in a file and in its table, where Spark cannot read the one as the other."""
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
    """Return the type of a leaf in words."""
    return "null" if leaf.always_null else str(leaf.type)


def _is_unread(stored: LeafColumn, column: LeafColumn) -> bool:
    if stored.type == column.type or stored.max_repetition_level or column.max_repetition_level:
        return False
    here, wanted = _family(stored.type), _family(column.type)
    if not here or not wanted or is_read_as(stored, column):
        return False
    return wanted not in _MAY_BE_READ[stored.physical] or here not in _ONLY_OF.get(wanted, {here})


def _family(kind: pa.DataType | None) -> str:
    """Return what a type is to Spark; empty where that is not known."""
    return "" if kind is None else next((family for family, holds in _IS if holds(kind)), "")
