"""Partition columns by the names that layouts and users give them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_core.layout.spec import LayoutSpec


def check_same_partitions(layout: LayoutSpec, theirs: Sequence[str], location: str) -> None:
    """Refuse a layout with other partitions than a table that is to keep its own."""
    mine = [name.casefold() for name in layout.partition_by]
    if mine and mine != [name.casefold() for name in theirs]:
        raise LayoutError(
            f"partition_by = {', '.join(layout.partition_by)}: {location} is partitioned by "
            f"{', '.join(theirs) or 'nothing'}, and optimize does not change that; leave out partition_by, or "
            "write a new table"
        )


def partition_named(column: str, known: Mapping[str, object]) -> str:
    """Return the partition column of a name, in any case."""
    matching = next((name for name in known if name.casefold() == column.casefold()), None)
    if matching is None:
        raise LayoutError(
            f"partition_expr: {column} is not a partition column; the table has {', '.join(known) or 'none'}"
        )
    return matching
