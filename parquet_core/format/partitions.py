"""Columns that stand in directory names (`day=2024-01-01/`), as Hive and Spark lay them out.

Their names are known in this version, their values are not asked yet: predicates on them keep data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from parquet_core.format.schema import LeafColumn, Physical, SortOrder

if TYPE_CHECKING:
    from collections.abc import Iterable


def partition_columns(paths: Iterable[str]) -> tuple[LeafColumn, ...]:
    """Return the columns that the directories of these files name, in order of depth.

    >>> [column.path for column in partition_columns(["t/day=1/hour=2/part-0.parquet"])]
    [('day',), ('hour',)]
    """
    names: dict[str, None] = {}
    for directory in sorted({path.rpartition("/")[0] for path in paths}):
        names.update({unquote(part.partition("=")[0]): None for part in directory.split("/") if "=" in part})
    return tuple(_column(name) for name in names)


def without_overridden(columns: Iterable[LeafColumn], partitions: Iterable[LeafColumn]) -> tuple[LeafColumn, ...]:
    """Mark the columns whose values Spark takes from the directory instead of from the file."""
    names = {column.path[0].casefold() for column in partitions}
    reason = "a directory name gives this column its value, whatever the file holds"
    return tuple(
        replace(column, unsupported=reason) if column.path[0].casefold() in names else column for column in columns
    )


def _column(name: str) -> LeafColumn:
    return LeafColumn(
        path=(name,),
        index=-1,
        physical=Physical.BYTE_ARRAY,
        type=None,
        order=SortOrder.UNDEFINED,
        unsupported="partition values are not pruned on yet; Spark itself skips by them",
    )
