"""Tables in a catalog that pyiceberg is configured for: `iceberg:catalog.database.table`."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from parquet_core.errors import PruneError, StorageFailure, TableNotFound, WrongUse
from prune_assets.tables.catalogs.entry import CatalogEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyiceberg.catalog import Catalog


def configured_table(table: str) -> CatalogEntry | None:
    """Return the table `catalog.database.table` if pyiceberg is configured for the catalog; otherwise None.

    A table in the catalog of a Spark session can then be read by the same name without Spark. Writing requires a
    session.
    """
    parts = table.replace("`", "").split(".")
    if len(parts) < 3 or os.path.lexists(table):
        return None
    try:
        from pyiceberg.utils.config import Config
    except ImportError:
        return None
    if Config().get_catalog_config(parts[0]) is None:
        return None
    return replace(iceberg_table(".".join(parts)), name=table)


def iceberg_table(name: str) -> CatalogEntry:
    """Load a table with its current metadata from pyiceberg's catalog.

    The catalog is configured in `.pyiceberg.yaml` or as `PYICEBERG_CATALOG__NAME__URI`.
    """
    from prune_assets.tables.iceberg.metadata_files import place_of

    full = f"iceberg:{name}"
    catalog, _, table = name.partition(".")
    if not catalog or "." not in table:
        raise WrongUse(f"{full}: write iceberg:catalog.database.table")
    with _convert_errors(full, catalog) as loaded:
        location = loaded().load_table(table).metadata_location
    return CatalogEntry(
        full,
        place_of(location),
        "iceberg",
        read_only="only Iceberg commits to it",
        instead=f"use its name in a catalog of the Spark session, such as {name}",
    )


def tables_of(name: str) -> list[tuple[str, ...]]:
    """Return the tables in pyiceberg's catalog.

    `name`: `catalog` for all namespaces, `catalog.database` for one.
    """
    full = f"iceberg:{name}"
    catalog, *namespace = name.split(".")
    tables: list[tuple[str, ...]] = []
    with _convert_errors(full, catalog) as loaded:
        todo = [tuple(namespace)] if namespace else loaded().list_namespaces()
        while todo:
            within = todo.pop()
            tables += loaded().list_tables(within)
            todo += [each for each in loaded().list_namespaces(within) if len(each) > len(within)]
    return sorted(tables)


@contextmanager
def _convert_errors(full: str, catalog: str) -> Iterator[Callable[[], Catalog]]:
    """Yield a function that returns a pyiceberg catalog; convert errors in the block to PruneError."""
    from prune_assets.tables.iceberg.opening import check_installed

    check_installed(full)
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    try:
        yield cache(partial(_load, full, catalog))
    except PruneError:
        raise
    except (NoSuchTableError, NoSuchNamespaceError) as error:
        what = "table" if isinstance(error, NoSuchTableError) else "table or namespace"
        raise TableNotFound(f"{full}: the catalog has no such {what}; check the name") from None
    except Exception as error:  # noqa: BLE001 - each catalog has a client with errors of its own
        raise StorageFailure(f"{full}: the catalog does not answer ({_reason(error)}); {_step(catalog)}") from None


def _load(full: str, catalog: str) -> Catalog:
    """Load a configured catalog. Raises WrongUse if its settings are missing or invalid."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NotInstalledError

    try:
        return load_catalog(catalog)
    except Exception as error:
        if isinstance(error, NotInstalledError) or _is_wrong_setting(error):
            raise WrongUse(f"{full}: the catalog is not configured ({_reason(error)}); {_step(catalog)}") from None
        raise


def _is_wrong_setting(error: Exception) -> bool:
    """Return True if a client rejected its settings before it sent a request."""
    if type(error) is ValueError:
        return True
    package = type(error).__module__.partition(".")[0]
    if package == "botocore":
        from parquet_core.storage.stores import is_wrong_setting

        return is_wrong_setting(error)
    if package == "requests":
        from requests.exceptions import InvalidSchema, InvalidURL, MissingSchema

        return isinstance(error, InvalidSchema | InvalidURL | MissingSchema)
    return False


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".split("\n", 1)[0][:300]


def _step(catalog: str) -> str:
    return f"set PYICEBERG_CATALOG__{catalog.upper()}__URI, or see pyiceberg's configuration"
