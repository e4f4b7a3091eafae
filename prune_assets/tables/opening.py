"""Find out what keeps the files of a table, and open it; again where files come or go meanwhile."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from parquet_core.errors import StaleListing
from prune_assets.tables.delta import DeltaTable, delta_table
from prune_assets.tables.parquet import ParquetTable

if TYPE_CHECKING:
    import datetime as dt
    import os
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_cache import MetadataCache
    from parquet_core.dataset.metadata_index import MetadataIndex
    from prune_assets.sql.semantics import SparkSemantics
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


def read_whole(
    table: str | os.PathLike[str] | Sequence[str], *, allow: Sequence[str] = ()
) -> tuple[MetadataIndex, NDArray[np.int64] | None]:
    """Read the footers of all files of a table, by the names that the files have or, of a Delta table, the log.

    Returns a number for the partition of each file as well; None where directory names tell.
    """
    from parquet_core.dataset.opening import read_dataset

    delta = delta_table(table, version=None, timestamp=None, allow=allow)
    return (read_dataset(table), None) if delta is None else (delta.read_all(), delta.partition_of_files())


def read_some(table: Table, numbers: NDArray[np.int64]) -> tuple[MetadataIndex, NDArray[np.int64] | None]:
    """Read the footers of some files of a table; returns what `read_whole` does."""
    if isinstance(table, ParquetTable):
        return table.listed.of_files(numbers).read_all(), None
    assert isinstance(table, DeltaTable)
    return table.part(numbers).read_all(), table.partition_of_files()[numbers]


Made = TypeVar("Made")
_ATTEMPTS = 3


def made_steadily(attempt: Callable[[], Made], *, is_steady: Callable[[Made], bool] = lambda _: True) -> Made:
    """Return what an attempt makes; one that meets StaleListing, or is not steady, is followed by another.

    Of the third one the result is returned, or the error raised, whatever it is.

    >>> numbers = iter([1, 2, 3, 4])
    >>> made_steadily(lambda: next(numbers), is_steady=lambda number: number > 1)
    2
    """
    for _ in range(_ATTEMPTS - 1):
        with suppress(StaleListing):
            made = attempt()
            if is_steady(made):
                return made
    return attempt()
