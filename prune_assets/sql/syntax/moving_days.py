"""Texts that Spark takes for another day each day: `DATE 'today'`."""

from __future__ import annotations

import re
from itertools import pairwise

from prune_assets.sql.syntax.lexer import tokenize
from prune_assets.sql.syntax.sqlglot_nodes import TokenType
from prune_assets.sql.syntax.string_literals import read_string

_MOVING = re.compile(r"\s*(now|today|tomorrow|yesterday)", re.IGNORECASE)
_TYPES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"})


def names_moving_day(text: str) -> bool:
    """Tell whether a constant text, cast to a date or time, depends on when that is done.

    >>> names_moving_day(" Today"), names_moving_day("2024-03-01")
    (True, False)
    """
    return _MOVING.match(text) is not None


def has_moving_literal(sql: str) -> bool:
    """Tell whether a date or time is written as such a text.

    >>> has_moving_literal("d > date 'tomorrow'"), has_moving_literal("s > 'tomorrow'")
    (True, False)
    """
    return any(
        word.text.upper() in _TYPES and text.token_type == TokenType.STRING and names_moving_day(read_string(text.text))
        for word, text in pairwise(tokenize(sql))
    )
