"""Parquet types in which Spark stores its types, by name."""

from __future__ import annotations

import re

from parquet_core.format.leaf_type import Physical
from parquet_core.format.schema import SchemaElement

# Bytes of a decimal that exceeds 64 bits.
FIXED_BYTES = 16
DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")
_BY_NAME: dict[str, SchemaElement] = {
    "string": SchemaElement("", Physical.BYTE_ARRAY, logical=(1, [])),
    "long": SchemaElement("", Physical.INT64),
    "bigint": SchemaElement("", Physical.INT64),
    "integer": SchemaElement("", Physical.INT32),
    "int": SchemaElement("", Physical.INT32),
    "short": SchemaElement("", Physical.INT32, converted=16),
    "byte": SchemaElement("", Physical.INT32, converted=15),
    "float": SchemaElement("", Physical.FLOAT),
    "double": SchemaElement("", Physical.DOUBLE),
    "boolean": SchemaElement("", Physical.BOOLEAN),
    "binary": SchemaElement("", Physical.BYTE_ARRAY),
    "date": SchemaElement("", Physical.INT32, logical=(6, [])),
    "timestamp": SchemaElement("", Physical.INT64, logical=(8, [True, (2, ())])),
    "timestamp_ntz": SchemaElement("", Physical.INT64, logical=(8, [False, (2, ())])),
}


def parquet_element(name: str) -> SchemaElement | None:
    """Return the Parquet element in which Spark stores a type.

    None if the type is unknown or has no order.
    """
    if name in _BY_NAME:
        return _BY_NAME[name]
    decimal = DECIMAL.fullmatch(name)
    precision, scale = (int(decimal[1]), int(decimal[2])) if decimal else (10, 0)
    if not decimal and name != "decimal":
        return None
    # Spark chooses the physical type by the precision.
    stored = Physical.INT32 if precision <= 9 else Physical.INT64 if precision <= 18 else Physical.FIXED_LEN_BYTE_ARRAY
    return SchemaElement("", stored, type_length=FIXED_BYTES, logical=(5, [scale, precision]))
