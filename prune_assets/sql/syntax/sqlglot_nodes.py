"""sqlglot's tokens and nodes: the only file that imports it, once a predicate is read.

They are used as they are. Where sqlglot is compiled (`sqlglot[c]`, `sqlglot[rs]`), no class of it can be derived from.
`parse_one` reads whole statements, of files of SQL; predicates are parsed here by Spark's own grammar.
"""

from __future__ import annotations

from sqlglot import Token, TokenType, exp, parse_one
from sqlglot.errors import SqlglotError

__all__ = ["SqlglotError", "Token", "TokenType", "exp", "parse_one"]
