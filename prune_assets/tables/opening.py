"""Recognize the format of a table and open it; retry if files change meanwhile."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from parquet_core.errors import StaleListing
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.tables.catalogs.resolve import catalog_entry
from prune_assets.tables.delta import DELTA
from prune_assets.tables.format import OpenOptions
from prune_assets.tables.iceberg import ICEBERG
from prune_assets.tables.parquet import PARQUET

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from parquet_core.dataset.metadata_cache import MetadataCache
    from prune_assets.tables.format import Format, Location
    from prune_assets.tables.table import Table

# The formats in the order in which they are tried. The last one takes every remaining location.
FORMATS: tuple[Format, ...] = (DELTA, ICEBERG, PARQUET)


def open_table(
    table: Location,
    *,
    semantics: SparkSemantics,
    session: SparkSession | None = None,
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
    cache: MetadataCache | None = None,
    whole_below: int | None = None,
) -> Table:
    """Open a table, at one of its versions if it has any. Arguments not listed here are documented in `plan`.

    `session`: Spark session whose catalogs resolve names.
    `whole_below`: as in `read_for_schema`.
    """
    entry = catalog_entry(table, session)
    if entry is not None and entry.text_partitions and session is None:
        semantics = replace(semantics, infer_partition_types=False)
    options = OpenOptions(
        semantics=semantics,
        version=version,
        timestamp=timestamp,
        allow=allow,
        cache=cache,
        whole_below=whole_below,
        entry=entry,
    )
    location = table if entry is None else entry.location
    with ExitStack() as looking:
        for each in FORMATS:
            looking.enter_context(each.look_ahead(location))
        opened = next((candidate for each in FORMATS if (candidate := each.open(location, options)) is not None), None)
    assert opened is not None  # the last format opens every location
    return opened


def open_as_written(
    table: Location,
    *,
    session: SparkSession | None = None,
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
) -> Table:
    """Open a table with the column names of its files in their exact case, whatever the session's settings."""
    semantics = SparkSemantics(case_sensitive=True)
    return open_table(table, semantics=semantics, session=session, version=version, timestamp=timestamp, allow=allow)


def recognize(table: Location, session: SparkSession | None = None) -> tuple[Format, Location]:
    """Return the format and the location of a table without opening it."""
    entry = catalog_entry(table, session)
    location = table if entry is None else entry.location
    return format_at(location), location


def format_at(location: Location) -> Format:
    """Return the format of the table at a path or address; plain Parquet if it has no log or metadata."""
    return next(each for each in FORMATS if each.is_at(location))


def format_named(name: str) -> Format:
    """Return the format with a name."""
    return next(each for each in FORMATS if each.name == name)


Made = TypeVar("Made")
_ATTEMPTS = 3


def retry_on_stale_listing(attempt: Callable[[], Made], *, is_steady: Callable[[Made], bool] = lambda _: True) -> Made:
    """Return the result of an attempt, after up to two retries.

    An attempt is repeated if it raises StaleListing, or if its result is not steady. The third attempt is the last:
    its result is returned, or its error raised, in any case.

    >>> numbers = iter([1, 2, 3, 4])
    >>> retry_on_stale_listing(lambda: next(numbers), is_steady=lambda number: number > 1)
    2
    """
    for _ in range(_ATTEMPTS - 1):
        with suppress(StaleListing):
            made = attempt()
            if is_steady(made):
                return made
    return attempt()
