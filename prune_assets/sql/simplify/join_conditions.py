"""`x IN (..) AND p(x)` is IN of the listed values that fulfil p; FALSE, or NULL for null, where no value does.

Each of `x IN (1, 9) AND x > 5`, and of `x = 5 AND x = 7`, may hold in a row group that has a 1 and a 7. Both never do.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import array_of_scalars, from_numpy
from parquet_core.evidence.satisfiable import may_be_true, may_fulfil
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import (
    And,
    ColumnLeaf,
    Compare,
    Constant,
    In,
    Interval,
    IsNaN,
    IsNull,
    IsTruth,
    Not,
    Op,
    Or,
    columns_of,
    leaves,
)
from parquet_core.pruning import fold

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from parquet_core.predicate import Path, Predicate

# Beyond so many conditions on a column trying them costs more than it is likely to save.
MOST = 32
_LEAF_OF_NULL = {IsNull: Outcomes.TRUE, IsNaN: Outcomes.FALSE}


def join_conditions(operands: Sequence[Predicate]) -> tuple[Predicate, ...]:
    """Return operands of an AND with those on one column joined, where one of them is a list or none can be fulfilled.

    What they come to stands where the first of them stood: the rest of the list, or what is FALSE, and NULL for null.
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
    return _without_contradictions(tuple(chain.from_iterable(replacements)))


def _without_contradictions(operands: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
    """Return operands of an AND with those of one column that rule each other out as what they come to."""
    by_column: dict[Path, list[int]] = {}
    for i, operand in enumerate(operands) if len(operands) > 1 else ():
        if _is_about_a_column(operand):
            by_column.setdefault(columns_of(operand)[0], []).append(i)
    replacements: list[tuple[Predicate, ...]] = [(operand,) for operand in operands]
    for column, places in by_column.items():
        of_null = {outcome_of_null(operands[i]) for i in places}
        if of_null == {Outcomes.NULL} or not 1 < len(places) <= MOST:
            continue
        if not may_be_true(And(tuple(operands[i] for i in places))):
            for i, instead in zip(places, _never_true(column, [operands[i] for i in places], of_null), strict=False):
                replacements[i] = instead
    return tuple(chain.from_iterable(replacements))


def _never_true(
    column: Path, operands: Sequence[Predicate], of_null: Container[Outcomes | None]
) -> list[tuple[Predicate, ...]]:
    """Return the replacement of each of several predicates on a column that are never TRUE together."""
    if None in of_null:
        # Where one of them is NULL, they may be NULL together: as they are beside a NULL.
        return [(operands[0], Constant(Outcomes.NULL))]
    # They are FALSE for what is not null, and for null unless one of them is NULL and none FALSE.
    never_null = Outcomes.FALSE in of_null
    instead = (Constant(Outcomes.FALSE),) if never_null else (IsNull(column), Constant(Outcomes.NULL))
    return [instead, *[()] * (len(operands) - 1)]


def _is_about_a_column(operand: Predicate) -> bool:
    """Tell whether a predicate, no long one, names one column and compares it with nothing else."""
    if isinstance(operand, ColumnLeaf):
        return True
    parts = list(islice(leaves(operand), MOST + 1))
    known = len(parts) <= MOST and all(isinstance(part, ColumnLeaf | Constant) for part in parts)
    return known and len(columns_of(operand)) == 1


def outcome_of_null(operand: Predicate) -> Outcomes | None:
    """Return the outcome of a predicate if its one column is null, None if it may be NULL for other values."""
    parts = list(leaves(operand))
    if not all(isinstance(part, ColumnLeaf) for part in parts):
        return None
    answers = [np.array([_LEAF_OF_NULL.get(type(part), Outcomes.NULL)], np.uint8) for part in parts]
    return Outcomes(int(fold(operand, answers)[0]))


def bare(operand: Predicate) -> Predicate:
    """Return the operand without its `IS TRUE`, which `x <=> 5` is of `x = 5`; that is FALSE where this is NULL."""
    return operand.child if isinstance(operand, IsTruth) and operand.truth is Outcomes.TRUE else operand


def _is_true(joined: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
    return (IsTruth(joined[0], Outcomes.TRUE),) if len(joined) == 1 else (Constant(Outcomes.FALSE),)


def only_column(operand: Predicate) -> Path | None:
    """Return the one column of a predicate that is NULL for null and for nothing else."""
    inner = operand.child if isinstance(operand, Not) else operand
    parts = inner.children if isinstance(inner, Or) and len(inner.children) <= MOST else (inner,)
    if not all(isinstance(part, Compare | Interval | In) for part in parts):
        return None
    named = columns_of(operand)
    return named[0] if len(named) == 1 and len(list(leaves(operand))) <= MOST else None


def _joined(column: Path, conditions: Sequence[Predicate]) -> tuple[Predicate, ...] | None:
    lists = [condition for condition in conditions if _lists(condition)]
    shortest = min(map(_values, lists), key=len, default=None)
    if shortest is not None:
        as_bounds = shortest.cast(pa.binary()) if pa.types.is_string(shortest.type) else shortest
        left = shortest.filter(from_numpy(may_fulfil(conditions, as_bounds)))
        if len(left) > 1:
            return (In(column, left),)
        if len(left) == 1:
            return (Compare(column, Op.EQ, left[0]),)
    elif may_be_true(And(tuple(conditions))):
        return None
    return IsNull(column), Constant(Outcomes.NULL)


def _lists(condition: Predicate) -> bool:
    return isinstance(condition, In) or (isinstance(condition, Compare) and condition.op is Op.EQ)


def _values(condition: Predicate) -> pa.Array:
    if isinstance(condition, In):
        return condition.values
    assert isinstance(condition, Compare)
    return array_of_scalars([condition.value])
