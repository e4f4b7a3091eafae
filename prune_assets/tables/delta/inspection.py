"""What `prune inspect` shows of a version of a Delta table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.inspection import inspect_snapshot, with_orphans
from prune_assets.report.inspection.delta import print_delta
from prune_assets.tables.column_names import resolve
from prune_assets.tables.table import Inspection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.schema import TableColumn


def inspect_version(snapshot: Snapshot, names: Sequence[str], *, orphans: bool) -> Inspection:
    """Describe a version; `names`: columns and structs to tell of, all by default."""
    inspection = inspect_snapshot(snapshot, _chosen(snapshot, names))
    if orphans:
        inspection = with_orphans(inspection)
    return Inspection(inspection, lambda console: print_delta(inspection, console))


def _chosen(snapshot: Snapshot, names: Sequence[str]) -> list[TableColumn]:
    columns = snapshot.schema.columns
    chosen: dict[TableColumn, None] = {}
    for name in names:
        low = name.casefold()
        here = [column for column in columns if f"{column.leaf.name.casefold()}.".startswith(f"{low}.")]
        if not here:
            top = resolve(name, snapshot.schema.leaves)
            here = [column for column in columns if column.leaf.path[0] == top]
        chosen |= dict.fromkeys(here)
    return list(chosen) if names else list(columns)
