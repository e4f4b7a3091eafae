"""When two shapes are the same: however their parts are ordered, bracketed and spelled."""

from __future__ import annotations

from prune_assets.errors import PredicateSyntaxError
from prune_assets.sql.syntax.lexer import tokenize
from prune_assets.sql.syntax.parsed import ParsedPredicate, chain_of, parse_predicate
from prune_assets.sql.syntax.sqlglot_nodes import exp

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SIGNS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NullSafeEQ: "<=>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


def same_shape(shape: str) -> str:
    """Return the text that a shape shares with all that mean the same: as people write them, and as Spark logs them.

    >>> same_shape("visit_day BETWEEN ? AND ?"), same_shape("(visit_day <= ? AND visit_day >= ?)")
    ('visit_day <= ? and visit_day >= ?', 'visit_day <= ? and visit_day >= ?')

    What is no SQL, such as `INTERVAL ? DAY`, is its own form.
    """
    try:
        parsed = parse_predicate(shape)
        return _form(parsed, parsed.tree)
    except (PredicateSyntaxError, RecursionError):
        return shape


def _form(parsed: ParsedPredicate, node: exp.Expr) -> str:  # noqa: PLR0911 - one for each kind of node
    match node:
        case exp.Between() | exp.Not(args={"this": exp.Between()}):
            return _form(parsed, _as_bounds(node))
        case exp.And():
            return _joined(parsed, node, exp.And, " and ")
        case exp.Or():
            return _joined(parsed, node, exp.Or, " or ")
        case exp.Not():
            return f"not ({_form(parsed, node.this)})"
        case exp.NEQ():
            return f"not ({_compared(parsed, node.this, '=', node.expression)})"
        case exp.In() if {_text(parsed, one) for one in node.expressions} == {"?"}:
            return f"{_text(parsed, node.this)} in (?)"
        case _ if type(node) in _SIGNS:
            return _compared(parsed, node.this, _SIGNS[type(node)], node.expression)
        case _:
            return _text(parsed, node)


def _as_bounds(node: exp.Expr) -> exp.Expr:
    """Return BETWEEN, or NOT BETWEEN, as the two comparisons that Spark makes of it; any other node as it is."""
    match node:
        case exp.Between(args={"this": value, "low": low, "high": high}):
            return exp.And(this=exp.GTE(this=value, expression=low), expression=exp.LTE(this=value, expression=high))
        case exp.Not(args={"this": exp.Between(args={"this": value, "low": low, "high": high})}):
            return exp.Or(this=exp.LT(this=value, expression=low), expression=exp.GT(this=value, expression=high))
        case _:
            return node


def _joined(parsed: ParsedPredicate, node: exp.Expr, connective: type[exp.Expr], word: str) -> str:
    """Return the parts of a chain, sorted."""
    chain = [part for one in chain_of(node, connective) for part in chain_of(_as_bounds(one), connective)]
    forms = ((_form(parsed, one), isinstance(one, exp.And | exp.Or)) for one in chain)
    return word.join(sorted(f"({form})" if is_chain else form for form, is_chain in forms))


def _compared(parsed: ParsedPredicate, left: exp.Expr, sign: str, right: exp.Expr) -> str:
    """Return a comparison with its constant at the right."""
    first, second = _text(parsed, left), _text(parsed, right)
    return f"{second} {_MIRRORED.get(sign, sign)} {first}" if first == "?" else f"{first} {sign} {second}"


def _text(parsed: ParsedPredicate, node: exp.Expr) -> str:
    """Return the source of a node, its words in small letters and one space apart, without needless quotes."""
    tokens = tokenize(parsed.text(node, brackets=False))
    return " ".join(token.text.strip("`") for token in tokens).casefold()
