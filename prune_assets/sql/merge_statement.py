"""Parse MERGE statements, and compose them from parts. Their text is kept byte for byte."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from prune_assets.errors import PredicateSyntaxError
from prune_assets.sql.merge_condition import ConditionParts, KeyEquality, MergeSide, Unused, parts_of_condition
from prune_assets.sql.merge_syntax import (
    ALL_COLUMNS,
    SOURCE_KINDS,
    Action,
    ClauseCase,
    MergeClause,
    read_clauses,
    read_part,
    read_query,
    read_table,
)
from prune_assets.sql.render import column_sql
from prune_assets.sql.syntax.cursor import Cursor
from prune_assets.sql.syntax.lexer import TextKind, tokenize
from prune_assets.sql.syntax.operands import QUERY_STARTS
from prune_assets.sql.syntax.parsed import parse_predicate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.sql.syntax.lexer import Token

__all__ = [
    "Action",
    "ClauseCase",
    "KeyEquality",
    "MergeClause",
    "MergeStatement",
    "Unused",
    "is_path",
    "merge_statement",
    "parse_merge",
    "table_location",
]

_FORMATS = frozenset({"delta", "iceberg", "parquet"})
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_PATH = re.compile(rf"{_URI.pattern}|/|\.\.?/|[^\s`()]+/[^\s`()]*\Z")
_TARGET_ALIAS, _SOURCE_ALIAS = "t", "s"
_CTE = "a WITH before MERGE is not supported; put it in the source: USING (WITH ... SELECT ...) s"


@dataclass(frozen=True, slots=True)
class MergeStatement:
    """A MERGE statement and its parts.

    `target`, `source`: name as written, such as `lake.sales.orders` or delta.`/lake/orders`. A source may be a query in
    brackets.
    `on`: text of the condition.
    `keys`: equalities of ON between a column of the target and the source.
    `target_conditions`: conditions of ON on the target alone, without its alias, as `where=` of `plan` takes them. They
    can be joined by AND.
    `source_conditions`: conditions of ON on the source alone, with its alias.
    `unused`: other conditions of ON, with the reason why they restrict no column of the target by themselves.
    `matched_condition`: condition on the target alone, without its alias, that every changed row meets; Delta also
    skips files by it. None if a row that does not meet it may change, or if not all clauses are MATCHED clauses.
    """

    sql: str
    target: str
    target_alias: str | None
    source: str
    source_alias: str | None
    on: str
    keys: tuple[KeyEquality, ...]
    target_conditions: tuple[str, ...]
    source_conditions: tuple[str, ...]
    unused: tuple[tuple[str, Unused], ...]
    clauses: tuple[MergeClause, ...]
    matched_condition: str | None = None
    has_schema_evolution: bool = False
    on_start: int = field(default=0, repr=False)

    def with_condition(self, condition: str) -> str:
        """Return the statement with one more condition in ON, otherwise unchanged.

        >>> merge = parse_merge("MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN DELETE;")
        >>> merge.with_condition("t.k BETWEEN 3 AND 9")
        'MERGE INTO t USING s ON (t.k = s.k) AND (t.k BETWEEN 3 AND 9) WHEN MATCHED THEN DELETE;'
        """
        end = self.on_start + len(self.on)
        return f"{self.sql[: self.on_start]}({self.on}) AND ({_without_edges(condition)}){self.sql[end:]}"

    def target_column(self, path: Sequence[str]) -> str:
        """Return a column of the target as SQL with the qualifier that ON needs.

        >>> parse_merge("MERGE INTO lake.t USING s ON t.k = s.k WHEN MATCHED THEN DELETE").target_column(("k",))
        't.k'
        """
        if self.target_alias is not None:
            return column_sql((self.target_alias, *path))
        names = _names(self.target)
        is_shared = self.source_alias is None and names[-1:] == _names(self.source)[-1:]
        return column_sql((*(names if is_shared else names[-1:]), *path))


def parse_merge(
    sql: str,
    *,
    target_columns: Sequence[str] | None = None,
    source_columns: Sequence[str] | None = None,
    case_sensitive: bool = False,
) -> MergeStatement:
    """Parse a text that consists of one MERGE statement of Spark SQL.

    `target_columns`, `source_columns`: names of the top-level columns. None if unknown; names without a qualifier are
    then ambiguous.
    `case_sensitive`: the value of spark.sql.caseSensitive.

    >>> merge = parse_merge("MERGE INTO orders t USING news s ON t.k = s.k AND t.day > '2024' WHEN MATCHED THEN DELETE")
    >>> merge.keys[0].target, merge.keys[0].source, merge.target_conditions
    (('k',), 's.k', ("day > '2024'",))

    Raises PredicateSyntaxError with the line, also for several statements.
    """
    cursor = Cursor(sql, _tokens_of_merge(sql), TextKind.STATEMENT)
    cursor.expect("MERGE")
    has_schema_evolution = cursor.sign() == "WITH"
    for word in ("WITH", "SCHEMA", "EVOLUTION") if has_schema_evolution else ():
        cursor.expect(word)
    cursor.expect("INTO")
    target = read_table(cursor, "USING")
    cursor.expect("USING")
    source = read_table(cursor, "ON") if cursor.sign() != "(" else read_query(cursor)
    if cursor.sign() != "ON":
        cursor.fail(f"ON is expected here; {SOURCE_KINDS}")
    cursor.take()
    start, end = read_part(cursor, "WHEN", "a condition is expected here")
    clauses = tuple(read_clauses(cursor))
    sides = (
        MergeSide.of(target.names, target.alias, target_columns, case_sensitive=case_sensitive),
        MergeSide.of(source.names, source.alias, source_columns, case_sensitive=case_sensitive),
    )
    parts = _condition_parts(sql, start, end, sides)
    return MergeStatement(
        sql=sql,
        target=target.sql,
        target_alias=target.alias,
        source=source.sql,
        source_alias=source.alias,
        on=sql[start:end],
        keys=parts.keys,
        target_conditions=parts.target_conditions,
        source_conditions=parts.source_conditions,
        unused=parts.unused,
        clauses=clauses,
        matched_condition=_matched_condition(clauses, sides),
        has_schema_evolution=has_schema_evolution,
        on_start=start,
    )


def _condition_parts(sql: str, start: int, end: int, sides: tuple[MergeSide, MergeSide]) -> ConditionParts:
    try:
        parsed = parse_predicate(sql[start:end])
    except PredicateSyntaxError as error:
        place = f"{TextKind.STATEMENT}, line {_line(sql, start)}, after ON"
        raise PredicateSyntaxError(f"{place}: {error}") from None
    return parts_of_condition(parsed, *sides)


def _matched_condition(clauses: Sequence[MergeClause], sides: tuple[MergeSide, MergeSide]) -> str | None:
    alternatives: list[str] = []
    for clause in clauses:
        if clause.case is not ClauseCase.MATCHED or clause.condition is None:
            return None
        try:
            conditions = parts_of_condition(parse_predicate(clause.condition), *sides).target_conditions
        except PredicateSyntaxError:  # syntax that only the engine parses: the clause may apply to every row
            return None
        if not conditions:
            return None
        alternatives.append(" AND ".join(conditions))
    return alternatives[0] if len(alternatives) == 1 else f"({' OR '.join(alternatives)})"


def _line(sql: str, position: int) -> int:
    return sql.count("\n", 0, position) + 1


def _tokens_of_merge(sql: str) -> Sequence[Token]:
    """Return the tokens of the only statement of a text, without its semicolon."""
    statements: list[list[Token]] = [[]]
    for token in tokenize(sql, TextKind.STATEMENT):
        if token.text == ";":
            statements.append([])
        else:
            statements[-1].append(token)
    statements = [tokens for tokens in statements if tokens]
    if not statements:
        raise PredicateSyntaxError("the text has no statement; write one MERGE")
    if len(statements) > 1:
        firsts = [tokens[0] for tokens in statements]
        listed = ", ".join(f"{it.text.upper()} in line {_line(sql, it.start)}" for it in firsts)
        raise PredicateSyntaxError(f"the text has {len(statements)} statements ({listed}); keep one MERGE alone")
    (tokens,) = statements
    cursor = Cursor(sql, tokens, TextKind.STATEMENT)
    if cursor.sign() == "WITH":
        cursor.fail(_CTE)
    if cursor.sign() != "MERGE":
        cursor.fail("a statement that begins with MERGE INTO is expected here")
    return tokens


def merge_statement(
    target: str,
    source: str,
    on: str,
    when: Sequence[str],
    *,
    target_columns: Sequence[str] | None = None,
    source_columns: Sequence[str] | None = None,
    case_sensitive: bool = False,
    schema_evolution: bool = False,
) -> MergeStatement:
    """Compose a MERGE statement.

    `target`, `source`: a name of a catalog, a path of a Delta table, or for the source a query; an alias may follow a
    name or a query in brackets. Without an alias, the target is `t` and the source `s` if the other texts use these.
    `on`: the condition.
    `when`: clauses. WHEN, THEN, and `SET *` or `*` for all columns may be left out: "MATCHED UPDATE", "NOT MATCHED
    INSERT", "MATCHED AND s.gone DELETE".

    >>> merge = merge_statement("/lake/orders", "news", "t.k = s.k", ["MATCHED UPDATE", "NOT MATCHED INSERT"])
    >>> print(merge.sql)
    MERGE INTO delta.`/lake/orders` AS t
    USING news AS s
    ON t.k = s.k
    WHEN MATCHED THEN UPDATE SET *
    WHEN NOT MATCHED THEN INSERT *

    Other parameters and errors as in `parse_merge`.
    """
    clauses = [_whole_clause(clause) for clause in when]
    tokens = [token for sql in (on, *clauses) for token in tokenize(sql, TextKind.STATEMENT)]
    used = {token.text.strip("`").lower() for token, dot in pairwise(tokens) if dot.text == "."}
    merge = "MERGE WITH SCHEMA EVOLUTION" if schema_evolution else "MERGE"
    lines = [
        f"{merge} INTO {_relation_sql(target, _TARGET_ALIAS, used)}",
        f"USING {_relation_sql(source, _SOURCE_ALIAS, used)}",
        f"ON {_without_edges(on)}",
        *clauses,
    ]
    return parse_merge(
        "\n".join(lines),
        target_columns=target_columns,
        source_columns=source_columns,
        case_sensitive=case_sensitive,
    )


def _without_edges(sql: str) -> str:
    """Return a text without comments and gaps at its ends: a comment would hide what follows."""
    tokens = tokenize(sql, TextKind.STATEMENT)
    return sql[tokens[0].start : tokens[-1].end] if tokens else ""


def _cursor(sql: str) -> Cursor:
    return Cursor(sql, tokenize(sql, TextKind.STATEMENT), TextKind.STATEMENT)


def _whole_clause(clause: str) -> str:
    """Return a clause with the words that a short form leaves out."""
    sql = _without_edges(clause)
    cursor = _cursor(sql)
    start = "" if cursor.sign() == "WHEN" else "WHEN "
    signs = [cursor.sign(index) for index in range(len(cursor.tokens))]
    then = next((index for index in range(len(signs)) if _is_action(signs, index)), None)
    if then is None:
        return start + sql
    before, action = sql[: cursor.tokens[then].start].rstrip(), sql[cursor.tokens[then].start :]
    is_alone = then == len(signs) - 1
    separator = " " if signs[then - 1] == "THEN" else " THEN "
    return f"{start}{before}{separator}{ALL_COLUMNS[Action(signs[then])] if is_alone else action}"


def _is_action(signs: Sequence[str], index: int) -> bool:
    """Return whether a word is the action of a clause rather than a name in its condition."""
    is_last = index == len(signs) - 1
    follows = {Action.UPDATE: {"SET"}, Action.INSERT: {"*", "("}, Action.DELETE: set[str]()}
    sign = signs[index]
    return sign in follows and signs[index - 1] != "." and (is_last or signs[index + 1] in follows[Action(sign)])


def _relation_sql(table: str, default_alias: str, used: set[str]) -> str:
    """Return a target or source as SQL; with `default_alias` if the texts use it and the table has no other alias."""
    sql = table.strip()
    if is_path(sql):
        names: tuple[str, ...] = ("delta", sql if _URI.match(sql) else str(Path(sql).absolute()))
        sql, alias = f"{names[0]}.`{names[1].replace('`', '``')}`", None
    else:
        sql = _without_edges(sql)
        cursor = _cursor(sql)
        if cursor.sign() in QUERY_STARTS and len(cursor.tokens) > 2 and cursor.sign(1) != ".":
            sql, names, alias = f"({sql})", (), None
        else:
            _, names, alias = read_query(cursor) if cursor.sign() == "(" else read_table(cursor, "")
    is_needed = alias is None and default_alias in used and names[-1:] != (default_alias,)
    return f"{sql} AS {default_alias}" if is_needed else sql


def is_path(table: str) -> bool:
    """Return whether a text is a path rather than a name, an alias or a query."""
    return _PATH.match(table) is not None and not table.startswith("/*")


def table_location(target: str) -> str:
    """Return the path or dotted name of a table, as `plan` takes it.

    >>> table_location("delta.`/lake/orders`"), table_location("`lake`.sales.orders"), table_location("/lake/orders")
    ('/lake/orders', 'lake.sales.orders', '/lake/orders')
    """
    if is_path(target):
        return target
    names = _names(target)
    is_of_path = len(names) == 2 and names[0].lower() in _FORMATS and "/" in names[1]
    return names[1] if is_of_path else ".".join(f"`{name}`" if "." in name else name for name in names)


def _names(table: str) -> tuple[str, ...]:
    """Return the parts of the name of a target or source; empty for a query."""
    cursor = _cursor(table)
    return () if cursor.sign() == "(" else read_table(cursor, "").names
