"""Replace calls that ask the clock by constants: the plan and Spark then see one instant and one day.

Spark computes these once a query (ComputeCurrentTime), and a plan is made before that.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from prune_assets.sql.functions.registry import REGISTRY
from prune_assets.sql.syntax.nodes import ColumnName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prune_assets.sql.binding.scope import Scope
    from prune_assets.sql.functions.clock_calls import Clock
    from prune_assets.sql.syntax.parsed import ParsedPredicate
    from prune_assets.sql.syntax.sqlglot_nodes import Token

_CALLS = {name: function.clock for name, function in REGISTRY.items() if function.clock is not None}
# Those that are written without brackets too, where no column has the name.
_WORDS = frozenset(name for name in _CALLS if REGISTRY[name].without_brackets)


def now() -> int:
    """Return the microseconds since 1970-01-01."""
    return time.time_ns() // 1_000


def asks_clock(parsed: ParsedPredicate) -> bool:
    """Tell whether a predicate may ask what time it is."""
    return any(_name(token) in _CALLS for token in parsed.tokens)


def frozen(parsed: ParsedPredicate, clock: Clock, *, scope: Scope, is_own: Callable[[str], bool] | None) -> str:
    """Return the text of a predicate with a constant in each place that asks the clock."""
    sql, tokens = parsed.sql, parsed.tokens
    text, end = "", 0
    for name, first, last in sorted([*_calls(tokens), *_words(parsed, scope)], key=lambda place: place[1]):
        literal = _CALLS[name](clock) if is_own is None or is_own(name) else None
        if literal is not None:
            text += sql[end : tokens[first].start] + literal
            end = tokens[last].end
    return text + sql[end:]


def _calls(tokens: Sequence[Token]) -> Iterator[tuple[str, int, int]]:
    """Yield each call of a clock's function, with its first and last token; inside of opaque parts too."""
    for i, name in enumerate(map(_name, tokens[:-2])):
        is_call = name in _CALLS and [token.text for token in tokens[i + 1 : i + 3]] == ["(", ")"]
        if is_call and not (i and tokens[i - 1].text == "."):
            yield name, i, i + 2


def _words(parsed: ParsedPredicate, scope: Scope) -> Iterator[tuple[str, int, int]]:
    for node in parsed.tree.find_all(ColumnName):
        name = ".".join(node.parts_of_name).lower()
        if name in _WORDS and not scope.has(name):
            # In brackets the node begins with them.
            inside = range(node.meta["first"], node.meta["last"] + 1)
            yield from ((name, i, i) for i in inside if _name(parsed.tokens[i]) == name)


def _name(token: Token) -> str:
    return token.text.strip("`").lower()
