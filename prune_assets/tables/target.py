"""Find out where a table is written, and in which format."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import UnsupportedFeature, WrongUse
from prune_assets.session.stores import reach_as
from prune_assets.session.supported import check_session
from prune_assets.tables import opening
from prune_assets.tables.catalogs.resolve import catalog_entry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from prune_assets.tables.catalogs.entry import CatalogEntry
    from prune_assets.tables.format import Format
    from prune_assets.tables.writing import Writing


class Target(NamedTuple):
    """Where a table is written, and how; `entry`: what a catalog says of it."""

    location: str
    format: Format
    writing: Writing
    entry: CatalogEntry | None


def find_target(table: str | os.PathLike[str], session: SparkSession | None, *, name: str | None = None) -> Target:
    """Return where a path or a name of a catalog is written; `name`: the format, by default what is there.

    Refuses a table of a catalog that would not see it or read it otherwise.
    """
    names = [each.name for each in reversed(opening.FORMATS) if each.writing is not None]
    if name not in {None, *names}:
        raise WrongUse(f"format={name!r}: choose {' or '.join(map(repr, names))}")
    if session is not None:
        check_session(session)
    entry = catalog_entry(table, session, to_write=True)
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
    format_ = (
        opening.format_at(location) if name is None else next(each for each in opening.FORMATS if each.name == name)
    )
    if format_.writing is None:
        why = format_.read_only or f"tables of {format_.name} are read only; write to another place"
        raise UnsupportedFeature(f"{location}: {why}")
    return Target(location, format_, format_.writing(), entry)
