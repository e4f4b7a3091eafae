"""Resolve the location and the format of a table to write."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import WrongUse
from parquet_core.storage import is_remote
from prune_assets.spark.stores import reach_as
from prune_assets.spark.supported import check_session
from prune_assets.tables import opening
from prune_assets.tables.catalogs.resolve import catalog_entry
from prune_assets.tables.writes.format_names import check_format

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from prune_assets.tables.catalogs.entry import CatalogEntry
    from prune_assets.tables.format import Format
    from prune_assets.tables.writing import Writing


class Target(NamedTuple):
    """Location and format of a table to write.

    `entry`: the table's entry in a catalog. None for a path.
    """

    location: str
    format: Format
    writing: Writing
    entry: CatalogEntry | None

    @property
    def opened_by(self) -> str:
        """Location that opens the table's current version, or the table's name if only a catalog has that version."""
        return self.entry.name if self.entry is not None and self.format.by_catalog_alone else self.location


def find_target(table: str | os.PathLike[str], session: SparkSession | None, *, name: str | None = None) -> Target:
    """Resolve a path or a name in a catalog to a write target.

    `name`: the format; by default the table's format.

    Refuses a table whose catalog would not see the written files, or would read them differently.
    """
    _check_name(name)
    if session is not None:
        check_session(session)
    may_be_new = name is not None and opening.format_named(name).by_catalog_alone
    entry = catalog_entry(table, session, to_write=True, may_be_new=may_be_new)
    location = os.fspath(table) if entry is None else entry.location
    if session is not None:
        reach_as(session, location)
    if entry is not None:
        for each in opening.FORMATS:
            if each.writing is not None:
                each.writing().check_entry(entry)
        if name not in {None, entry.format}:
            raise WrongUse(
                f"format={name!r}: {entry.name} is a table of {entry.format} in its catalog; leave format out"
            )
    format_ = _format_at(location, name)
    is_path = entry is None and ("/" in location or os.path.lexists(location))
    return Target(location, format_, format_.writing_at(location, by_path=is_path), entry)


def refuse_place(table: str | os.PathLike[str], name: str | None = None) -> None:
    """Raise an error if a table cannot be written to a path; does not start Spark.

    `name`: the format; by default the existing format.

    Does not check what requires a session: a name without a slash may be a table in the session's catalogs, and the
    session may have the credentials of a store.
    """
    _check_name(name)
    path = os.fspath(table)
    if name is not None:
        opening.format_named(name).writing_at(path)
    if ("/" not in path and not os.path.lexists(path)) or (name is None and is_remote(path)):
        return
    writing = _format_at(path, name).writing
    if writing is not None:
        writing().location(path)


def writable_formats() -> list[str]:
    """Return the names of the formats that support writing."""
    return [each.name for each in reversed(opening.FORMATS) if each.writing is not None]


def _check_name(name: str | None) -> None:
    check_format(name, writable_formats())


def _format_at(location: str, name: str | None) -> Format:
    return opening.format_at(location) if name is None else opening.format_named(name)
