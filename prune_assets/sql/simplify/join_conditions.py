"""Evaluate conditions on the listed values of a column.

`x IN (..) AND p(x)` becomes IN of the listed values that satisfy p. If no value does, the result is FALSE, or NULL for
null. In a row group with the values 1 and 7, each operand of `x IN (1, 9) AND x > 5` may hold, and each operand of `x =
5 AND x = 7`, but never both operands together.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.arrow_arrays import array_of_scalars, from_numpy
from parquet_core.pruning.evidence.satisfiable import may_fulfil
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import (
    Compare,
    Constant,
    In,
    Interval,
    IsNull,
    IsTruth,
    Not,
    Op,
    Or,
    columns_of,
    leaves,
)
from prune_assets.sql.functions.terms import NULL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import Path
    from parquet_core.pruning.predicate import Predicate

# With more conditions on a column, evaluating them costs more than it is likely to save.
MOST = 32


def join_conditions(operands: Sequence[Predicate]) -> tuple[Predicate, ...]:
    """Join the operands of an AND that refer to the same column, for columns with a list of values.

    One operand replaces the first of the joined operands, and the others are dropped. It is IN of the remaining
    values, or FALSE if no value remains, and NULL for null.
    """
    by_column: dict[Path, list[int]] = {}
    plain = [bare(operand) for operand in operands]
    for i, operand in enumerate(plain):
        column = only_column(operand)
        if column is not None:
            by_column.setdefault(column, []).append(i)
    replacements: list[tuple[Predicate, ...]] = [(operand,) for operand in operands]
    for column, places in by_column.items():
        joined = _joined(column, [plain[i] for i in places]) if 1 < len(places) <= MOST else None
        if joined is not None:
            never_null = any(plain[i] is not operands[i] for i in places)
            for i in places:
                replacements[i] = ()
            replacements[places[0]] = _is_true(joined) if never_null else joined
    return tuple(chain.from_iterable(replacements))


def bare(operand: Predicate) -> Predicate:
    """Return an operand without its `IS TRUE`.

    `x <=> 5` is `(x = 5) IS TRUE`. Where the bare operand is NULL, the operand with `IS TRUE` is FALSE.
    """
    return operand.child if isinstance(operand, IsTruth) and operand.truth is Outcomes.TRUE else operand


def _is_true(joined: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
    return (IsTruth(joined[0], Outcomes.TRUE),) if len(joined) == 1 else (Constant(Outcomes.FALSE),)


def only_column(operand: Predicate) -> Path | None:
    """Return the column of a predicate on one column that is NULL if and only if the column is null, else None."""
    inner = operand.child if isinstance(operand, Not) else operand
    parts = inner.children if isinstance(inner, Or) and len(inner.children) <= MOST else (inner,)
    if not all(isinstance(part, Compare | Interval | In) for part in parts):
        return None
    named = columns_of(operand)
    return named[0] if len(named) == 1 and len(list(leaves(operand))) <= MOST else None


def _joined(column: Path, conditions: Sequence[Predicate]) -> tuple[Predicate, ...] | None:
    lists = [condition for condition in conditions if _lists(condition)]
    if not lists:
        return None
    shortest = min(map(_values, lists), key=len)
    as_bounds = shortest.cast(pa.binary()) if pa.types.is_string(shortest.type) else shortest
    left = shortest.filter(from_numpy(may_fulfil(conditions, as_bounds)))
    if len(left) > 1:
        return (In(column, left),)
    return (Compare(column, Op.EQ, left[0]),) if len(left) else (IsNull(column), NULL)


def _lists(condition: Predicate) -> bool:
    return isinstance(condition, In) or (isinstance(condition, Compare) and condition.op is Op.EQ)


def _values(condition: Predicate) -> pa.Array:
    if isinstance(condition, In):
        return condition.values
    assert isinstance(condition, Compare)
    return array_of_scalars([condition.value])
