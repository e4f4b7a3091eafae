"""Unity Catalog tables by REST: `unity:catalog.schema.table`, at DATABRICKS_HOST with DATABRICKS_TOKEN."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from parquet_core.errors import StorageFailure, TableNotFound, WrongUse
from prune_assets.tables.catalogs.entry import entry_of

if TYPE_CHECKING:
    from prune_assets.tables.catalogs.entry import CatalogEntry

_SECONDS = 30
_NOT_FOUND = 404


def unity_table(name: str) -> CatalogEntry:
    """Return the entry of `catalog.schema.table`."""
    if name.count(".") != 2 or not all(name.split(".")):
        raise WrongUse(f"unity:{name}: write unity:catalog.schema.table")
    description = _describe_table(name)
    table_type = str(description.get("table_type", ""))
    columns = description.get("columns") or []
    return entry_of(
        f"unity:{name}",
        provider=str(description.get("data_source_format", "unknown"))
        if table_type in {"MANAGED", "EXTERNAL"}
        else table_type,
        location=description.get("storage_location"),
        properties=description.get("properties") or {},
        read_only="Unity Catalog manages its files" if table_type == "MANAGED" else None,
        text_partitions=all(
            column.get("type_text") == "string" for column in columns if column.get("partition_index") is not None
        ),
    )


def _describe_table(name: str) -> dict[str, Any]:
    # These modules are imported late, because they are slow to import and most plans use no catalog.
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    request = Request(f"{_server(name)}/api/2.1/unity-catalog/tables/{quote(name, safe='.')}")  # noqa: S310 - the scheme is checked
    token = os.environ.get("DATABRICKS_TOKEN")
    if token:
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        with urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - the scheme is checked
            description = json.load(answer)
    except HTTPError as error:
        error.close()  # closes its connection, which a stored traceback would keep open
        if error.code == _NOT_FOUND:
            raise TableNotFound(f"unity:{name}: the catalog has no such table") from None
        raise StorageFailure(f"unity:{name}: the catalog answers {error.code} {error.reason}") from None
    except (URLError, OSError, ValueError) as error:
        raise StorageFailure(f"unity:{name}: {error}; is DATABRICKS_HOST the address of a catalog?") from None
    if not isinstance(description, dict):
        raise StorageFailure(f"unity:{name}: the catalog's answer does not describe a table")
    return description


def _server(name: str) -> str:
    host = os.environ.get("DATABRICKS_HOST", "").rstrip("/")
    if not host:
        raise WrongUse(f"unity:{name}: set DATABRICKS_HOST to the catalog's address, and DATABRICKS_TOKEN")
    address = host if "://" in host else f"https://{host}"
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in {"localhost", "127.0.0.1"}):
        raise WrongUse(f"unity:{name}: DATABRICKS_HOST must be an https address, because a token is sent to it")
    return address
