"""sqlglot's Spark dialect with Spark's own lexical rules and operator grammar put in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser

from prune_assets.sql.grammar import parse
from prune_assets.sql.lexer import tokenize

if TYPE_CHECKING:
    from sqlglot import Token, exp
    from sqlglot.dialects.dialect import DialectType


class SparkPredicateParser(SparkParser):
    """Parses one predicate, where sqlglot's own parser reads statements."""

    def parse(self, raw_tokens: list[Token], sql: str | None = None) -> list[exp.Expr | None]:
        """Return the one tree; raises PredicateSyntaxError."""
        assert sql is not None
        return [parse(sql, raw_tokens)]


class SparkPredicates(Spark):
    """Predicates of Spark SQL as Spark 4 reads them; `sqlglot.parse_one(sql, dialect=SparkPredicates)`."""

    Parser = SparkPredicateParser

    def tokenize(self, sql: str, dialect: DialectType = None) -> list[Token]:
        """Return Spark's tokens; raises PredicateSyntaxError."""
        del dialect
        return tokenize(sql)

    def parse(self, sql: str, **opts: Any) -> list[exp.Expr | None]:
        """Return the tree of the predicate as the only element; raises PredicateSyntaxError."""
        return self.parser(**opts).parse(self.tokenize(sql), sql)
