"""Tables by their names in a catalog that pyiceberg is configured for: `iceberg:catalog.database.table`."""

from __future__ import annotations

import os
from dataclasses import replace

from parquet_core.errors import StorageFailure, TableNotFound, WrongUse
from prune_assets.tables.catalogs.entry import CatalogEntry


def configured_table(table: str) -> CatalogEntry | None:
    """Return a table `catalog.database.table` where pyiceberg is configured for the catalog; None where it is not.

    So a name that writes through the catalog of a Spark session is read without Spark too. Only a session writes.
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
    """Ask pyiceberg's catalog (`.pyiceberg.yaml`, `PYICEBERG_CATALOG__NAME__URI`) for the current metadata."""
    from prune_assets.tables.iceberg.metadata_files import place_of
    from prune_assets.tables.iceberg.opening import check_installed

    full = f"iceberg:{name}"
    catalog, _, table = name.partition(".")
    if not catalog or "." not in table:
        raise WrongUse(f"{full}: write iceberg:catalog.database.table")
    check_installed(full)
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    try:
        location = load_catalog(catalog).load_table(table).metadata_location
    except (NoSuchTableError, NoSuchNamespaceError):
        raise TableNotFound(f"{full}: the catalog has no such table; check the name") from None
    except Exception as error:  # noqa: BLE001 - each catalog has a client with errors of its own
        why = f"{type(error).__name__}: {error}".split("\n", 1)[0][:300]
        raise StorageFailure(
            f"{full}: the catalog does not answer ({why}); set PYICEBERG_CATALOG__{catalog.upper()}__URI, or see "
            "pyiceberg's configuration"
        ) from None
    return CatalogEntry(full, place_of(location), "iceberg", read_only="only Iceberg commits to it")
