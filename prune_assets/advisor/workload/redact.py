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
    """Return the workload with each constant replaced by its rank.

    Ranks are among the constants of the same kind of a table.
    Strings become `'r0001'`, numbers and dates the first of their kind. The result reveals the number of distinct
    constants and their order, and nothing else of them.

    >>> from prune_assets.advisor.workload.query_shapes import Workload
    >>> found = redacted(Workload.of("lake/orders", ["user = 'Ann' AND id = 70", "user = 'Bob' AND id = 5"]))
    >>> [one.where for one in found.shapes[0].predicates]
    ["user = 'r1' AND id = 2", "user = 'r2' AND id = 1"]
    """
    tables: dict[str, list[QueryShape]] = {}
    for shape in workload.shapes:
        tables.setdefault(shape.table, []).append(shape)
    ranks = {table: _ranks(shapes) for table, shapes in tables.items()}
    shapes = tuple(_redacted(shape, ranks[shape.table]) for shape in workload.shapes)
    found = Counter[str]()
    for reason, count in workload.not_understood.items():
        found[reason.plain if isinstance(reason, Reason) else reason] += count
    return replace(workload, shapes=shapes, not_understood=dict(found))


def _redacted(shape: QueryShape, ranks: Mapping[str, str]) -> QueryShape:
    predicates = (one._replace(where=replaced(one.where, ranks)) for one in shape.predicates)
    return replace(shape, predicates=tuple(predicates))


def _ranks(shapes: list[QueryShape]) -> dict[str, str]:
    by_kind: dict[str, set[str]] = {}
    for shape in shapes:
        for predicate in shape.predicates:
            for one in constants_of(predicate.where):
                by_kind.setdefault(one.kind, set()).add(predicate.where[one.start : one.end])
    return {
        text: _ranked(kind, rank, len(texts))
        for kind, texts in by_kind.items()
        for rank, text in enumerate(sorted(texts, key=lambda text: (_value(text), text)), 1)
    }


def _ranked(kind: str, rank: int, count: int) -> str:
    if kind == "NUMBER":
        return str(rank)
    if kind == "STRING":
        return f"'r{rank:0{len(str(count))}}'"
    if kind == "X":
        return f"X'{rank:08X}'"
    day = _FIRST_DAY + dt.timedelta(days=rank)
    return f"DATE '{day}'" if kind == "DATE" else f"{kind} '{day} 00:00:00{'Z' if kind == 'TIMESTAMP' else ''}'"


def _value(text: str) -> Decimal:
    """Return the number of a constant as its sort key, 0 for other constants.

    Constants that are not numbers sort by their text.
    """
    try:
        return Decimal(text.rstrip("LlSsYyDdFfBb"))
    except InvalidOperation:
        return Decimal(0)
