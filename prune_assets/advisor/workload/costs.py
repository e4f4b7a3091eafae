"""Costs of the queries on each table, in bytes and money."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple

from prune_assets.advisor.workload.gather import added
from prune_assets.advisor.workload.query_shapes import ScanTotals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.advisor.workload.query_shapes import QueryShape, Workload

TIB = 1 << 40


class TableCost(NamedTuple):
    """Cost of the queries on one table. Figures are None if unknown.

    `price_a_day`: cost of a day, in the currency of `price_per_tib`.
    """

    table: str
    names: tuple[str, ...]
    runs: float
    shapes: tuple[QueryShape, ...]
    totals: ScanTotals
    needless_bytes: int | None
    bytes_a_day: int | None
    price_a_day: float | None


def needless_bytes(totals: ScanTotals) -> int | None:
    """Estimate the bytes read for rows that were not selected; None if rows or bytes are unknown.

    The estimate assumes that all rows have the same size.

    >>> needless_bytes(ScanTotals(bytes_read=1000, rows_read=100, rows_selected=10))
    900
    """
    if totals.bytes_read is None or totals.rows_read is None or totals.rows_selected is None:
        return None
    if not totals.rows_read:
        return totals.bytes_read
    return round(totals.bytes_read * (1 - min(1.0, totals.rows_selected / totals.rows_read)))


def costs_of(workload: Workload, *, price_per_tib: float | None = None) -> list[TableCost]:
    """Return the cost of each table, most wasted bytes first."""
    tables: dict[str, list[QueryShape]] = {}
    for shape in workload.shapes:
        tables.setdefault(shape.table, []).append(shape)
    days = _days(workload)
    costs = [_cost(table, shapes, days, price_per_tib) for table, shapes in tables.items()]
    return sorted(
        costs, key=lambda one: (-(one.needless_bytes or 0), -(one.totals.bytes_read or 0), -one.runs, one.table)
    )


def _cost(table: str, shapes: Sequence[QueryShape], days: float, price_per_tib: float | None) -> TableCost:
    totals, needless = ScanTotals(), None
    for shape in shapes:
        totals = added(totals, shape.totals)
        lost = needless_bytes(shape.totals)
        needless = needless if lost is None else lost + (needless or 0)
    a_day = None if totals.bytes_read is None else round(totals.bytes_read / days)
    return TableCost(
        table,
        tuple(sorted({name for shape in shapes for name in shape.names})),
        sum(shape.runs for shape in shapes),
        tuple(shapes),
        totals,
        needless,
        a_day,
        None if price_per_tib is None or a_day is None else price_per_tib * a_day / TIB,
    )


def _days(workload: Workload) -> float:
    """Return the number of days that a workload covers, at least 1."""
    if not workload.since or not workload.until:
        return 1.0
    covered = dt.datetime.fromisoformat(workload.until) - dt.datetime.fromisoformat(workload.since)
    return max(1.0, covered / dt.timedelta(days=1))
