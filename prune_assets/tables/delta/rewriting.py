"""Which versions of Delta tables can be rewritten in part, and by what their files are clustered."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parquet_core.errors import LayoutError
from prune_assets.tables.same_partitions import check_same_partitions

if TYPE_CHECKING:
    from deltalog.snapshot.snapshot import Snapshot
    from parquet_core.layout.spec import LayoutSpec
    from parquet_core.predicate import Path

_PLAIN_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def check_rewrite(snapshot: Snapshot, layout: LayoutSpec) -> None:
    """Refuse what a rewrite could not honour, before Spark has anything to do."""
    import deltalog

    deltalog.check_compactable(snapshot)
    check_same_partitions(layout, snapshot.schema.partition_columns, snapshot.table)
    mine = {_quoted(name).casefold() for name in layout.sort_columns}
    for name in clustered_by(snapshot):
        if name.casefold() not in mine:
            raise LayoutError(
                f"{snapshot.table}: the table is clustered by {name}, which sort_by lacks: OPTIMIZE of delta-spark and "
                f"this one would undo each other; add {name} to sort_by, or cluster the table by the columns of sort_by"
            )


def clustered_by(snapshot: Snapshot) -> list[str]:
    """Return the columns that a Delta table is clustered by, spelled as delta-spark does in tags."""
    return [".".join(map(_quoted, path)) for path in clustering_paths(snapshot)]


def clustering_paths(snapshot: Snapshot) -> list[Path]:
    """Return the columns that a Delta table is clustered by, as its users name them."""
    from deltalog.table.properties import clustering_columns

    logical = {column.physical: column.leaf.path for column in snapshot.schema.columns}
    return [logical.get(path, path) for path in clustering_columns(snapshot.domains, place=snapshot.table)]


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return name if _PLAIN_NAME.fullmatch(name) else f"`{escaped}`"
