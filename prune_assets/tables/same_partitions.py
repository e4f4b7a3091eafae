"""Whether a layout has the partitions that a table has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.layout.spec import LayoutSpec


def check_same_partitions(layout: LayoutSpec, theirs: Sequence[str], place: str) -> None:
    """Refuse a layout with other partitions than a table that is to keep its own."""
    mine = [name.casefold() for name in layout.partition_by]
    if mine and mine != [name.casefold() for name in theirs]:
        raise LayoutError(
            f"partition_by = {', '.join(layout.partition_by)}: {place} is partitioned by "
            f"{', '.join(theirs) or 'nothing'}, and optimize does not change that; leave out partition_by, or "
            "write a new table"
        )
