"""Inspection, claims and health of a version of a Delta table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.inspection import inspect_snapshot, with_orphans
from deltalog.table.properties import clustering_columns
from prune_assets.tables.column_names import resolve
from prune_assets.tables.delta.claims import LogClaims
from prune_assets.tables.delta.health import log_findings
from prune_assets.tables.examination import Examination, Inspection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.schema import TableColumn
    from parquet_core.predicate import Path
    from prune_assets.tables.delta.table import DeltaTable
    from prune_assets.tables.examination import InspectOptions


def inspect_version(table: DeltaTable, options: InspectOptions) -> Inspection:
    """Describe a version by its log alone, by columns or whole structs."""
    from prune_assets.report.inspection.delta import print_delta

    inspection = inspect_snapshot(table.snapshot, _chosen(table.snapshot, options.names))
    if options.orphans:
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


def clustering_paths(snapshot: Snapshot) -> list[Path]:
    """Return the columns that a Delta table is clustered by, as its users name them."""
    logical = {column.physical: column.leaf.path for column in snapshot.schema.columns}
    return [logical.get(path, path) for path in clustering_columns(snapshot.domains, location=snapshot.table)]


EXAMINATION = Examination(
    inspect=inspect_version,
    claims=LogClaims,
    log_findings=log_findings,
    clustered_by=lambda table: [".".join(path) for path in clustering_paths(table.snapshot)],
)
