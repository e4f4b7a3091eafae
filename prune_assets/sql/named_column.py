"""The only column that a part of a predicate names, told from its words: the part itself may be one not looked into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.lexer import tokenize
from prune_assets.sql.sqlglot_nodes import TokenType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.format.schema import LeafColumn
    from prune_assets.sql.sqlglot_nodes import Token

_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})


def only_column(sql: str, columns: Sequence[LeafColumn]) -> LeafColumn | None:
    """Return the column that a part names, None where it names several, none, or a struct as a whole.

    Case is ignored, and any word that may be a column counts as one, so that a part never names more than this.
    """
    tops = {column.path[0].lower() for column in columns}
    found: set[tuple[str, ...] | None] = set()
    for chain in _chains(tokenize(sql)):
        if chain[0] in tops:
            found.add(next((path for path in _paths(columns) if chain[: len(path)] == path), None))
    if len(found) != 1:
        return None
    (path,) = found
    meant = [column for column in columns if tuple(part.lower() for part in column.path) == path]
    return meant[0] if len(meant) == 1 else None


def _paths(columns: Sequence[LeafColumn]) -> Iterator[tuple[str, ...]]:
    return (tuple(part.lower() for part in column.path) for column in columns)


def _chains(tokens: Sequence[Token]) -> Iterator[tuple[str, ...]]:
    """Yield names with those behind their dots, in small letters; not those of functions."""
    i = 0
    while i < len(tokens):
        chain: list[str] = []
        while i < len(tokens) and tokens[i].token_type in _NAMES:
            chain.append(_text(tokens[i]))
            dotted = i + 2 < len(tokens) and tokens[i + 1].text == "." and tokens[i + 2].token_type in _NAMES
            i += 2 if dotted else 1
            if not dotted:
                break
        if chain and not (i < len(tokens) and tokens[i].text == "(" and tokens[i - 1].token_type == TokenType.VAR):
            yield tuple(chain)
        i += not chain


def _text(token: Token) -> str:
    text = token.text
    return (text[1:-1].replace("``", "`") if token.token_type == TokenType.IDENTIFIER else text).lower()
