"""Split a file of SQL into statements and conditions, one per line; a `;` may end a statement of several lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WEIGHT = re.compile(r"--\s*weight(?:\s*[:=]\s*|\s+)([0-9]+(?:\.[0-9]+)?)\s*$", re.IGNORECASE)
# A string ends with its line: an open quote spoils only that line, not everything up to the next quote.
_STRING = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`[^`\n]*`"""
_QUOTED = re.compile(rf"{_STRING}|(--[^\n]*|/\*.*?\*/)", re.DOTALL)
_SET_OPERATORS = {"UNION", "EXCEPT", "INTERSECT", "MINUS"}
# A condition never begins with these words, so such a line continues the previous one.
_CONTINUES = (
    _SET_OPERATORS
    | {"FROM", "WHERE", "AND", "OR", "GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "SORT", "CLUSTER", "DISTRIBUTE"}
    | {"JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "ON", "USING", "LATERAL"}
)


class Statement(NamedTuple):
    """A statement or condition of a file of SQL.

    `line`: number of its first line.
    `sql`: its text without comments.
    `runs`: its number of runs.
    """

    line: int
    sql: str
    runs: float


@dataclass(slots=True)
class _StatementLine:
    """A line, or the part of a line up to a `;`.

    `opened`: number of opening brackets minus number of closing ones.
    """

    line_number: int
    sql: str
    words: list[str]
    opened: int
    is_ended: bool
    weight: float | None = None


def statements_of(text: str) -> Iterator[Statement]:
    r"""Yield the statements and conditions of a file, with the weights in its comments.

    >>> for statement in statements_of("id = 7  -- weight: 10\nSELECT id\nFROM orders\nWHERE day = 'x;y';"):
    ...     statement.line, statement.sql, statement.runs
    (1, 'id = 7', 10.0)
    (2, "SELECT id\nFROM orders\nWHERE day = 'x;y'", 1.0)
    """
    part: list[_StatementLine] = []
    for line in _lines(text):
        part.append(line)
        if line.is_ended:
            yield from _statements(part)
            part = []
    yield from _statements(part)


def _lines(text: str) -> Iterator[_StatementLine]:
    sql = _QUOTED.sub(lambda match: _blanked(match[0], " ") if match[1] else match[0], text)
    bare = _QUOTED.sub(lambda match: _blanked(match[0], " " if match[1] else "'"), text)
    rows = zip(text.split("\n"), sql.split("\n"), bare.split("\n"), strict=True)
    for line_number, (written, row, signs) in enumerate(rows, 1):
        cuts = [-1, *(match.start() for match in re.finditer(";|$", signs))]
        parts = [_line(line_number, row[i + 1 : j], signs[i + 1 : j + 1]) for i, j in pairwise(cuts)]
        parts = [part for part in parts if part.sql or part.is_ended]
        weight = _WEIGHT.search(written)
        if parts and weight:
            parts[-1].weight = float(weight[1])
        yield from parts


def _blanked(text: str, sign: str) -> str:
    return re.sub(r"[^\n]", sign, text)


def _line(line_number: int, sql: str, signs: str) -> _StatementLine:
    words = re.findall(r"\w+", signs.upper())
    return _StatementLine(line_number, sql.strip(), words, signs.count("(") - signs.count(")"), signs.endswith(";"))


def _statements(lines: Sequence[_StatementLine]) -> Iterator[Statement]:
    """Yield the statements in the lines up to a `;`, or in those after the last `;`.

    The last statement may span any number of lines, because its end is certain. Each earlier line is a statement of its
    own, unless its first word (such as FROM) continues the line before, or a set operator (such as UNION) joins both
    lines.
    """
    start = _start_of_last(lines)
    pending: list[_StatementLine] = []
    for index, line in enumerate(lines):
        if pending and index <= start and not _continues(pending[-1], line):
            yield from _joined(pending)
            pending = []
        pending.append(line)
    yield from _joined(pending)


def _start_of_last(lines: Sequence[_StatementLine]) -> int:
    """Return the index of the first line of the statement that ends in the last line."""
    last = len(lines) - 1
    with_ = next((index for index, line in enumerate(lines) if _opens_with(line)), last)
    opened = 0
    for index in range(last, -1, -1):
        line, before = lines[index], lines[index - 1].words if index else []
        opened += line.opened
        if line.weight is not None and index < last:
            break
        if line.words[:1] == ["SELECT"] and opened >= 0 and not _is_open(before):
            # After the last `;`, a line with a FROM is complete.
            is_whole = not lines[last].is_ended and "FROM" in line.words
            return min(with_, last if is_whole else index)
    return with_


def _opens_with(line: _StatementLine) -> bool:
    """Return True if a line begins a WITH that continues in the next line."""
    return line.words[:1] == ["WITH"] and (line.opened > 0 or line.words.count("SELECT") < 2)


def _continues(before: _StatementLine, line: _StatementLine) -> bool:
    return not _CONTINUES.isdisjoint(line.words[:1]) or _is_open(before.words)


def _is_open(words: Sequence[str]) -> bool:
    """Return True if a line ends with a set operator, such as UNION ALL."""
    return not _SET_OPERATORS.isdisjoint(words[-2:])


def _joined(lines: Sequence[_StatementLine]) -> Iterator[Statement]:
    sql = "\n".join(line.sql for line in lines).strip()
    if sql:
        weight = next((line.weight for line in reversed(lines) if line.weight is not None), 1.0)
        yield Statement(lines[0].line_number, sql, weight)
