"""Put values of the clock, and constants that only Spark computes, into a predicate as literals.

Spark evaluates its clock once per query (ComputeCurrentTime), but a plan is made before that.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING

from prune_assets.sql.functions.registry import REGISTRY
from prune_assets.sql.syntax.nodes import (
    Between,
    Column,
    Comparison,
    ListTest,
    Literal,
    NullSafe,
    OpaqueNode,
    SyntaxNode,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prune_assets.sql.binding.scope import Scope
    from prune_assets.sql.functions.clock_calls import Clock
    from prune_assets.sql.syntax.lexer import Token
    from prune_assets.sql.syntax.parsed import ParsedPredicate


_CALLS = {name: function.clock for name, function in REGISTRY.items() if function.clock is not None}
# Functions that are also written without brackets, if no column has the name.
_WORDS = frozenset(name for name in _CALLS if REGISTRY[name].without_brackets)


def now() -> int:
    """Return the current time in microseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000


def uses_clock(parsed: ParsedPredicate) -> bool:
    """Return whether a predicate may depend on the current time."""
    return any(_name(token) in _CALLS for token in parsed.tokens)


def frozen(
    parsed: ParsedPredicate, clock: Clock, *, scope: Scope, is_builtin: Callable[[str], bool] | None
) -> ParsedPredicate:
    """Replace each call of a clock function with a literal."""
    calls = [*_calls(parsed.tokens), *_words(parsed, scope)]
    literals = {
        (first, last): _CALLS[name](clock) for name, first, last in calls if is_builtin is None or is_builtin(name)
    }
    return parsed.with_literals({span: literal for span, literal in literals.items() if literal is not None})


def _calls(tokens: Sequence[Token]) -> Iterator[tuple[str, int, int]]:
    """Yield each call of a clock function with its first and last token, also inside parts that are not parsed."""
    for i, name in enumerate(map(_name, tokens[:-2])):
        is_call = name in _CALLS and [token.text for token in tokens[i + 1 : i + 3]] == ["(", ")"]
        if is_call and not (i and tokens[i - 1].text == "."):
            yield name, i, i + 2


def _words(parsed: ParsedPredicate, scope: Scope) -> Iterator[tuple[str, int, int]]:
    for node in parsed.tree.all_of(Column):
        name = ".".join(node.parts).lower()
        if name in _WORDS and not scope.has(name):
            # The span of a node in brackets includes the brackets.
            first, last = _span(node)
            inside = range(first, last + 1)
            yield from ((name, i, i) for i in inside if _name(parsed.tokens[i]) == name)


def _name(token: Token) -> str:
    return token.text.strip("`").lower()


# Each constant costs one Spark query during planning.
MAX_CONSTANTS = 8


def with_constants(
    parsed: ParsedPredicate, *, own: Callable[[SyntaxNode], object | None], ask: Callable[[str], str | None]
) -> ParsedPredicate:
    """Replace each constant that this package cannot evaluate by the literal that Spark computes.

    `own`: returns the literal that this package computes for an operand; None if unknown.
    `ask`: returns Spark's literal for a text; None if unknown.
    """
    literals: dict[tuple[int, int], str] = {}
    end = -1
    for node in islice(_unknown_constants(parsed.tree, own), MAX_CONSTANTS):
        first, last = _span(node)
        if first > end and (literal := ask(parsed.text(node))) is not None:
            literals[first, last], end = literal, last
    return parsed.with_literals(literals)


def _unknown_constants(tree: SyntaxNode, own: Callable[[SyntaxNode], object | None]) -> Iterator[SyntaxNode]:
    constants = [
        operand
        for comparison in tree.all_of(Comparison, NullSafe, Between, ListTest)
        for operand in comparison.children()
        if not isinstance(operand, Literal)
        and not operand.has(Column, OpaqueNode)
        and operand.span is not None
        and own(operand) is None
    ]
    yield from sorted(constants, key=_span)


def _span(node: SyntaxNode) -> tuple[int, int]:
    assert node.span is not None
    return node.span
