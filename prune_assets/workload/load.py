"""A workload from wherever it is kept: JSON files, files of SQL, event logs, or predicates as they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from prune_assets.workload.declared import scans_of_sql
from prune_assets.workload.gather import Gathered
from prune_assets.workload.json_form import from_json
from prune_assets.workload.merge import merged
from prune_assets.workload.observe import text_of, workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.workload.query_shapes import Workload

WorkloadSource: TypeAlias = "Workload | Sequence[str] | str | os.PathLike[str]"


def load_workload(
    source: WorkloadSource, *, table: str | None = None, latest: int | None = None
) -> Workload | Sequence[str]:
    """Return a workload that `prune_assets.advise` takes.

    `source`: a JSON file of `prune workload`, a folder of such files, a file of SQL, or event logs of Spark. A Workload
    or a list of predicates is returned as it is. `table`: the table of conditions in a file of SQL. `latest`: of a
    folder with a file for each day, the last so many.

    Raises WrongUse for a JSON file that is no workload, and what `prune_assets.workload` raises.
    """
    if not isinstance(source, str | os.PathLike):
        return source
    path = Path(source)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path] if path.suffix == ".json" else []
    if not files:
        return _of_sql(path, table) if path.suffix == ".sql" else workload(source)
    return merged(from_json(text_of(str(file)), source=str(file)) for file in files[-(latest or 0) :])


def _of_sql(path: Path, table: str | None) -> Workload:
    gathered = Gathered()
    for scan in scans_of_sql(text_of(str(path)), table, gathered.not_understood, source=str(path)):
        gathered.add(scan)
    return gathered.workload()
