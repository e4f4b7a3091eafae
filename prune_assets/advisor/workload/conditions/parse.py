"""Parse a printed condition into a tree.

Spark puts brackets around every operator, `((k#1 > 3) AND (user#2 = New York))`, and none around constants. The text in
a pair of brackets therefore has exactly one operator outside of nested brackets. Text that is not a column, operator or
call is a constant. A constant that contains brackets or connectives could be a part of the condition, and is refused
(`literals.py`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prune_assets.advisor.workload.conditions.part_of_column import part_of_column
from prune_assets.advisor.workload.conditions.printed_nodes import PrintedConstant, PrintedElement, PrintedList
from prune_assets.advisor.workload.conditions.pushed_texts import hidden_text
from prune_assets.sql.syntax.nodes import (
    BINARY,
    Call,
    Column,
    Conjunction,
    Disjunction,
    LikeTest,
    Negation,
    NullTest,
    OpaqueNode,
    SyntaxNode,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_OPERATOR = re.compile(r"\(| (AND|OR|<=>|<=|>=|=|<|>|\+|-|\*|/|%|div|&|\||\^) ")
_LIST = re.compile(r"\(| (IN(?= \()|INSET|LIKE) ")
_COMMA = re.compile(r"\(|, ")
_CALL = re.compile(r"([A-Za-z_]\w*)\(")
# A field or an element of a column: `s#4.a`, `m#5[k]`.
_BELOW = re.compile(r"(.+?#[0-9]+L?)([.\[].+)", re.DOTALL)
_MOST_NESTED = 200


def parse_condition(
    text: str,
    attributes: Mapping[str, str],
    types: Mapping[tuple[str, ...], str] | None = None,
    strings: Sequence[str] = (),
) -> SyntaxNode:
    """Return the tree of a condition.

    `attributes`: column name by printed attribute, such as `id#4L`.
    `types`: types of columns and fields, by path.
    `strings`: the strings that placeholders in `text` replace (`pushed_texts.py`).

    >>> parse_condition("(k#1 > 3)", {"k#1": "k"})
    Comparison(left=Column(parts=('k',)), right=PrintedConstant(text='3', exact=False), op=<Op.GT: '>'>)
    """
    return _ConditionParser(text, attributes, types or {}, strings).parse(0, len(text), 0)


class _ConditionParser:
    """A parser of one condition, which knows the closing bracket of each opening bracket.

    Its methods parse the part of the text from `start` to `end`.
    """

    def __init__(
        self,
        text: str,
        attributes: Mapping[str, str],
        types: Mapping[tuple[str, ...], str],
        strings: Sequence[str],
    ) -> None:
        self.text = text
        self.attributes = attributes
        self.types = types
        self.strings = strings
        self.closing: dict[int, int] = {}
        opened: list[int] = []
        for bracket in re.finditer(r"[()]", text):
            if bracket[0] == "(":
                opened.append(bracket.start())
            elif opened:
                self.closing[opened.pop()] = bracket.start()

    def parse(self, start: int, end: int, depth: int) -> SyntaxNode:
        if depth > _MOST_NESTED:
            return OpaqueNode("nested too deeply")
        text = self.text[start:end]
        if (column := self._column(text)) is not None:
            return column
        if text.startswith("(") and self.closing.get(start) == end - 1:
            return self._group(start + 1, end - 1, depth)
        if text.startswith("NOT "):
            return Negation(self.parse(start + 4, end, depth + 1))
        if (hidden := hidden_text(text, self.strings)) is not None:
            return PrintedConstant(hidden, exact=True)
        return self._list_or_like(start, end, depth) or self._call(start, end, depth) or PrintedConstant(text)

    def _column(self, text: str) -> Column | PrintedElement | None:
        if text in self.attributes:
            return Column((self.attributes[text],))
        match = _BELOW.match(text)
        if match is None or match[1] not in self.attributes:
            return None
        return part_of_column(self.attributes[match[1]], match[2], self.types)

    def _group(self, start: int, end: int, depth: int) -> SyntaxNode:
        split = self._find(_OPERATOR, start, end)
        if split is None:
            return OpaqueNode("ambiguous text")
        left = self.parse(start, split.start(), depth + 1)
        right = self.parse(split.end(), end, depth + 1)
        _, build = BINARY[split[1].upper()]
        node = build(left, right)
        if isinstance(node, Conjunction | Disjunction):
            constants = {operand.text for operand in (left, right) if isinstance(operand, PrintedConstant)}
            if not constants <= {"true", "false"}:
                return OpaqueNode("ambiguous text")
        return node

    def _list_or_like(self, start: int, end: int, depth: int) -> SyntaxNode | None:
        """Parse `x IN (a,b)`, `x INSET a, b` and `x LIKE a`. `x` is a column or an expression, never a constant."""
        match = self._find(_LIST, start, end)
        if match is None:
            return None
        child = self.parse(start, match.start(), depth + 1)
        rest = self.text[match.end() : end]
        if isinstance(child, PrintedConstant | OpaqueNode):
            return None
        if match[1] == "LIKE":
            return LikeTest(child, PrintedConstant(rest))
        is_long = match[1] == "INSET"
        if not is_long and not (rest.startswith("(") and rest.endswith(")")):
            return None
        text = rest if is_long else rest[1:-1]
        hidden = hidden_text(text, self.strings)
        if hidden is not None:
            return PrintedList(child, hidden, ",", exact=True)
        return PrintedList(child, text, ", " if is_long else ",")

    def _call(self, start: int, end: int, depth: int) -> SyntaxNode | None:
        match = _CALL.match(self.text, start, end)
        if match is None or self.closing.get(match.end() - 1) != end - 1:
            return None
        if match[1] == "cast":
            word = self.text.rfind(" as ", match.end(), end - 1)
            type_name = PrintedConstant(self.text[word + 4 : end - 1])
            return None if word < 0 else Call("cast", (self.parse(match.end(), word, depth + 1), type_name))
        arguments = tuple(self._arguments(match.end(), end - 1, depth))
        if len(arguments) == 1 and match[1] in {"isnull", "isnotnull"}:
            is_null = NullTest(*arguments)
            return is_null if match[1] == "isnull" else Negation(is_null)
        return Call(match[1], arguments)

    def _arguments(self, start: int, end: int, depth: int) -> Iterator[SyntaxNode]:
        while (comma := self._find(_COMMA, start, end)) is not None:
            yield self.parse(start, comma.start(), depth + 1)
            start = comma.end()
        if start < end:
            yield self.parse(start, end, depth + 1)

    def _find(self, wanted: re.Pattern[str], start: int, end: int) -> re.Match[str] | None:
        """Return the first match of a pattern outside of brackets.

        `wanted`: pattern that also matches an opening bracket; the search then continues after the closing one.
        """
        while (match := wanted.search(self.text, start, end)) is not None and match[0] == "(":
            start = self.closing.get(match.start(), end) + 1
        return match
