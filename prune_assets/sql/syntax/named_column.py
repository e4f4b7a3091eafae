"""The columns that a part of a predicate names, found among its words, as the part may be opaque."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.syntax.sqlglot_nodes import TokenType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.format.schema import LeafColumn
    from prune_assets.sql.syntax.sqlglot_nodes import Token

_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})


def named_by_part(tokens: Sequence[Token], columns: Sequence[LeafColumn]) -> list[LeafColumn]:
    """Return the columns that tokens name; none where they name a struct as a whole, or what may be two columns.

    Case is ignored, and any word that may be a column counts as one, so that a part never names more than these.
    """
    tops = {column.path[0].lower() for column in columns}
    found: dict[tuple[str, ...], LeafColumn] = {}
    for chain in _chains(tokens):
        if chain[0] not in tops:
            continue
        meant = [column for column in columns if _is_named(column, chain)]
        if len(meant) != 1:
            return []
        found[meant[0].path] = meant[0]
    return list(found.values())


def _is_named(column: LeafColumn, chain: tuple[str, ...]) -> bool:
    return tuple(part.lower() for part in column.path) == chain[: len(column.path)]


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
