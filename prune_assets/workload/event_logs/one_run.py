"""The scans of one query that are one run of it: a table that is read partition by partition has a scan for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.workload.gather import added
from prune_assets.workload.query_shapes import ScanTotals

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prune_assets.workload.ran_scan import RanScan

_NOTHING = ScanTotals()


def one_run(scans: Iterable[RanScan]) -> list[RanScan]:
    """Return the scans of a query; those that differ in their totals alone are one, with the sum of these.

    Of a self-join with a condition on one side both sides stay.
    """
    found: dict[RanScan, ScanTotals] = {}
    for scan in scans:
        key = scan._replace(totals=_NOTHING)
        found[key] = added(found.get(key, _NOTHING), scan.totals)
    return [key._replace(totals=totals) for key, totals in found.items()]
