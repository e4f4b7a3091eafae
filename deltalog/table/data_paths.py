"""Directories of data files below a table, named as by delta-spark.

Some readers take partition values from the directory, not from the log.
"""

from __future__ import annotations

import secrets
import string
from typing import TYPE_CHECKING

from deltalog.table.properties import is_true
from parquet_core.spark_rules.partition_inference import NULL_DIRECTORY
from parquet_core.storage.partition_discovery import escape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltalog.table.schema import TableColumn, TableSchema

_RANDOMIZED, _PREFIX_LENGTH = "delta.randomizeFilePrefixes", "delta.randomPrefixLength"
_PREFIX_SIGNS = string.ascii_letters + string.digits
# In bytes; common file systems do not allow longer names.
_LONGEST_NAME = 255


def data_directory(schema: TableSchema, values: Mapping[str, str | None], properties: Mapping[str, str]) -> str:
    """Return the directory of a file, with a trailing slash; "" for the table's own.

    >>> from deltalog.table.schema import read_schema
    >>> columns = ["day", "place"]
    >>> fields = [f'{{"name":"{name}","type":"string","nullable":true,"metadata":{{}}}}' for name in columns]
    >>> text = f'{{"type":"struct","fields":[{",".join(fields)}]}}'
    >>> schema = read_schema(text, partition_columns=columns, mapping="none", location="events")
    >>> data_directory(schema, {"day": "2024-01-01", "place": "a/b c"}, {})
    'day=2024-01-01/place=a%2Fb c/'
    >>> data_directory(schema, {"day": "", "place": None}, {})
    'day=__HIVE_DEFAULT_PARTITION__/place=__HIVE_DEFAULT_PARTITION__/'
    >>> len(data_directory(schema, {"day": "2024-01-01", "place": "x"}, {"delta.randomizeFilePrefixes": "true"}))
    3

    `values`: texts as the protocol writes them, keyed by column name; with column mapping, directories use the physical
    names. `properties`: table properties; with `delta.randomizeFilePrefixes` the directory name is random. If a value
    is too long for a name, the file is put in the table's own directory, which the protocol allows.

    Source: `escapePathName` of Spark, `DelayedCommitProtocol` of delta-spark.
    """
    if is_true(properties, _RANDOMIZED):
        length = properties.get(_PREFIX_LENGTH, "")
        return "".join(secrets.choice(_PREFIX_SIGNS) for _ in range(int(length) if length.isdecimal() else 2)) + "/"
    columns = {column.leaf.path[0]: column for column in schema.columns if column.partition is not None}
    parts = [_part(columns[name], values[name]) for name in schema.partition_columns]
    if any(len(part.encode()) > _LONGEST_NAME for part in parts):
        return ""
    return "".join(f"{part}/" for part in parts)


def _part(column: TableColumn, value: str | None) -> str:
    if value and column.delta_type == "timestamp":
        # Instants are written as UTC without a zone.
        value = value.replace("T", " ").removesuffix("Z")
    return f"{escape(column.partition or column.leaf.path[0])}={escape(value) if value else NULL_DIRECTORY}"
