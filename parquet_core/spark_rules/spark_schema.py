"""Spark's own schema in the footer: types that Spark compares in its own way, and columns with defaults.

Spark compares CHAR columns with padding, and collated strings by their collation. Parquet stores both as plain strings,
and bounds, dictionaries and filters compare bytes. An INTERVAL is stored as a number, but queries cannot compare it
with numbers. Nulls of these types are null in Spark too. A VARIANT is stored as a struct of bytes, but queries do not
see a struct.

If a file lacks a column, Spark may read a default that this schema records, or a field that has another name but the
same field id.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from parquet_core.format.leaf_type import arrow_type, reason_against_pruning, sort_order
from parquet_core.format.provenance import decode_provenance, naming, parse_schema
from parquet_core.format.schema import SchemaElement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_core.format.provenance import EncodedKind, Provenance
    from parquet_core.format.schema import LeafColumn
    from parquet_core.storage import DataFile

SPARK_SCHEMA_KEY = "org.apache.spark.sql.parquet.row.metadata"
_CHAR_KEY = "__CHAR_VARCHAR_TYPE_STRING"
_COLLATION_KEY = "__COLLATIONS"
_FILLING_KEYS = ("EXISTS_DEFAULT", "parquet.field.id")


class ComparedOtherwise(StrEnum):
    """Reasons why bounds of a column cannot decide comparisons.

    The null counts of the column are nevertheless right.
    """

    CHAR = "a CHAR column is compared with padding, its statistics are not"
    CHAR_FIELD = "a CHAR field is compared with padding, its statistics are not"
    COLLATION = "a string with a collation is compared by it, its statistics by bytes"
    INTERVAL = "an INTERVAL is stored as a number, and is not supported"


_UNREADABLE = "what Spark wrote about this column cannot be read, so its comparison is not known"


def without_spark_comparisons(columns: Sequence[LeafColumn], spark_schema: str | None) -> tuple[LeafColumn, ...]:
    """Mark columns that Spark may compare differently or fill with a default.

    Strings that Spark compares, or may compare, in its own way become unsupported for pruning. `spark_schema`: value of
    SPARK_SCHEMA_KEY in the footer, None in files that Spark did not write.
    """
    if spark_schema is None:
        return tuple(columns)
    fields = _fields(spark_schema)
    reasons = None if fields is None else {name: _reason(field) for name, field in fields.items()}
    filled = None if fields is None else {name for name, field in fields.items() if _may_be_filled(field)}
    judged = (_judge(column, reasons) for column in columns)
    return tuple(
        replace(column, may_be_filled=True) if filled is None or column.path[0] in filled else column
        for column in judged
    )


def provenance_to_spark(footer_kind: EncodedKind, file: DataFile) -> Provenance:
    """Decode the schema and metadata of a footer as Spark reads them.

    Columns that Spark compares differently are marked. Errors of a damaged footer name `file`.
    """
    with naming(file):
        return _marked(footer_kind)


@lru_cache(maxsize=256)
def _marked(footer_kind: EncodedKind) -> Provenance:
    stored = decode_provenance(footer_kind)
    if any(column.always_null for column in stored.columns):
        stored = replace(stored, columns=tuple(_by_physical_type(column) for column in stored.columns))
    if (spark_schema := stored.key_values.get(SPARK_SCHEMA_KEY)) is None:
        return stored
    return replace(stored, columns=_marked_columns(footer_kind[0] or b"", spark_schema))


@lru_cache(maxsize=64)
def _marked_columns(schema: bytes, spark_schema: str) -> tuple[LeafColumn, ...]:
    columns, _ = parse_schema(schema)
    return without_spark_comparisons(columns, spark_schema)


def _by_physical_type(column: LeafColumn) -> LeafColumn:
    """Return a column with its physical type in place of a null type, because Spark reads the physical type.

    Only Spark 4.1.0 and 4.1.1 read the null type, VOID (SPARK-56045).
    """
    if not column.always_null or len(column.path) > 1:
        return column
    element = SchemaElement("", column.physical, column.type_length)
    plain_type = arrow_type(element, column.physical)
    reason = reason_against_pruning(element, column.physical)
    return replace(column, type=plain_type, order=sort_order(plain_type, column.physical), unsupported=reason)


def has_reliable_nulls(column: LeafColumn) -> bool:
    """Return True if a column's nulls in files are null in Spark too.

    That includes columns whose values Spark compares differently.
    """
    return not column.unsupported or isinstance(column.unsupported, ComparedOtherwise)


def _judge(column: LeafColumn, reasons: Mapping[str, str] | None) -> LeafColumn:
    plain = column.type is None or not (pa.types.is_string(column.type) or pa.types.is_binary(column.type))
    reason = _UNREADABLE if reasons is None else reasons.get(column.path[0], "")
    if (
        not reason
        or column.unsupported
        or (plain and len(column.path) == 1 and reason is not ComparedOtherwise.INTERVAL)
    ):
        return column
    return replace(column, unsupported=reason)


def _may_be_filled(field: Mapping[str, object]) -> bool:
    return any(key in str(field) for key in _FILLING_KEYS)


def _fields(schema: str) -> dict[str, Mapping[str, object]] | None:
    """Return the fields by name; None if the schema cannot be read."""
    try:
        fields = msgspec.json.decode(schema, type=_Schema).fields
    except (msgspec.DecodeError, RecursionError):
        return None
    return {str(field["name"]): field for field in fields if isinstance(field, dict) and "name" in field}


class _Schema(msgspec.Struct):
    fields: list[object]


def _reason(field: Mapping[str, object]) -> str:
    metadata = field.get("metadata", {})
    if "type" not in field or not isinstance(metadata, dict):
        return _UNREADABLE
    declared_type = str(field["type"]).lower()
    if declared_type == "variant" or "'variant'" in declared_type or "'udt'" in declared_type:
        return "Spark changes the stored value when it reads it"
    if str(metadata.get(_CHAR_KEY, "")).lower().startswith("char"):
        return ComparedOtherwise.CHAR
    if _COLLATION_KEY in metadata or " collate " in declared_type or _COLLATION_KEY.lower() in declared_type:
        return ComparedOtherwise.COLLATION
    if isinstance(field["type"], dict) and (
        "char" in str(metadata.get(_CHAR_KEY, "")).lower() or _CHAR_KEY.lower() in declared_type
    ):
        return ComparedOtherwise.CHAR_FIELD
    return ComparedOtherwise.INTERVAL if declared_type.startswith("interval ") or "'interval " in declared_type else ""
