"""What Spark wrote beside the schema: types whose comparison is not that of the stored bytes.

CHAR columns are compared padded, collated strings by their collation. Both are plain strings to
Parquet, and bounds, dictionaries and filters know bytes only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_core.schema import LeafColumn

_SCHEMA_KEY = "org.apache.spark.sql.parquet.row.metadata"
_CHAR_KEY = "__CHAR_VARCHAR_TYPE_STRING"
_COLLATION_KEY = "__COLLATIONS"


def without_spark_comparisons(columns: Sequence[LeafColumn], key_values: Mapping[str, str]) -> tuple[LeafColumn, ...]:
    """Mark the columns that Spark compares in its own way as not to be pruned on."""
    reasons = _reasons(key_values.get(_SCHEMA_KEY))
    return tuple(
        replace(column, unsupported=reasons[column.path[0]]) if column.path[0] in reasons else column
        for column in columns
    )


def _reasons(schema: str | None) -> dict[str, str]:
    if schema is None:
        return {}
    try:
        fields = msgspec.json.decode(schema)["fields"]
        return {field["name"]: reason for field in fields if (reason := _reason(field))}
    except (msgspec.DecodeError, LookupError, TypeError):
        # Not a schema that Spark wrote; the types of Parquet say all there is.
        return {}


def _reason(field: Mapping[str, Any]) -> str:
    metadata = field.get("metadata", {})
    if str(metadata.get(_CHAR_KEY, "")).lower().startswith("char"):
        return "a CHAR column is compared with padding, its statistics are not"
    if _COLLATION_KEY in metadata or " collate " in str(field["type"]):
        return "a string with a collation is compared by it, its statistics by bytes"
    return ""
