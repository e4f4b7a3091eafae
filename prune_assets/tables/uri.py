"""Address of a table, by which other catalogs identify it as an asset."""

from __future__ import annotations

from pathlib import Path

from parquet_core.printable import redacted
from prune_assets.tables.catalogs.names import is_name


def table_uri(table: str | Path) -> str:
    """Return the address of a table without secrets.

    A name in a catalog is returned unchanged.

    >>> from prune_assets.tables.uri import table_uri
    >>> table_uri("/lake/ids")
    'file:///lake/ids'
    >>> table_uri("glue:db.ids")
    'glue:db.ids'
    """
    path_or_uri = str(table)
    if is_name(table):
        return path_or_uri
    return redacted(path_or_uri) if "://" in path_or_uri else Path(path_or_uri).absolute().as_uri()
