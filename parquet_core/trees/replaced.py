"""A predicate with some of its parts put otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.predicate import And, IsTruth, Not, Or, Unsupported
from parquet_core.trees.post_order import post_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_core.predicate import Predicate


def replaced(predicate: Predicate, parts: Mapping[Unsupported, Predicate]) -> Predicate:
    """Return a predicate with some of its unsupported parts put otherwise."""
    if not parts:
        return predicate
    built: list[Predicate] = []
    for node, operands in post_order(predicate):
        children = tuple(built[i] for i in operands)
        match node:
            case And():
                built.append(And(children))
            case Or():
                built.append(Or(children))
            case Not():
                built.append(Not(children[0]))
            case IsTruth(_, truth):
                built.append(IsTruth(children[0], truth))
            case Unsupported():
                built.append(parts.get(node, node))
            case _:
                built.append(node)
    return built[-1]
