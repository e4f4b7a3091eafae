"""Resolve a path or a name to an entry of a catalog; all functions that open tables use this module."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from parquet_core.errors import TableNotFound, UnsupportedFeature, WrongUse
from parquet_core.storage.remote import refuse_other_spelling
from prune_assets.tables.catalogs.entry import plain
from prune_assets.tables.catalogs.glue import glue_table
from prune_assets.tables.catalogs.names import NAME, SUFFIXES, may_be_of_session
from prune_assets.tables.catalogs.session_catalog import (
    VIEW,
    databases,
    described,
    full_name,
    has_database,
    session_table,
)
from prune_assets.tables.catalogs.unity import unity_table
from prune_assets.tables.iceberg.catalog import configured_table, iceberg_table
from prune_assets.tables.iceberg.session_catalog import refuse_selector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from prune_assets.tables.catalogs.entry import CatalogEntry

# Catalogs that work without a session, by the prefix of a name; each function resolves the rest of the name.
CATALOGS: Mapping[str, Callable[[str], CatalogEntry]] = {
    "glue": glue_table,
    "iceberg": iceberg_table,
    "unity": unity_table,
}
_BY_PATH = re.compile(r"(?:delta|parquet)\.`(.+)`")


def catalog_entry(
    table: str | os.PathLike[str] | Sequence[str],
    session: SparkSession | None = None,
    *,
    to_write: bool = False,
    may_be_new: bool = False,
) -> CatalogEntry | None:
    """Return the catalog entry of a named table; None for a path.

    A path is a string with a slash, a `Path`, a list of files, or a name that no catalog of the session has. A path
    wins over a view of the same name. Without a session, `a.b.c` is an Iceberg table if pyiceberg has a catalog `a`.

    >>> catalog_entry("/lake/orders") is None
    True

    `to_write`: True to resolve the target of a write, which may be new. An unknown name of one part is then a path; an
    unknown `database.table` raises TableNotFound unless `may_be_new` is True.
    `may_be_new`: True if a catalog may create the table.

    Raises WrongUse if a path and another table have the name, and for a path in Spark SQL's form; TableNotFound if
    neither a path nor a table has the name; UnsupportedFeature for a table that only its own engine can write.
    """
    given: object = table
    if not isinstance(given, str | os.PathLike | Sequence):
        raise WrongUse(
            f"{type(given).__name__} is not a table: give the path or name of a table, or a list of file paths"
        )
    if isinstance(table, str) and (by_path := _BY_PATH.fullmatch(table)) is not None:
        raise WrongUse(f"{table}: is Spark SQL's form of a path; give only the path: {by_path[1]}")
    if not isinstance(table, str) or "/" in table:
        if isinstance(table, str):
            refuse_other_spelling(table)
        return None
    catalog, colon, name = table.partition(":")
    if colon and catalog in CATALOGS and not os.path.lexists(table):
        return _check_writable(CATALOGS[catalog](name), to_write=to_write)
    if not NAME.fullmatch(table):
        return None
    if session is None:
        configured = configured_table(table)
        if configured is None:
            _check_without_session(table, to_write=to_write)
        return configured
    return _entry_of_session(table, session, to_write=to_write, may_be_new=may_be_new)


def needs_session(table: str) -> bool:
    """Return True if only the catalogs of a Spark session can resolve a table.

    >>> needs_session("db.orders"), needs_session("glue:db.orders"), needs_session("lake/orders")
    (True, False, False)
    """
    return may_be_of_session(table) and configured_table(table) is None


def _entry_of_session(table: str, session: SparkSession, *, to_write: bool, may_be_new: bool) -> CatalogEntry | None:
    refuse_selector(table, session, to_write=to_write)
    description = described(table, session)
    is_path = os.path.lexists(table)
    if description is None and not is_path:
        if not to_write:
            raise TableNotFound(f"{table}: neither a path nor a table of the session's catalogs; check the name")
        if not may_be_new:
            _check_new(table, session)
    if description is None or (is_path and description["Type"] == VIEW):
        return None
    if is_path and not _is_at(table, description.get("Location")):
        raise WrongUse(
            f"{table}: is both a path and a table; write ./{table} for {os.path.abspath(table)}, or "  # noqa: PTH100
            f"{full_name(description)} for the table at {description.get('Location', 'no location')}"
        )
    return _check_writable(session_table(table, description, session), to_write=to_write)


def _is_at(path: str, location: str | None) -> bool:
    return location is not None and os.path.realpath(path) == os.path.realpath(plain(location))


def _check_writable(entry: CatalogEntry, *, to_write: bool) -> CatalogEntry:
    if to_write and entry.read_only is not None:
        raise UnsupportedFeature(f"{entry.name}: {entry.read_only}, so it is not written here; {entry.instead}")
    return entry


def _check_without_session(table: str, *, to_write: bool) -> None:
    if "." not in table or os.path.lexists(table):
        return
    near = _near_names(table)
    if not to_write and (near or get_close_matches(table.rpartition(".")[2].lower(), SUFFIXES)):
        hint = f"did you mean {near[0]}?" if near else "check the path"
        raise TableNotFound(f"{table}: no such file or directory; {hint}")
    raise TableNotFound(
        f"{table}: no such path, and without a Spark session its catalogs are not known; pass the path, session=spark "
        f"in Python, glue:{table} or unity:{table}, or name the Iceberg catalog in pyiceberg's configuration"
    )


def _near_names(path: str) -> list[str]:
    """Return a list of the most similar name in the current directory; empty if no name is similar."""
    try:
        return get_close_matches(path, os.listdir(), n=1, cutoff=0.8)  # noqa: PTH208
    except OSError:
        return []


def _check_new(table: str, session: SparkSession) -> None:
    """Refuse a new name `database.table`, because the user probably expects a table in the catalog, not a directory."""
    database, dot, last = table.rpartition(".")
    if not dot or last.lower() in SUFFIXES:
        return
    as_path = f"write ./{table} for a directory"
    if has_database(table, session):
        raise TableNotFound(
            f"{table}: the session's catalog has its database and no such table; create it first (CREATE TABLE {table} "
            f"(..) USING delta or parquet), or {as_path}"
        )
    near = get_close_matches(database, databases(session), n=1)
    hint = f"did you mean {near[0]}.{last}" if near else f"create it first (CREATE DATABASE {database})"
    raise TableNotFound(f"{table}: the session's catalog has no database {database}; {hint}, or {as_path}")
