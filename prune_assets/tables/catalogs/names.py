"""Distinguish names in catalogs from paths, without slow imports."""

from __future__ import annotations

import os
import re

# The keys of `CATALOGS`, which work without a session: `glue:database.table`.
PREFIXES = frozenset({"glue", "iceberg", "unity"})
# A name with one of these endings is a file or directory, not a table.
SUFFIXES = frozenset({"parquet", "pq", "delta"})
_PART = r"(?:[A-Za-z0-9_]+|`[^`/]+`)"
# Some catalogs have nested databases.
NAME = re.compile(rf"{_PART}(?:\.{_PART})*")


def is_name(table: str | os.PathLike[str]) -> bool:
    """Return True if a string is a table name, not a path.

    >>> is_name("lake.db.orders"), is_name("glue:db.orders"), is_name("lake/orders"), is_name("orders.parquet")
    (True, True, False, False)
    """
    if not isinstance(table, str) or "/" in table or os.path.lexists(table):
        return False
    catalog, colon, _ = table.partition(":")
    if colon:
        return catalog in PREFIXES
    return "." in table and NAME.fullmatch(table) is not None and table.rpartition(".")[2].lower() not in SUFFIXES


def may_be_of_session(table: str) -> bool:
    """Return True for a name that a catalog of a Spark session may have. Writes to Iceberg require such a name.

    >>> may_be_of_session("lake.db.orders"), may_be_of_session("iceberg:lake.db.orders")
    (True, False)
    """
    return is_name(table) and ":" not in table
