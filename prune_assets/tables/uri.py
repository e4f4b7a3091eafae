"""The address of a table, by which catalogs of assets know it."""

from __future__ import annotations

from pathlib import Path

from parquet_core.printable import redacted


def table_uri(table: str | Path) -> str:
    """Return the address of a table, its secrets hidden.

    >>> from prune_assets.tables.uri import table_uri
    >>> table_uri("/lake/ids")
    'file:///lake/ids'
    """
    path_or_uri = str(table)
    return redacted(path_or_uri) if "://" in path_or_uri else Path(path_or_uri).absolute().as_uri()
