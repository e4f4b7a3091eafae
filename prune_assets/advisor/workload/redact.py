"""Replace the constants of a workload by ranks, which preserves equality and order."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from prune_assets.advisor.workload.constants import constants_of, replaced
from prune_assets.advisor.workload.not_understood import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prune_assets.advisor.workload.query_shapes import QueryShape, Workload

_FIRST_DAY = dt.date(2000, 1, 1)


def redacted(workload: Workload) -> Workload:
    """Return the workload with each constant replaced by its rank among the table's constants of the same kind.

    Strings become strings such as `'r0001'`, numbers become ranks, and dates become the earliest dates. The result
    reveals only the number of distinct constants and their order.

    >>> from prune_assets.advisor.workload.query_shapes import Workload
    >>> safe = redacted(Workload.of("lake/orders", ["user = 'Ann' AND id = 70", "user = 'Bob' AND id = 5"]))
    >>> [predicate.where for predicate in safe.shapes[0].predicates]
    ["user = 'r1' AND id = 2", "user = 'r2' AND id = 1"]
    """
    tables: dict[str, list[QueryShape]] = {}
    for shape in workload.shapes:
        tables.setdefault(shape.table, []).append(shape)
    ranks = {table: _ranks(shapes) for table, shapes in tables.items()}
    shapes = tuple(_redacted(shape, ranks[shape.table]) for shape in workload.shapes)
    reasons = Counter[str]()
    for reason, count in workload.not_understood.items():
        reasons[reason.plain if isinstance(reason, Reason) else reason] += count
    return replace(workload, shapes=shapes, not_understood=dict(reasons))


def _redacted(shape: QueryShape, ranks: Mapping[str, str]) -> QueryShape:
    predicates = (predicate._replace(where=replaced(predicate.where, ranks)) for predicate in shape.predicates)
    return replace(shape, predicates=tuple(predicates))


def _ranks(shapes: list[QueryShape]) -> dict[str, str]:
    by_type: dict[str, set[str]] = {}
    for shape in shapes:
        for predicate in shape.predicates:
            for constant in constants_of(predicate.where):
                by_type.setdefault(constant.type_name, set()).add(predicate.where[constant.start : constant.end])
    return {
        literal: _ranked(type_name, rank, len(literals))
        for type_name, literals in by_type.items()
        for rank, literal in enumerate(sorted(literals, key=lambda literal: (_value(literal), literal)), 1)
    }


def _ranked(type_name: str, rank: int, count: int) -> str:
    if type_name == "NUMBER":
        return str(rank)
    if type_name == "STRING":
        return f"'r{rank:0{len(str(count))}}'"
    if type_name == "X":
        return f"X'{rank:08X}'"
    day = _FIRST_DAY + dt.timedelta(days=rank)
    return (
        f"DATE '{day}'"
        if type_name == "DATE"
        else f"{type_name} '{day} 00:00:00{'Z' if type_name == 'TIMESTAMP' else ''}'"
    )


def _value(literal: str) -> Decimal:
    """Return the sort key of a constant: its number, or 0 for constants that are not numbers and sort by their text."""
    try:
        return Decimal(literal.rstrip("LlSsYyDdFfBb"))
    except InvalidOperation:
        return Decimal(0)
