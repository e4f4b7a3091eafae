"""Find and replace the constants of a predicate. Predicates that differ only in constants share a query shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prune_assets.sql.syntax.lexer import TokenKind, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TYPED = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "X"})
_LITERALS = frozenset({TokenKind.STRING, TokenKind.NUMBER, TokenKind.LIST})


class FoundConstant(NamedTuple):
    """A constant from `start` to `end` of a text.

    `type_name`: the word before the constant, such as DATE; otherwise STRING or NUMBER.
    """

    type_name: str
    start: int
    end: int


def constants_of(sql: str) -> Iterator[FoundConstant]:
    """Yield the constants of a text, including signs and type names. Raises PredicateSyntaxError.

    >>> text = "day = DATE '2024-01-01' AND id > -5"
    >>> [text[constant.start : constant.end] for constant in constants_of(text)]
    ["DATE '2024-01-01'", '-5']
    """
    tokens = tokenize(sql)
    for index, token in enumerate(tokens):
        if token.kind not in _LITERALS:
            continue
        before = tokens[index - 1] if index else token
        type_name = "STRING" if token.kind == TokenKind.STRING else "NUMBER"
        start = token.start
        if before.text.upper() in _TYPED and type_name == "STRING":
            type_name, start = before.text.upper(), before.start
        elif before.text == "-" and index > 1 and not _is_operand(tokens[index - 2].text):
            start = before.start
        yield FoundConstant(type_name, start, token.end)


def _is_operand(text: str) -> bool:
    """Return True if a minus sign after `text` means subtraction."""
    return text == ")" or (
        text[-1].isalnum() and text.upper() not in {"AND", "OR", "NOT", "IN", "BETWEEN", "THEN", "ELSE"}
    )


def shape_of(sql: str) -> str:
    """Return a predicate with `?` for each constant, and a single `?` for a list of constants.

    >>> shape_of("day = DATE '2024-01-01' AND id IN (1, 7)")
    'day = ? AND id IN (?)'
    """
    parts: list[str] = []
    last = 0
    for constant in constants_of(sql):
        between = sql[last : constant.start]
        # All values of an IN list become one `?`.
        if not (between.strip() == "," and parts and _in_list(parts)):
            parts += [between, "?"]
        last = constant.end
    return "".join([*parts, sql[last:]])


def _in_list(parts: list[str]) -> bool:
    return parts[-1] == "?" and parts[-2].rstrip().upper().endswith("IN (")


def replaced(sql: str, ranks: Mapping[str, str]) -> str:
    """Return a predicate with its constants replaced by `ranks`.

    >>> replaced("id = 7 AND user = 'a'", {"7": "1", "'a'": "'r1'"})
    "id = 1 AND user = 'r1'"
    """
    parts: list[str] = []
    last = 0
    for constant in constants_of(sql):
        parts += [sql[last : constant.start], ranks[sql[constant.start : constant.end]]]
        last = constant.end
    return "".join([*parts, sql[last:]])
