"""Find the table that a name means: a path, or an entry of a catalog."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from prune_assets.tables.catalogs.glue import glue_table
from prune_assets.tables.catalogs.session_catalog import session_table
from prune_assets.tables.catalogs.unity import unity_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from prune_assets.tables.catalogs.entry import CatalogEntry

# What is asked without a session: the name before the colon, and who answers for the one behind it.
CATALOGS: Mapping[str, Callable[[str], CatalogEntry]] = {"glue": glue_table, "unity": unity_table}
_PART = r"(?:[A-Za-z0-9_]+|`[^`/]+`)"
_NAME = re.compile(rf"{_PART}(?:\.{_PART}){{0,2}}")


def catalog_entry(
    table: str | os.PathLike[str] | Sequence[str], session: SparkSession | None = None
) -> CatalogEntry | None:
    """Return what a catalog says of a table that is named; None for what is a path.

    A path is what exists or has a slash.

    >>> catalog_entry("/lake/orders") is None
    True
    """
    if not isinstance(table, str) or "/" in table or os.path.lexists(table):
        return None
    catalog, colon, name = table.partition(":")
    if colon and catalog in CATALOGS:
        return CATALOGS[catalog](name)
    if session is None or not _NAME.fullmatch(table):
        return None
    return session_table(table, session)
