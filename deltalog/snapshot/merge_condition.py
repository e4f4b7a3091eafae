"""Conjuncts and join keys of the condition of a MERGE, from the text in a commit.

Delta prints the condition with an id after each column (`(k#12L = k#34L)`), or with the names of the statement
(``(t.`k` = s.`k`)``). Neither form names the side of a column, so a name counts as a column of the table if the table
has it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

_NAME = r'(?:`(?:[^`]|``)+`|"(?:[^"]|"")+"|[^\W\d]\w*)(?:#\d+L?)?'
_COLUMN = re.compile(rf"{_NAME}(?:\.{_NAME})*")
_PART = re.compile(_NAME)
_ID = re.compile(r"#\d+L?$")
# Conditions without a column, such as `(1 = 1)`.
_CONSTANT = re.compile(r"[\s()=<>\d]*|true", re.IGNORECASE)
_EQUAL = re.compile(r"\s*(?:<=>|={1,2})\s*")
_AND = re.compile(r"\s+AND\s+", re.IGNORECASE)
_QUOTES = "`\"'"


@dataclass(frozen=True, slots=True)
class MergeCondition:
    """The condition of a MERGE.

    `join_keys`: columns of the table that the condition compares with the source by `=` or `<=>`.
    `other`: conjuncts that are not an equality of two columns. A MERGE may skip files by a conjunct that uses
    only the table's columns.
    """

    join_keys: tuple[str, ...] = ()
    other: tuple[str, ...] = ()


def condition_text(parameters: Mapping[str, object]) -> str | None:
    """Return the condition in the `operationParameters` of a commit; None if missing.

    delta-spark writes a JSON array of one string, and older versions the string itself. delta-rs writes the whole
    condition of a MERGE to `mergePredicate`.

    >>> condition_text({"predicate": '["(k#9L = k#3L)"]'}), condition_text({"predicate": "(t.`k` = s.`k`)"})
    ('(k#9L = k#3L)', '(t.`k` = s.`k`)')
    """
    written = parameters.get("mergePredicate", parameters.get("predicate"))
    if isinstance(written, str) and written.startswith("["):
        try:
            written = msgspec.json.decode(written)
        except msgspec.DecodeError:
            return str(written)
    texts = written if isinstance(written, list) else [written]
    return " AND ".join(text for text in texts if isinstance(text, str) and text) or None


def merge_condition(condition: str, columns: Collection[str]) -> MergeCondition:
    """Parse the condition of a MERGE.

    `columns`: top-level columns of the table.

    >>> merge_condition("((k#9L = k#3L) AND (day#1 = d#4) AND (day#1 > 7))", {"k", "day"})
    MergeCondition(join_keys=('k', 'day'), other=('(day#1 > 7)',))
    """
    named = {column.casefold(): column for column in columns}
    keys: dict[str, None] = {}
    other: list[str] = []
    for conjunct in _conjuncts(condition):
        sides = _EQUAL.split(_without_parentheses(conjunct))
        if len(sides) == 2 and all(map(_COLUMN.fullmatch, sides)):
            keys.update(dict.fromkeys(_key(*(_column(side, named) for side in sides))))
        elif not _CONSTANT.fullmatch(conjunct):
            other.append(conjunct)
    return MergeCondition(tuple(keys), tuple(other))


def _conjuncts(condition: str) -> Iterator[str]:
    inner = _without_parentheses(condition)
    parts = [inner[start:end] for start, end in _top_level(inner)]
    if len(parts) == 1:
        yield condition.strip()
        return
    for part in parts:
        yield from _conjuncts(part)


def _top_level(text: str) -> Iterator[tuple[int, int]]:
    """Yield the character range of each operand of an AND outside of parentheses and quotes."""
    depth, quote, start, i = 0, "", 0, 0
    while i < len(text):
        if quote:
            quote = "" if text[i] == quote else quote
        elif text[i] in _QUOTES:
            quote = text[i]
        elif text[i] in "()":
            depth += 1 if text[i] == "(" else -1
        elif depth == 0 and text[i].isspace() and (match := _AND.match(text, i)):
            yield start, i
            start = i = match.end()
            continue
        i += 1
    yield start, len(text)


def _without_parentheses(text: str) -> str:
    """Remove the parentheses around the whole text."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")") and _closes_at_end(text):
        text = text[1:-1].strip()
    return text


def _closes_at_end(text: str) -> bool:
    depth = 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return i == len(text) - 1
    return False


def _column(text: str, named: Mapping[str, str]) -> tuple[str, str | None]:
    """Return the last part of a column reference, and its name in the table (None if not in the table)."""
    written = _PART.findall(text)
    parts = [_ID.sub("", part) for part in written]
    parts = [part[1:-1].replace(part[0] * 2, part[0]) if part[0] in _QUOTES else part for part in parts]
    # The part with an id is the column. Without ids, the first part may be the name of a table.
    with_id = next((i for i, part in enumerate(written) if _ID.search(part)), None)
    starts = [with_id] if with_id is not None else [*range(1, len(parts)), 0]
    for start in starts:
        column = named.get(parts[start].casefold())
        if column is not None:
            return parts[-1].casefold(), ".".join([column, *parts[start + 1 :]])
    return parts[-1].casefold(), None


def _key(left: tuple[str, str | None], right: tuple[str, str | None]) -> list[str]:
    """Return the side that is a column of the table; [] if neither is one, or if they are two different columns."""
    columns = {column for _, column in (left, right) if column is not None}
    return list(columns) if len(columns) == 1 else []
