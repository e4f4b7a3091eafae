"""The nodes of a predicate, operands before what they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parquet_core.predicate import children_of

if TYPE_CHECKING:
    from parquet_core.predicate import Predicate


class Node(NamedTuple):
    """A part of a predicate and the places of its operands in the list; a leaf has none."""

    predicate: Predicate
    operands: tuple[int, ...]


def post_order(predicate: Predicate) -> list[Node]:
    """Return all nodes, leaves from left to right, the predicate itself last; depth costs no stack.

    >>> from parquet_core.predicate import Not, Unsupported
    >>> [node.operands for node in post_order(Not(Unsupported("a", "")))]
    [(), (0,)]
    """
    nodes: list[Node] = []
    done: list[int] = []
    stack: list[tuple[Predicate, bool]] = [(predicate, False)]
    while stack:
        node, ready = stack.pop()
        children = children_of(node)
        if children and not ready:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children))
            continue
        operands = tuple(done[len(done) - len(children) :])
        del done[len(done) - len(children) :]
        done.append(len(nodes))
        nodes.append(Node(node, operands))
    return nodes
