"""`x <> a AND x <> b AND ..` is `x NOT IN (a, b, ..)`; by De Morgan, many `=` under OR are one IN.

Generated predicates hold thousands of them. As a list they are looked up at once, where each by itself is compared
with every container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.arrow_arrays import array_of_scalars
from parquet_core.predicate import Compare, In, Not, Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.predicate import Path, Predicate

# Fewer stay as they are written.
MANY = 16


def join_equalities(operands: Sequence[Predicate]) -> tuple[Predicate, ...]:
    """Return operands of an AND with many `column <> value` as one NOT IN, where the first of them stood."""
    by_column: dict[Path, list[int]] = {}
    for i, operand in enumerate(operands):
        if isinstance(operand, Compare) and operand.op is Op.NE and _can_join(operand.value.type):
            by_column.setdefault(operand.column, []).append(i)
    joined: list[Predicate | None] = list(operands)
    for column, places in by_column.items():
        if len(places) < MANY:
            continue
        values = [leaf.value for i in places if isinstance(leaf := operands[i], Compare)]
        for i in places:
            joined[i] = None
        joined[places[0]] = Not(In(column, array_of_scalars(values).unique()))
    return tuple(operand for operand in joined if operand is not None)


def _can_join(kind: pa.DataType) -> bool:
    # Of floats NaN and the two zeros have rules of their own.
    return not (pa.types.is_floating(kind) or pa.types.is_boolean(kind))
