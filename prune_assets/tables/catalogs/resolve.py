"""Find the table that a name means: a path, or an entry of a catalog. Every way to a table comes through here."""

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

# What is asked without a session: the name before the colon, and who answers for the one behind it.
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
    """Return what a catalog says of a table that is named; None for what is a path.

    A path is what has a slash, a `Path`, and what no catalog of the session knows; a view is no table beside a path.
    Without a session a name of three parts is one of Iceberg where pyiceberg is configured for a catalog of the first.

    >>> catalog_entry("/lake/orders") is None
    True

    `to_write`: the table may be new, `may_be_new`: in a catalog too, which makes it then. Raises WrongUse for a name
    that is both a path and another table, and for a path as Spark SQL has it; TableNotFound for a name of neither,
    where it is to be written for `database.table` alone, which is not created here; UnsupportedFeature for a table that
    only its engine writes.
    """
    given: object = table
    if not isinstance(given, str | os.PathLike | Sequence):
        raise WrongUse(
            f"{type(given).__name__} is no table: give the path or the name of one, or a list of paths of files"
        )
    if isinstance(table, str) and (by_path := _BY_PATH.fullmatch(table)) is not None:
        raise WrongUse(f"{table}: is how Spark SQL names a path; name the path alone: {by_path[1]}")
    if not isinstance(table, str) or "/" in table:
        if isinstance(table, str):
            refuse_other_spelling(table)
        return None
    catalog, colon, name = table.partition(":")
    if colon and catalog in CATALOGS and not os.path.lexists(table):
        return _checked(CATALOGS[catalog](name), to_write=to_write)
    if not NAME.fullmatch(table):
        return None
    if session is None:
        configured = configured_table(table)
        if configured is None:
            _check_without_session(table, to_write=to_write)
        return configured
    return _entry_of_session(table, session, to_write=to_write, may_be_new=may_be_new)


def needs_session(table: str) -> bool:
    """Tell whether only the catalogs of a Spark session know a table.

    >>> needs_session("db.orders"), needs_session("glue:db.orders"), needs_session("lake/orders")
    (True, False, False)
    """
    return may_be_of_session(table) and configured_table(table) is None


def _entry_of_session(table: str, session: SparkSession, *, to_write: bool, may_be_new: bool) -> CatalogEntry | None:
    refuse_selector(table, session, to_write=to_write)
    said = described(table, session)
    is_path = os.path.lexists(table)
    if said is None and not is_path:
        if not to_write:
            raise TableNotFound(f"{table}: no such path, and the session's catalogs have no such table; check the name")
        if not may_be_new:
            _check_new(table, session)
    if said is None or (is_path and said["Type"] == VIEW):
        return None
    if is_path and not _is_at(table, said.get("Location")):
        raise WrongUse(
            f"{table}: is both a path and a table; write ./{table} for {os.path.abspath(table)}, or "  # noqa: PTH100
            f"{full_name(said)} for the table at {said.get('Location', 'no location')}"
        )
    return _checked(session_table(table, said, session), to_write=to_write)


def _is_at(path: str, location: str | None) -> bool:
    return location is not None and os.path.realpath(path) == os.path.realpath(plain(location))


def _checked(entry: CatalogEntry, *, to_write: bool) -> CatalogEntry:
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
    """Return what lies beside a path and is named nearly like it, the nearest first."""
    try:
        return get_close_matches(path, os.listdir(), n=1, cutoff=0.8)  # noqa: PTH208
    except OSError:
        return []


def _check_new(table: str, session: SparkSession) -> None:
    """Refuse a new name `database.table`: its writer expects a table of the catalog, not a directory."""
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
