"""sqlglot's tokens and nodes: the only file that imports it, once a predicate is read.

They are used as they are. Where sqlglot is compiled (`sqlglot[c]`, `sqlglot[rs]`), no class of it can be derived from.
"""

from __future__ import annotations

from sqlglot import Token, TokenType, exp

__all__ = ["Token", "TokenType", "exp"]
