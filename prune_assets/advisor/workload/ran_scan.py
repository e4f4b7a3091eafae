"""One scan that ran, as every source of a workload gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prune_assets.advisor.workload.query_shapes import ScanTotals


class RanScan(NamedTuple):
    """A scan of a table: its predicate as SQL, what it read, and when, in milliseconds since 1970-01-01.

    `table`: a path, or a name where there is none. `name`: of a catalog, empty where it was read by its path.
    `runs`: how many runs of queries this one stands for. `left_out`: why conjuncts are missing.
    """

    table: str
    name: str
    where: str
    columns: tuple[str, ...]
    joined_on: tuple[str, ...]
    application: str
    time: int | None
    totals: ScanTotals
    runs: float = 1.0
    left_out: tuple[str, ...] = ()
