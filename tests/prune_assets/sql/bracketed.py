"""A parsed predicate as SQL in which every operand stands in brackets: shows where the parser cut."""

from __future__ import annotations

from prune_assets.sql.syntax.cursor import text_of
from prune_assets.sql.syntax.grammar import parse
from prune_assets.sql.syntax.lexer import tokenize
from prune_assets.sql.syntax.nodes import BINARY, listed_values
from prune_assets.sql.syntax.sqlglot_nodes import exp

SIGNS = {node: sign for sign, (_, node) in BINARY.items()}
PREFIXES = {exp.Not: "NOT", exp.Neg: "-", exp.BitwiseNot: "~"}


def bracketed(sql: str) -> str:
    tokens = tokenize(sql)
    return _text(parse(sql, tokens), lambda node: text_of(node, sql, tokens))


def _text(node, source) -> str:
    def inner(child) -> str:
        return f"({_text(child, source)})"

    kind = type(node)
    if kind is exp.Not and isinstance(node.this, exp.Is) and source(node.this).upper().split()[-2] == "NOT":
        return f"{inner(node.this.this)} IS NOT {node.this.expression.name}"
    if kind in SIGNS:
        return f"{inner(node.this)} {SIGNS[kind]} {inner(node.expression)}"
    if kind in PREFIXES and not isinstance(node.this, exp.Like | exp.ILike | exp.RegexpLike | exp.NullSafeNEQ):
        return f"{PREFIXES[kind]} {inner(node.this)}"
    match node:
        case exp.Between():
            return f"{inner(node.this)} BETWEEN {inner(node.args['low'])} AND {inner(node.args['high'])}"
        case exp.In() if listed_values(node):
            return f"{inner(node.this)} IN ({', '.join(map(inner, listed_values(node)))})"
        case exp.Is():
            return f"{inner(node.this)} IS {node.expression.name}"
        case exp.Anonymous(name="positive") if source(node).lstrip("( ").startswith("+"):
            return f"+ {inner(node.expressions[0])}"
        case exp.Anonymous() if node.name.startswith("extract "):
            return f"extract({node.name.partition(' ')[2]} FROM {inner(node.expressions[0])})"
        case exp.Anonymous() if node.expressions and source(node).endswith(")"):
            return f"{source(node).lstrip('( ').partition('(')[0]}({', '.join(map(inner, node.expressions))})"
        case _:
            return source(node)
