"""Constants that only Spark computes, put into a predicate as literals: `date_format(DATE '2024-03-05', 'yyyy-MM')`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from prune_assets.sql.syntax.nodes import ColumnName, Opaque, SparkLiteral
from prune_assets.sql.syntax.sqlglot_nodes import exp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prune_assets.sql.syntax.parsed import ParsedPredicate

# Each costs a query that Spark answers while it plans.
MAX_CONSTANTS = 8
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In)


def with_constants(
    parsed: ParsedPredicate, *, own: Callable[[exp.Expr], object | None], ask: Callable[[str], str | None]
) -> str:
    """Return the predicate with the literal that Spark says in place of each constant that the own rules do not know.

    `own`: what they make of an operand; `ask`: Spark's literal for a text, None where it has none.
    """
    sql, tokens = parsed.sql, parsed.tokens
    text, end = "", 0
    for node in islice(_unknown_constants(parsed.tree, own), MAX_CONSTANTS):
        first, last = tokens[node.meta["first"]], tokens[node.meta["last"]]
        literal = ask(parsed.text(node)) if first.start >= end else None
        if literal is not None:
            text += sql[end : first.start] + literal
            end = last.end
    return text + sql[end:]


def _unknown_constants(tree: exp.Expr, own: Callable[[exp.Expr], object | None]) -> Iterator[exp.Expr]:
    found = [
        operand
        for comparison in tree.find_all(*_COMPARED)
        for operand in comparison.iter_expressions()
        if not isinstance(operand, SparkLiteral)
        and operand.find(ColumnName, Opaque) is None
        and {"first", "last"} <= operand.meta.keys()
        and own(operand) is None
    ]
    yield from sorted(found, key=lambda node: int(node.meta["first"]))
