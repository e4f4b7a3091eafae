"""Read the parts of a MERGE statement from its tokens: tables, conditions and clauses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from prune_assets.sql.syntax.operands import QUERY_STARTS

if TYPE_CHECKING:
    from prune_assets.sql.syntax.cursor import Cursor

SOURCE_KINDS = "put a source other than a table in brackets, followed by its alias: USING (SELECT ...) s"


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
ALL_COLUMNS = {Action.UPDATE: "UPDATE SET *", Action.DELETE: "DELETE", Action.INSERT: "INSERT *"}


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


class MergeTable(NamedTuple):
    """The target or source as written.

    `names`: parts of its name without backquotes; empty for a query.
    """

    sql: str
    names: tuple[str, ...]
    alias: str | None


def read_table(cursor: Cursor, next_word: str) -> MergeTable:
    """Read a name and its alias; `next_word` is no alias."""
    first = cursor.position
    names = [cursor.take_name()]
    while cursor.sign() == ".":
        cursor.take()
        names.append(cursor.take_name())
    if cursor.sign() == "(":
        hint = "write its name" if names[0].upper() == "IDENTIFIER" else SOURCE_KINDS
        cursor.fail(f"a table is expected here, not a function; {hint}")
    return MergeTable(_text(cursor, first), tuple(names), _read_alias(cursor, next_word))


def read_query(cursor: Cursor) -> MergeTable:
    """Read a query in brackets and its alias."""
    first = cursor.position
    if cursor.sign(1) not in QUERY_STARTS:
        cursor.fail("a query is expected in these brackets; write a table without brackets")
    cursor.skip_brackets()
    return MergeTable(_text(cursor, first), (), _read_alias(cursor, "ON"))


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


def read_part(cursor: Cursor, next_word: str, problem: str) -> tuple[int, int]:
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


def read_clauses(cursor: Cursor) -> list[MergeClause]:
    """Read the WHEN clauses, which end the statement."""
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
        start, end = read_part(cursor, "THEN", "a condition is expected here")
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
        cursor.fail(f"WHEN {case} takes {' or '.join(ALL_COLUMNS[action] for action in _ACTIONS[case])}")
    action = Action(sign)
    cursor.take()
    if action is Action.UPDATE:
        cursor.expect("SET")
        if case is ClauseCase.NOT_MATCHED_BY_SOURCE and cursor.sign() == "*":
            cursor.fail("without a row of the source, UPDATE takes columns and values: UPDATE SET active = false")
        read_part(cursor, "WHEN", "columns and their values are expected here, or *")
    elif action is Action.INSERT:
        if cursor.sign() not in {"*", "("}:
            cursor.fail("INSERT takes * or columns and their values: INSERT (a, b) VALUES (s.a, s.b)")
        read_part(cursor, "WHEN", "")
    return action
