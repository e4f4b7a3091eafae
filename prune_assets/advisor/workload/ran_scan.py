"""One scan that ran, in the form that every source of a workload provides."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prune_assets.advisor.workload.query_shapes import ScanTotals


class RanScan(NamedTuple):
    """A scan of a table: predicate as SQL, totals, and time in milliseconds since 1970-01-01.

    `table`: a path; a name if the path is unknown.
    `name`: catalog name; "" if the table was read by its path.
    `runs`: number of query runs that this scan represents.
    `left_out`: reasons why conjuncts are missing from the predicate.
    `statement`: as in `QueryShape`.
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
    statement: str = ""
