"""Find out what keeps the files of a table, and open it; again where files come or go meanwhile."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from parquet_core.errors import StaleListing
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.tables.delta import delta_table
from prune_assets.tables.parquet import ParquetTable

if TYPE_CHECKING:
    import datetime as dt
    import os
    from collections.abc import Callable, Sequence

    from parquet_core.dataset.metadata_cache import MetadataCache
    from prune_assets.tables.table import Table


def open_table(
    table: str | os.PathLike[str] | Sequence[str],
    *,
    semantics: SparkSemantics,
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
    cache: MetadataCache | None = None,
    whole_below: int | None = None,
) -> Table:
    """Open a table, of a Delta table a version; the arguments are those of `plan`.

    `whole_below`: as `read_for_schema` has it.
    """
    any_case = not semantics.case_sensitive
    delta = delta_table(table, version=version, timestamp=timestamp, cache=cache, allow=allow, any_case=any_case)
    if delta is not None:
        return delta
    return ParquetTable.open(table, semantics=semantics, cache=cache, whole_below=whole_below)


def open_as_written(table: str | os.PathLike[str] | Sequence[str], *, allow: Sequence[str] = ()) -> Table:
    """Open a table by the names that its files have, in the case in which they have them."""
    return open_table(table, semantics=SparkSemantics(case_sensitive=True), allow=allow)


Made = TypeVar("Made")
_ATTEMPTS = 3


def retry_on_stale_listing(attempt: Callable[[], Made], *, is_steady: Callable[[Made], bool] = lambda _: True) -> Made:
    """Return what an attempt makes; one that meets StaleListing, or is not steady, is followed by another.

    Of the third one the result is returned, or the error raised, whatever it is.

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
