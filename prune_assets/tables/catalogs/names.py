"""Which texts name a table of a catalog, and which are paths; imports nothing that takes time."""

from __future__ import annotations

import os
import re

# The keys of `CATALOGS`, which are asked without a session: `glue:database.table`.
PREFIXES = frozenset({"glue", "iceberg", "unity"})
# What ends a file's or a directory's name and is no table.
SUFFIXES = frozenset({"parquet", "pq", "delta"})
_PART = r"(?:[A-Za-z0-9_]+|`[^`/]+`)"
# Some catalogs have databases in databases.
NAME = re.compile(rf"{_PART}(?:\.{_PART})*")


def is_name(table: str | os.PathLike[str]) -> bool:
    """Tell whether a table is named as a catalog has it, and by no path.

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
    """Tell whether a table is named as the catalogs of a Spark session have it, by which alone Iceberg is written.

    >>> may_be_of_session("lake.db.orders"), may_be_of_session("iceberg:lake.db.orders")
    (True, False)
    """
    return is_name(table) and ":" not in table
