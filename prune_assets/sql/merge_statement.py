"""Parse MERGE statements, and compose them from parts. Their text is kept byte for byte."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from prune_assets.errors import PredicateSyntaxError
from prune_assets.sql.merge_condition import ConditionParts, KeyEquality, MergeSide, Unused, parts_of_condition
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
_SOURCE_KINDS = "put a source other than a table in brackets, followed by its alias: USING (SELECT ...) s"


class ClauseCase(StrEnum):
    """Rows to which a clause of MERGE applies."""

    MATCHED = "MATCHED"
    NOT_MATCHED = "NOT MATCHED"
    NOT_MATCHED_BY_SOURCE = "NOT MATCHED BY SOURCE"


class Action(StrEnum):
    """Change that a clause of MERGE makes."""

    UPDATE = "UPDATE"
    DELETE = "DELETE"
    INSERT = "INSERT"


_ACTIONS = {
    ClauseCase.MATCHED: (Action.UPDATE, Action.DELETE),
    ClauseCase.NOT_MATCHED: (Action.INSERT,),
    ClauseCase.NOT_MATCHED_BY_SOURCE: (Action.UPDATE, Action.DELETE),
}
_ALL_COLUMNS = {Action.UPDATE: "UPDATE SET *", Action.DELETE: "DELETE", Action.INSERT: "INSERT *"}


@dataclass(frozen=True, slots=True)
class MergeClause:
    """A WHEN clause.

    `condition`: text after AND. None without AND.
    `sql`: the whole clause as written.
    """

    case: ClauseCase
    condition: str | None
    action: Action
    sql: str


@dataclass(frozen=True, slots=True)
class MergeStatement:
    """A MERGE statement and its parts.

    `target`, `source`: name as written, such as `lake.sales.orders` or delta.`/lake/orders`. A source may be a query in
    brackets.
    `on`: text of the condition.
    `keys`: equalities of ON between a column of the target and the source.
    `target_conditions`: conditions of ON on the target alone, without its alias, as `where=` of `plan` takes them. Each
    can be joined with others by AND.
    `source_conditions`: conditions of ON on the source alone, with its alias.
    `unused`: other conditions of ON, with the reason why they restrict no column of the target by themselves.
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
    target = _read_table(cursor, "USING")
    cursor.expect("USING")
    source = _read_table(cursor, "ON") if cursor.sign() != "(" else _read_query(cursor)
    if cursor.sign() != "ON":
        cursor.fail(f"ON is expected here; {_SOURCE_KINDS}")
    cursor.take()
    start, end = _read_part(cursor, "WHEN", "a condition is expected here")
    clauses = tuple(_read_clauses(cursor))
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


class _MergeTable(NamedTuple):
    """The target or source as written.

    `names`: parts of its name without backquotes; empty for a query.
    """

    sql: str
    names: tuple[str, ...]
    alias: str | None


def _read_table(cursor: Cursor, next_word: str) -> _MergeTable:
    first = cursor.position
    names = [cursor.take_name()]
    while cursor.sign() == ".":
        cursor.take()
        names.append(cursor.take_name())
    if cursor.sign() == "(":
        hint = "write its name" if names[0].upper() == "IDENTIFIER" else _SOURCE_KINDS
        cursor.fail(f"a table is expected here, not a function; {hint}")
    return _MergeTable(_text(cursor, first), tuple(names), _read_alias(cursor, next_word))


def _read_query(cursor: Cursor) -> _MergeTable:
    first = cursor.position
    if cursor.sign(1) not in QUERY_STARTS:
        cursor.fail("a query is expected in these brackets; write a table without brackets")
    cursor.skip_brackets()
    return _MergeTable(_text(cursor, first), (), _read_alias(cursor, "ON"))


def _read_alias(cursor: Cursor, next_word: str) -> str | None:
    has_as = cursor.sign() == "AS"
    if has_as:
        cursor.take()
    if not has_as and (cursor.sign() == next_word or not cursor.is_name()):
        return None
    alias = cursor.take_name()
    if cursor.sign() == "(":
        cursor.fail(
            "MERGE takes no column names after an alias; name the columns in a query: USING (SELECT a AS x ...) s"
        )
    return alias


def _text(cursor: Cursor, first: int) -> str:
    return cursor.sql[cursor.tokens[first].start : cursor.tokens[cursor.position - 1].end]


def _read_part(cursor: Cursor, next_word: str, problem: str) -> tuple[int, int]:
    """Return start and end of the text before the next `next_word` outside of brackets and of CASE."""
    first, cases = cursor.position, 0
    while not cursor.at_end:
        sign = "" if _is_field(cursor) else cursor.sign()
        if sign == next_word and not cases:
            break
        cases = max(0, cases + (sign == "CASE") - (sign == "END"))
        cursor.skip_brackets() if sign == "(" else cursor.take()
    if cursor.position == first:
        cursor.fail(problem)
    return cursor.tokens[first].start, cursor.tokens[cursor.position - 1].end


def _is_field(cursor: Cursor) -> bool:
    """Return whether the next token is a part of a name, next to a dot."""
    return "." in {cursor.sign(-1), cursor.sign(1)}


def _read_clauses(cursor: Cursor) -> list[MergeClause]:
    clauses: list[MergeClause] = []
    while not cursor.at_end or not clauses:
        if cursor.sign() != "WHEN":
            cursor.fail("a clause WHEN [NOT] MATCHED ... THEN ... is expected here")
        clauses.append(_read_clause(cursor))
    return clauses


def _read_clause(cursor: Cursor) -> MergeClause:
    first, condition = cursor.position, None
    cursor.expect("WHEN")
    case = _read_case(cursor)
    if cursor.sign() == "AND":
        cursor.take()
        start, end = _read_part(cursor, "THEN", "a condition is expected here")
        condition = cursor.sql[start:end]
    cursor.expect("THEN")
    action = _read_action(cursor, case)
    return MergeClause(case, condition, action, _text(cursor, first))


def _read_case(cursor: Cursor) -> ClauseCase:
    if cursor.sign() == "NOT":
        cursor.take()
        cursor.expect("MATCHED")
        if cursor.sign() != "BY":
            return ClauseCase.NOT_MATCHED
        cursor.take()
        if cursor.sign() not in {"SOURCE", "TARGET"}:
            cursor.fail("SOURCE or TARGET is expected after NOT MATCHED BY")
        by_source = cursor.take().text.upper() == "SOURCE"
        return ClauseCase.NOT_MATCHED_BY_SOURCE if by_source else ClauseCase.NOT_MATCHED
    cursor.expect("MATCHED")
    return ClauseCase.MATCHED


def _read_action(cursor: Cursor, case: ClauseCase) -> Action:
    sign = cursor.sign()
    if sign not in _ACTIONS[case]:
        cursor.fail(f"WHEN {case} takes {' or '.join(_ALL_COLUMNS[action] for action in _ACTIONS[case])}")
    action = Action(sign)
    cursor.take()
    if action is Action.UPDATE:
        cursor.expect("SET")
        if case is ClauseCase.NOT_MATCHED_BY_SOURCE and cursor.sign() == "*":
            cursor.fail("without a row of the source, UPDATE takes columns and values: UPDATE SET active = false")
        _read_part(cursor, "WHEN", "columns and their values are expected here, or *")
    elif action is Action.INSERT:
        if cursor.sign() not in {"*", "("}:
            cursor.fail("INSERT takes * or columns and their values: INSERT (a, b) VALUES (s.a, s.b)")
        _read_part(cursor, "WHEN", "")
    return action


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
    `when`: clauses. WHEN, THEN and what means all columns may be left out: "MATCHED UPDATE", "NOT MATCHED INSERT",
    "MATCHED AND s.gone DELETE".

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
    return f"{start}{before}{separator}{_ALL_COLUMNS[Action(signs[then])] if is_alone else action}"


def _is_action(signs: Sequence[str], index: int) -> bool:
    """Return whether a word is the action of a clause rather than a name in its condition."""
    is_last = index == len(signs) - 1
    follows = {Action.UPDATE: {"SET"}, Action.INSERT: {"*", "("}, Action.DELETE: set[str]()}
    sign = signs[index]
    return sign in follows and signs[index - 1] != "." and (is_last or signs[index + 1] in follows[Action(sign)])


def _relation_sql(table: str, default_alias: str, used: set[str]) -> str:
    """Return a target or source as SQL, with an alias if the texts use `default_alias` and it has no other."""
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
            _, names, alias = _read_query(cursor) if cursor.sign() == "(" else _read_table(cursor, "")
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
    return () if cursor.sign() == "(" else _read_table(cursor, "").names
