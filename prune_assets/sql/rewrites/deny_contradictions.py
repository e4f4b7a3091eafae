"""Conditions on one column that no value fulfils together as none at all: `x = 5 AND x = 7`.

Each by itself may hold in a row group that has a 5 and a 7.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, Compare, Constant, In, Interval, IsNull, Not, Or, columns_of, leaves
from parquet_core.satisfiable import may_be_true

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.predicate import Path, Predicate

# Beyond so many conditions on a column trying them costs more than it is likely to save.
MOST = 32


def deny_contradictions(operands: Sequence[Predicate]) -> tuple[Predicate, ...]:
    """Return operands of an AND, with two that are FALSE, and NULL for null, for those that contradict each other.

    They stand where the first of these stood.
    """
    by_column: dict[Path, list[int]] = {}
    for i, operand in enumerate(operands):
        column = _only_column(operand)
        if column is not None:
            by_column.setdefault(column, []).append(i)
    found: list[tuple[Predicate, ...]] = [(operand,) for operand in operands]
    for column, places in by_column.items():
        if 1 < len(places) <= MOST and not may_be_true(And(tuple(operands[i] for i in places))):
            for i in places:
                found[i] = ()
            found[places[0]] = IsNull(column), Constant(Outcomes.NULL)
    return tuple(chain.from_iterable(found))


def _only_column(operand: Predicate) -> Path | None:
    """Return the one column of a predicate that is NULL for null and for nothing else."""
    inner = operand.child if isinstance(operand, Not) else operand
    parts = inner.children if isinstance(inner, Or) and len(inner.children) <= MOST else (inner,)
    if not all(isinstance(part, Compare | Interval | In) for part in parts):
        return None
    named = columns_of(operand)
    return named[0] if len(named) == 1 and len(list(leaves(operand))) <= MOST else None
