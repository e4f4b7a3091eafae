"""`p AND (q OR r)` is `p AND r` where p and q are never TRUE together, and p where q holds wherever p does.

In `x = 5 AND (x = 7 OR y > 2)` only y can decide.

A row group that has a 5, and a 7, and no y above 2 holds no such row.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from parquet_core.evidence.satisfiable import may_be_true
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, ColumnLeaf, Constant, IsNull, Not, Or, columns_of, leaves
from prune_assets.sql.simplify.flatten import conjuncts, disjuncts, inverse
from prune_assets.sql.simplify.join_conditions import bare, only_column, outcome_of_null

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_core.predicate import Path, Predicate

    Known = Mapping[Path, list[Predicate]]

# Beyond so many operands, or choices, trying them costs more than it is likely to save.
MOST = 32
_FALSE, _NULL = Constant(Outcomes.FALSE), Constant(Outcomes.NULL)


def prune_disjuncts(operands: Sequence[Predicate]) -> tuple[Predicate, ...]:
    """Return operands of an AND: of their ORs no choice is left that the others rule out, nor any that they settle.

    What is ruled out stays NULL where its column is null, but for `x <=> 5`, and is FALSE elsewhere; so is the AND for
    every row what it was.
    """
    known: dict[Path, list[Predicate]] = {}
    for operand in operands if 1 < len(operands) <= MOST else ():
        if (column := only_column(bare(operand))) is not None:
            known.setdefault(column, []).append(bare(operand))
    choices = [_choices(operand) for operand in operands] if known else []
    if not any(choices):
        return tuple(operands)
    kept: list[Predicate] = []
    for operand, parts in zip(operands, choices, strict=True):
        # Alone on its column it is what is known of that.
        if not parts or only_column(operand) is not None:
            kept.append(operand)
        elif not _is_settled(parts, known):
            left = tuple(_left_of(part, known) for part in parts)
            kept.append(operand if left == parts else _any_of(left))
    return tuple(kept)


def _any_of(parts: Sequence[Predicate]) -> Predicate:
    left = tuple(part for part in parts if part != _FALSE)
    return Or(left) if len(left) > 1 else (*left, _FALSE)[0]


def _choices(operand: Predicate) -> tuple[Predicate, ...]:
    is_choice = isinstance(operand, Or) or (isinstance(operand, Not) and isinstance(operand.child, And))
    parts = disjuncts([operand]) if is_choice else ()
    return parts if 1 < len(parts) <= MOST else ()


def _is_settled(parts: Sequence[Predicate], known: Known) -> bool:
    """Tell whether one of the choices holds wherever the known conditions do; none may raise.

    Where the known conditions are NULL it must not be FALSE, so that they alone are what the AND was: NULL.
    """
    settled = any(_is_ruled_out(inverse(part), known) and outcome_of_null(part) is not Outcomes.FALSE for part in parts)
    return settled and all(isinstance(leaf, ColumnLeaf) for part in parts for leaf in leaves(part))


def _left_of(part: Predicate, known: Known) -> Predicate:
    """Return a choice without what the known conditions rule out."""
    if _is_ruled_out(part, known):
        never = _never(part)
        return And(never) if len(never) > 1 else never[0]
    together = conjuncts(part.children) if isinstance(part, And) else ()
    if not any(_is_ruled_out(child, known) for child in together[:MOST]):
        return part
    tried = [_never(child) if _is_ruled_out(child, known) else (child,) for child in together[:MOST]]
    if (_FALSE,) in tried:
        return _FALSE
    left = [*chain.from_iterable(tried), *together[MOST:]]
    first = left.index(_NULL) + 1
    return And((*left[:first], *(child for child in left[first:] if child != _NULL)))


def _never(part: Predicate) -> tuple[Predicate, ...]:
    """Return the replacement of a part that the known conditions exclude: FALSE, or NULL for null."""
    if outcome_of_null(part) is Outcomes.FALSE:
        return (_FALSE,)
    (column,) = columns_of(part)
    return IsNull(column), _NULL


def _is_ruled_out(part: Predicate, known: Known) -> bool:
    """Tell whether a part on one column, NULL at most for null, is not TRUE where the known conditions are."""
    parts = list(islice(leaves(part), MOST + 1))
    if len(parts) > MOST or not all(isinstance(leaf, ColumnLeaf) for leaf in parts):
        return False
    named = columns_of(part)
    beside = known.get(named[0], []) if len(named) == 1 else []
    return bool(beside) and not may_be_true(And((*beside, part)))
