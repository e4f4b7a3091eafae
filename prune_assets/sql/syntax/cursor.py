"""A position in the tokens of a predicate, and the source text of what was read."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

from prune_assets.sql.syntax.lexer import TokenKind, refuse
from prune_assets.sql.syntax.nodes import mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.sql.syntax.lexer import Token
    from prune_assets.sql.syntax.nodes import SyntaxNode

_CLOSING = {"(": ")", "[": "]"}


class Cursor:
    """Reads tokens from left to right."""

    def __init__(self, sql: str, tokens: Sequence[Token]) -> None:
        self.sql = sql
        self.tokens = tokens
        self.position = 0
        self._signs = [_sign(token) for token in tokens]

    @property
    def at_end(self) -> bool:
        """Whether every token is read."""
        return self.position >= len(self.tokens)

    def sign(self, ahead: int = 0) -> str:
        """Return the word in capitals or the operator that comes; empty for names, numbers, strings and the end."""
        index = self.position + ahead
        return self._signs[index] if index < len(self._signs) else ""

    def kind(self, ahead: int = 0) -> TokenKind | None:
        """Return the type of the token that comes, None at the end."""
        index = self.position + ahead
        return self.tokens[index].kind if index < len(self.tokens) else None

    def is_name(self, ahead: int = 0) -> bool:
        """Tell whether a word or a back-quoted name comes."""
        return self.kind(ahead) in {TokenKind.WORD, TokenKind.QUOTED}

    def take(self) -> Token:
        """Return the token that comes and step over it."""
        if self.at_end:
            self.fail("something is missing here")
        self.position += 1
        return self.tokens[self.position - 1]

    def take_name(self) -> str:
        """Return the name that comes, without its back quotes."""
        if not self.is_name():
            self.fail("a name is expected here")
        token = self.take()
        return token.text[1:-1].replace("``", "`") if token.kind == TokenKind.QUOTED else token.text

    def expect(self, sign: str) -> None:
        """Step over a word or operator that has to come."""
        if self.sign() != sign:
            self.fail(f"{sign} is expected here")
        self.position += 1

    def skip_brackets(self) -> None:
        """Step over a pair of brackets with all that it holds; the opening one comes."""
        closing: list[str] = []
        start = self.position
        while not self.at_end:
            sign = self.sign()
            self.position += 1
            if sign in _CLOSING:
                closing.append(_CLOSING[sign])
            elif sign in {")", "]"}:
                if closing.pop() != sign:
                    break
                if not closing:
                    return
        self.position = start
        self.fail("this bracket is not closed")

    def commas_ahead(self) -> int:
        """Return how many commas the pair of brackets that comes has between its own parts."""
        start, depth, commas = self.position, 0, 0
        for sign in self._signs[start:]:
            depth += (sign in _CLOSING) - (sign in {")", "]"})
            commas += sign == "," and depth == 1
            if depth == 0:
                break
        return commas

    def fail(self, problem: str) -> NoReturn:
        """Raise PredicateSyntaxError for the token that comes."""
        refuse(self.sql, len(self.sql) if self.at_end else self.tokens[self.position].start, problem)

    def mark(self, node: SyntaxNode, first: int) -> SyntaxNode:
        """Note that a node reaches from token `first` to the last one read."""
        return mark(node, (first, self.position - 1))


def text_of(node: SyntaxNode, sql: str, tokens: Sequence[Token], *, brackets: bool = True) -> str:
    """Return the source of a node, without its comments; any gap becomes one space.

    `brackets`: False leaves out those around the whole.
    """
    assert node.span is not None
    inside = tokens[node.span[0] : node.span[1] + 1]
    while not brackets and _is_bracketed(inside):
        inside = inside[1:-1]
    later = (f" {token.text}" if before.end < token.start else token.text for before, token in pairwise(inside))
    return sql[inside[0].start : inside[0].end] + "".join(later)


def _is_bracketed(tokens: Sequence[Token]) -> bool:
    """Tell whether the first token is a bracket that the last one closes."""
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            return token.text == ")" and i == len(tokens) - 1
    return False


def _sign(token: Token) -> str:
    if token.kind == TokenKind.WORD:
        return token.text.upper()
    return token.text if token.kind == TokenKind.SIGN else ""
