"""Put constants into the text of a predicate: what Spark's clock says, and what Spark alone computes.

Spark computes its clock once a query (ComputeCurrentTime), and a plan is made before that.
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
# Those that are written without brackets too, where no column has the name.
_WORDS = frozenset(name for name in _CALLS if REGISTRY[name].without_brackets)


def now() -> int:
    """Return the microseconds since 1970-01-01."""
    return time.time_ns() // 1_000


def asks_clock(parsed: ParsedPredicate) -> bool:
    """Tell whether a predicate may ask what time it is."""
    return any(_name(token) in _CALLS for token in parsed.tokens)


def frozen(
    parsed: ParsedPredicate, clock: Clock, *, scope: Scope, is_builtin: Callable[[str], bool] | None
) -> ParsedPredicate:
    """Return the predicate with a literal in place of each call of a function of the clock."""
    calls = [*_calls(parsed.tokens), *_words(parsed, scope)]
    literals = {
        (first, last): _CALLS[name](clock) for name, first, last in calls if is_builtin is None or is_builtin(name)
    }
    return parsed.with_literals({span: literal for span, literal in literals.items() if literal is not None})


def _calls(tokens: Sequence[Token]) -> Iterator[tuple[str, int, int]]:
    """Yield each call of a clock's function, with its first and last token; inside of opaque parts too."""
    for i, name in enumerate(map(_name, tokens[:-2])):
        is_call = name in _CALLS and [token.text for token in tokens[i + 1 : i + 3]] == ["(", ")"]
        if is_call and not (i and tokens[i - 1].text == "."):
            yield name, i, i + 2


def _words(parsed: ParsedPredicate, scope: Scope) -> Iterator[tuple[str, int, int]]:
    for node in parsed.tree.all_of(Column):
        name = ".".join(node.parts).lower()
        if name in _WORDS and not scope.has(name):
            # In brackets the node begins with them.
            first, last = _span(node)
            inside = range(first, last + 1)
            yield from ((name, i, i) for i in inside if _name(parsed.tokens[i]) == name)


def _name(token: Token) -> str:
    return token.text.strip("`").lower()


# Each costs a query that Spark answers while it plans.
MAX_CONSTANTS = 8


def with_constants(
    parsed: ParsedPredicate, *, own: Callable[[SyntaxNode], object | None], ask: Callable[[str], str | None]
) -> ParsedPredicate:
    """Return the predicate with Spark's literal in place of each constant that the own rules do not evaluate.

    `own`: the literal of an operand by the own rules, None if unknown; `ask`: Spark's literal for a text, or None.
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
