"""Cursor over the tokens of a predicate, and the source text of nodes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

from prune_assets.sql.syntax.lexer import TextKind, TokenKind, refuse
from prune_assets.sql.syntax.nodes import mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.sql.syntax.lexer import Token
    from prune_assets.sql.syntax.nodes import SyntaxNode

_CLOSING = {"(": ")", "[": "]"}


class Cursor:
    """Cursor that reads tokens from left to right."""

    def __init__(self, sql: str, tokens: Sequence[Token], text_kind: TextKind = TextKind.PREDICATE) -> None:
        self.sql = sql
        self.text_kind = text_kind
        self.tokens = tokens
        self.position = 0
        self._signs = [_sign(token) for token in tokens]

    @property
    def at_end(self) -> bool:
        """Whether all tokens are read."""
        return self.position >= len(self.tokens)

    def sign(self, ahead: int = 0) -> str:
        """Return the next keyword (upper case) or operator; "" for other tokens and at the end."""
        index = self.position + ahead
        return self._signs[index] if index < len(self._signs) else ""

    def kind(self, ahead: int = 0) -> TokenKind | None:
        """Return the kind of the next token; None at the end."""
        index = self.position + ahead
        return self.tokens[index].kind if index < len(self.tokens) else None

    def is_name(self, ahead: int = 0) -> bool:
        """Return whether the next token is a word or a name in backquotes."""
        return self.kind(ahead) in {TokenKind.WORD, TokenKind.QUOTED}

    def take(self) -> Token:
        """Return the next token and advance."""
        if self.at_end:
            self.fail("something is missing here")
        self.position += 1
        return self.tokens[self.position - 1]

    def take_name(self) -> str:
        """Return the next name without its backquotes, and advance."""
        if not self.is_name():
            self.fail("a name is expected here")
        token = self.take()
        return token.text[1:-1].replace("``", "`") if token.kind == TokenKind.QUOTED else token.text

    def expect(self, sign: str) -> None:
        """Advance over a required keyword or operator."""
        if self.sign() != sign:
            self.fail(f"{sign} is expected here")
        self.position += 1

    def skip_brackets(self) -> None:
        """Skip a pair of brackets and its content; the opening bracket is the next token."""
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
        """Count the commas directly inside the pair of brackets that comes next."""
        start, depth, commas = self.position, 0, 0
        for sign in self._signs[start:]:
            depth += (sign in _CLOSING) - (sign in {")", "]"})
            commas += sign == "," and depth == 1
            if depth == 0:
                break
        return commas

    def fail(self, problem: str) -> NoReturn:
        """Raise PredicateSyntaxError for the next token."""
        position = len(self.sql) if self.at_end else self.tokens[self.position].start
        refuse(self.sql, position, problem, self.text_kind)

    def mark(self, node: SyntaxNode, first: int) -> SyntaxNode:
        """Set the span of a node: from token `first` to the last token read."""
        return mark(node, (first, self.position - 1))


def text_of(node: SyntaxNode, sql: str, tokens: Sequence[Token], *, brackets: bool = True) -> str:
    """Return the source of a node without comments; each gap becomes one space.

    `brackets`: False to omit brackets around the whole node.
    """
    assert node.span is not None
    inside = tokens[node.span[0] : node.span[1] + 1]
    while not brackets and _is_bracketed(inside):
        inside = inside[1:-1]
    later = (f" {token.text}" if before.end < token.start else token.text for before, token in pairwise(inside))
    return sql[inside[0].start : inside[0].end] + "".join(later)


def _is_bracketed(tokens: Sequence[Token]) -> bool:
    """Return whether the first token is a bracket that the last token closes."""
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
