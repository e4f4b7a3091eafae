"""Parsed predicates: text, tokens and tree together, so that no text is parsed twice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prune_assets.errors import PredicateSyntaxError
from prune_assets.sql.syntax.cursor import text_of
from prune_assets.sql.syntax.grammar import parse
from prune_assets.sql.syntax.lexer import LONG_REMEDY, Token, TokenKind, refuse, tokenize
from prune_assets.sql.syntax.nodes import Binary, Conjunction, SyntaxNode, mark, rebuilt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parquet_core.format.schema import LeafColumn

    Span = tuple[int, int]

# Limits of nested brackets, and of AND and OR. No code recurses into a tree, but deeper nesting is a mistake.
MAX_DEPTH = 10_000
MAX_CONNECTIVES = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class ParsedPredicate:
    """A text with its tokens.

    `tree`: tree of the whole text or of a part.
    """

    sql: str
    tokens: Sequence[Token]
    tree: SyntaxNode

    def text(self, node: SyntaxNode, *, brackets: bool = True) -> str:
        """Return the source of a node; `brackets`: False to omit brackets around the node."""
        return text_of(node, self.sql, self.tokens, brackets=brackets)

    def part(self, node: SyntaxNode) -> ParsedPredicate:
        """Return a part of the predicate, with `node` as its tree."""
        return replace(self, tree=node)

    def conjuncts(self) -> list[ParsedPredicate]:
        """Return the operands of the topmost AND, or the whole predicate if it is not an AND."""
        return [self.part(node) for node in chain_of(self.tree, Conjunction)]

    def with_literals(self, literals: Mapping[Span, str]) -> ParsedPredicate:
        """Replace spans of tokens with literals.

        `literals`: literal by the first and last token of the span that it replaces.

        The first token of a span becomes the literal and the others become empty, so that all nodes keep their spans.
        """
        if not literals:
            return self
        sql, tokens, end, last_of = "", list[Token](), 0, dict(list(literals))
        for i, token in enumerate(self.tokens):
            if i < len(tokens):
                continue
            last = last_of.get(i, i)
            sql += self.sql[end : token.start]
            start, end = len(sql), self.tokens[last].end
            sql += literals.get((i, last), self.sql[token.start : token.end])
            kind, text = (TokenKind.SIGN, sql[start:]) if i in last_of else (token.kind, token.text)
            tokens.append(Token(kind, text, start, len(sql)))
            tokens += [Token(TokenKind.SIGN, "", len(sql), len(sql)) for _ in range(last - i)]
        return ParsedPredicate(sql + self.sql[end:], tokens, self._tree_with(literals))

    def _tree_with(self, literals: Mapping[Span, str]) -> SyntaxNode:
        def replacement(node: SyntaxNode) -> SyntaxNode | None:
            first, last = node.span or (0, -1)
            while (first, last) not in literals and first < last and self._is_bracketed(first, last):
                first, last = first + 1, last - 1
            return _literal_node(literals[first, last], node) if (first, last) in literals else None

        return rebuilt(self.tree, replacement)

    def _is_bracketed(self, first: int, last: int) -> bool:
        return self.tokens[first].text == "(" and self.tokens[last].text == ")"

    def tokens_of_tree(self) -> Sequence[Token]:
        """Return the tokens of the tree."""
        assert self.tree.span is not None
        return self.tokens[self.tree.span[0] : self.tree.span[1] + 1]


def parse_predicate(sql: str) -> ParsedPredicate:
    """Parse a predicate. Raises PredicateSyntaxError."""
    tokens = tokenize(sql)
    _refuse_deep_brackets(sql, tokens)
    _refuse_many_conditions(tokens)
    try:
        return ParsedPredicate(sql, tokens, parse(sql, tokens))
    except PredicateSyntaxError:
        _refuse_statement(tokens)
        raise


def _literal_node(literal: str, replaced: SyntaxNode) -> SyntaxNode:
    tree = parse_predicate(literal).tree
    for node in tree.walk():
        mark(node, replaced.span)
    return tree


def chain_of(node: SyntaxNode, connective: type[Binary]) -> list[SyntaxNode]:
    """Return the operands of a chain of one connective from left to right, ignoring brackets."""
    operands: list[SyntaxNode] = []
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, connective):
            stack += [part.right, part.left]
        else:
            operands.append(part)
    return operands


def _refuse_deep_brackets(sql: str, tokens: Sequence[Token]) -> None:
    depth = 0
    for token in tokens:
        if token.text == "(":
            depth += 1
            if depth > MAX_DEPTH:
                refuse(sql, token.start, f"brackets are nested deeper than {MAX_DEPTH:,} levels")
        elif token.text == ")":
            depth -= 1


def _refuse_statement(tokens: Sequence[Token]) -> None:
    """Raise PredicateSyntaxError for a whole statement, such as a SELECT.

    Called after parsing failed, because columns may have the names of these keywords.
    """
    first = tokens[0].text.upper() if tokens else ""
    if first == "WHERE":
        raise PredicateSyntaxError("predicate: it begins with WHERE; leave out the word WHERE")
    if first in {"SELECT", "WITH", "FROM"}:
        problem = f"it is a whole {first} statement; give only the condition after WHERE"
        raise PredicateSyntaxError(f"predicate: {problem}")


def _refuse_many_conditions(tokens: Sequence[Token]) -> None:
    count = sum(token.kind == TokenKind.WORD and token.text.upper() in {"AND", "OR"} for token in tokens)
    if count > MAX_CONNECTIVES:
        problem = f"it joins {count + 1:,} conditions by AND and OR, more than {MAX_CONNECTIVES:,}"
        raise PredicateSyntaxError(f"predicate: {problem}; {LONG_REMEDY}")


_NAMES = frozenset({TokenKind.WORD, TokenKind.QUOTED})


def named_by_part(tokens: Sequence[Token], columns: Sequence[LeafColumn]) -> tuple[LeafColumn, ...] | None:
    """Return the columns that tokens may name; None if a name is ambiguous.

    A name is ambiguous if it refers to a whole struct or several columns. Case is ignored, and any word that may be a
    column counts as one, so that all columns of the part are returned.
    """
    tops = {column.path[0].lower() for column in columns}
    named: dict[tuple[str, ...], LeafColumn] = {}
    for chain in _chains(tokens):
        if chain[0] not in tops:
            continue
        meant = [column for column in columns if _is_named(column, chain)]
        if len(meant) != 1:
            return None
        named[meant[0].path] = meant[0]
    return tuple(named.values())


def _is_named(column: LeafColumn, chain: tuple[str, ...]) -> bool:
    return tuple(part.lower() for part in column.path) == chain[: len(column.path)]


def _chains(tokens: Sequence[Token]) -> Iterator[tuple[str, ...]]:
    """Yield chains of dotted names in lower case, except function names."""
    i = 0
    while i < len(tokens):
        chain: list[str] = []
        while i < len(tokens) and tokens[i].kind in _NAMES:
            chain.append(_normalized_text(tokens[i]))
            dotted = i + 2 < len(tokens) and tokens[i + 1].text == "." and tokens[i + 2].kind in _NAMES
            i += 2 if dotted else 1
            if not dotted:
                break
        if chain and not (i < len(tokens) and tokens[i].text == "(" and tokens[i - 1].kind == TokenKind.WORD):
            yield tuple(chain)
        i += not chain


def _normalized_text(token: Token) -> str:
    text = token.text
    return (text[1:-1].replace("``", "`") if token.kind == TokenKind.QUOTED else text).lower()
