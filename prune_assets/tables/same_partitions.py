"""Compare the partition columns of layouts and of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_core.layout.spec import LayoutSpec


def column_of_partition(entry: str) -> str:
    """Return the column of a `partition_by` entry, which may be an Iceberg transform.

    >>> column_of_partition("day"), column_of_partition("days(ts)"), column_of_partition("bucket(16, id)")
    ('day', 'ts', 'id')
    """
    from prune_assets.tables.iceberg.writes.partition_by import parse_transform

    try:
        return parse_transform(entry).column
    except LayoutError:
        return entry  # a column whose name is not a transform


def are_same_partitions(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return True if two `partition_by` lists are equal apart from spelling.

    >>> are_same_partitions(["day(ts)", "Bucket(4,id)"], ["days(TS)", "bucket(4, id)"])
    True
    """
    return list(map(_normalize_entry, mine)) == list(map(_normalize_entry, theirs))


def _normalize_entry(entry: str) -> str:
    from prune_assets.tables.iceberg.writes.partition_by import parse_transform

    try:
        return str(parse_transform(entry)).casefold()
    except LayoutError:
        return entry.casefold()


def check_same_partitions(layout: LayoutSpec, theirs: Sequence[str], location: str, *, by: str = "optimize") -> None:
    """Refuse a layout that partitions differently from a table that must keep its partitions.

    `theirs`: partition columns of the table.
    `by`: the operation, for messages.
    """
    mine = [name.casefold() for name in layout.partition_by]
    if mine and mine != [name.casefold() for name in theirs]:
        raise LayoutError(
            f"partition_by = {', '.join(layout.partition_by)}: {location} is partitioned by "
            f"{', '.join(theirs) or 'nothing'}, and {by} cannot change it; leave out partition_by, or "
            "write a new table"
        )


def partition_named(column: str, partition_columns: Mapping[str, object]) -> str:
    """Return the partition column with a name, ignoring case. Raises LayoutError."""
    matching = next((name for name in partition_columns if name.casefold() == column.casefold()), None)
    if matching is None:
        raise LayoutError(
            f"partition_expr: {column} is not a partition column; the table has "
            f"{', '.join(partition_columns) or 'none'}"
        )
    return matching
