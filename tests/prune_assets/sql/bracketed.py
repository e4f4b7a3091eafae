"""Write a parsed predicate as SQL with every operand in parentheses, to show the structure."""

from __future__ import annotations

from prune_assets.sql.syntax import nodes
from prune_assets.sql.syntax.cursor import text_of
from prune_assets.sql.syntax.grammar import parse
from prune_assets.sql.syntax.lexer import tokenize

PREFIXES = {nodes.Negation: "NOT", nodes.Negative: "-", nodes.BitwiseNot: "~"}


def bracketed(sql: str) -> str:
    tokens = tokenize(sql)
    return _text(parse(sql, tokens), lambda node: text_of(node, sql, tokens))


def _text(node, source) -> str:
    def inner(child) -> str:
        return f"({_text(child, source)})"

    match node:
        case nodes.Negation(nodes.NullTest() | nodes.TruthTest() as test) if source(test).upper().split()[-2] == "NOT":
            return f"{inner(test.operand)} IS NOT {truth(test)}"
        case (
            nodes.Conjunction()
            | nodes.Disjunction()
            | nodes.Comparison()
            | nodes.Arithmetic()
            | nodes.Bitwise()
            | nodes.Concat()
        ):
            return f"{inner(node.left)} {sign(node)} {inner(node.right)}"
        case nodes.NullSafe(left, right, True):
            return f"{inner(left)} <=> {inner(right)}"
        case nodes.Negation(nodes.LikeTest() | nodes.ILike() | nodes.RLike() | nodes.NullSafe(is_same=False)):
            return source(node)
        case nodes.Negation(operand) | nodes.Negative(operand) | nodes.BitwiseNot(operand):
            return f"{PREFIXES[type(node)]} {inner(operand)}"
        case nodes.Between(operand, low, high):
            return f"{inner(operand)} BETWEEN {inner(low)} AND {inner(high)}"
        case nodes.ListTest(operand):
            return f"{inner(operand)} IN ({', '.join(map(inner, node.listed()))})"
        case nodes.NullTest(operand) | nodes.TruthTest(operand):
            return f"{inner(operand)} IS {truth(node)}"
        case nodes.Call("positive", [operand]) if source(node).lstrip("( ").startswith("+"):
            return f"+ {inner(operand)}"
        case nodes.Call(name, [operand]) if name.startswith("extract "):
            return f"extract({name.partition(' ')[2]} FROM {inner(operand)})"
        case nodes.Call(_, arguments) if arguments and source(node).endswith(")"):
            return f"{source(node).lstrip('( ').partition('(')[0]}({', '.join(map(inner, arguments))})"
        case _:
            return source(node)


def sign(node) -> str:
    match node:
        case nodes.Conjunction():
            return "AND"
        case nodes.Disjunction():
            return "OR"
        case nodes.Concat():
            return "||"
        case nodes.Comparison(op=sign) | nodes.Arithmetic(sign=sign) | nodes.Bitwise(sign=sign):
            return sign.upper()


def truth(node) -> str:
    return nodes.TRUTH_NAMES[node.truth] if isinstance(node, nodes.TruthTest) else "NULL"
