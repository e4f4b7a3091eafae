"""Normalize shapes, so that order of operands, brackets and spelling do not distinguish them."""

from __future__ import annotations

from parquet_core.pruning.predicate import Op
from prune_assets.errors import PredicateSyntaxError
from prune_assets.sql.syntax.lexer import tokenize
from prune_assets.sql.syntax.nodes import (
    MIRRORED,
    Between,
    Binary,
    Comparison,
    Conjunction,
    Disjunction,
    ListTest,
    Negation,
    NullSafe,
    SyntaxNode,
)
from prune_assets.sql.syntax.parsed import ParsedPredicate, chain_of, parse_predicate


def same_shape(shape: str) -> str:
    """Return a normal form that equivalent shapes share, whether people wrote them or Spark logged them.

    >>> same_shape("visit_day BETWEEN ? AND ?"), same_shape("(visit_day <= ? AND visit_day >= ?)")
    ('visit_day <= ? and visit_day >= ?', 'visit_day <= ? and visit_day >= ?')

    A shape that is not valid SQL, such as `INTERVAL ? DAY`, is its own normal form.
    """
    try:
        parsed = parse_predicate(shape)
        return _form(parsed, parsed.tree)
    except (PredicateSyntaxError, RecursionError):
        return shape


def _form(parsed: ParsedPredicate, node: SyntaxNode) -> str:  # noqa: PLR0911 - one return for each kind of node
    match node:
        case Between() | Negation(Between()):
            return _form(parsed, _as_bounds(node))
        case Conjunction():
            return _joined(parsed, node, Conjunction, " and ")
        case Disjunction():
            return _joined(parsed, node, Disjunction, " or ")
        case Negation(operand):
            return f"not ({_form(parsed, operand)})"
        case Comparison(left, right, Op.NE):
            return f"not ({_compared(parsed, left, Op.EQ, right)})"
        case ListTest(operand, values) if {_text(parsed, value) for value in values} == {"?"}:
            return f"{_text(parsed, operand)} in (?)"
        case Comparison(left, right, op):
            return _compared(parsed, left, op, right)
        case NullSafe(left, right, True):
            return _compared(parsed, left, "<=>", right)
        case _:
            return _text(parsed, node)


def _as_bounds(node: SyntaxNode) -> SyntaxNode:
    """Return BETWEEN or NOT BETWEEN as two comparisons, as Spark does; return other nodes unchanged."""
    match node:
        case Between(value, low, high):
            return Conjunction(Comparison(value, low, Op.GE), Comparison(value, high, Op.LE))
        case Negation(Between(value, low, high)):
            return Disjunction(Comparison(value, low, Op.LT), Comparison(value, high, Op.GT))
        case _:
            return node


def _joined(parsed: ParsedPredicate, node: SyntaxNode, connective: type[Binary], word: str) -> str:
    """Return the operands of a chain of one connective, sorted and joined."""
    chain = [part for operand in chain_of(node, connective) for part in chain_of(_as_bounds(operand), connective)]
    forms = ((_form(parsed, operand), isinstance(operand, Conjunction | Disjunction)) for operand in chain)
    return word.join(sorted(f"({form})" if is_chain else form for form, is_chain in forms))


def _compared(parsed: ParsedPredicate, left: SyntaxNode, sign: str, right: SyntaxNode) -> str:
    """Return a comparison with its constant on the right."""
    first, second = _text(parsed, left), _text(parsed, right)
    return f"{second} {MIRRORED.get(sign, sign)} {first}" if first == "?" else f"{first} {sign} {second}"


def _text(parsed: ParsedPredicate, node: SyntaxNode) -> str:
    """Return the source of a node with case folded, single spaces, and without backquotes."""
    tokens = tokenize(parsed.text(node, brackets=False))
    return " ".join(token.text.strip("`") for token in tokens).casefold()
