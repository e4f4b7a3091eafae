"""The printed form of a condition as a tree.

Spark puts brackets around every operator, `((k#1 > 3) AND (user#2 = New York))`, and none around constants, so a
group has one operator outside of further brackets. What comes after it is a constant where it is nothing else. One
with brackets or connectives in it could be a part of the condition, and is refused (`literals.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OPERATOR = re.compile(r"\(| (AND|OR|<=>|<=|>=|=|<|>|\+|-|\*|/|%|div|&|\||\^) ")
_LIST = re.compile(r"\(| (IN(?= \()|INSET|LIKE) ")
_COMMA = re.compile(r"\(|, ")
_CALL = re.compile(r"([A-Za-z_]\w*)\(")
_MOST_NESTED = 200
CONNECTIVES = frozenset({"AND", "OR"})
COMPARISONS = frozenset({"=", "<=>", "<", "<=", ">", ">="})


@dataclass(frozen=True, slots=True)
class Column:
    """A column or a field of one."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant as it is printed."""

    text: str


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Not:
    """A negation."""

    child: Node


@dataclass(frozen=True, slots=True)
class InList:
    """A column or expression in a list of constants; `separator`: what stands between these."""

    child: Node
    text: str
    separator: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function, LIKE and casts included; the last argument of a cast is its type."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A part that is not read, and why; its siblings may be."""

    reason: str


Node: TypeAlias = Column | Constant | Binary | Not | InList | Call | Ambiguous


def parse_condition(text: str, attributes: Mapping[str, str]) -> Node:
    """Return the tree of a condition; `attributes`: the name of each column of the scan by its text, such as `id#4L`.

    >>> parse_condition("(k#1 > 3)", {"k#1": "k"})
    Binary(operator='>', left=Column(path=('k',)), right=Constant(text='3'))
    """
    return _Parser(text, attributes).parse(0, len(text), 0)


def conjuncts_of(node: Node) -> list[Node]:
    """Return the operands of the topmost AND, or the whole."""
    found, stack = [], [node]
    while stack:
        one = stack.pop()
        if isinstance(one, Binary) and one.operator == "AND":
            stack.extend((one.right, one.left))
        else:
            found.append(one)
    return found


class _Parser:
    """A text with the place of the closing bracket for each opening one; parts of it are from `start` to `end`."""

    def __init__(self, text: str, attributes: Mapping[str, str]) -> None:
        self.text = text
        self.attributes = attributes
        self.closing: dict[int, int] = {}
        opened: list[int] = []
        for bracket in re.finditer(r"[()]", text):
            if bracket[0] == "(":
                opened.append(bracket.start())
            elif opened:
                self.closing[opened.pop()] = bracket.start()

    def parse(self, start: int, end: int, depth: int) -> Node:
        if depth > _MOST_NESTED:
            return Ambiguous("nested too deeply")
        text = self.text[start:end]
        if (column := self._column(text)) is not None:
            return column
        if text.startswith("(") and self.closing.get(start) == end - 1:
            return self._group(start + 1, end - 1, depth)
        if text.startswith("NOT "):
            return Not(self.parse(start + 4, end, depth + 1))
        return self._list_or_like(start, end, depth) or self._call(start, end, depth) or Constant(text)

    def _column(self, text: str) -> Column | None:
        if text in self.attributes:
            return Column((self.attributes[text],))
        # A field of a struct: `s#4.a.b`.
        name, _, fields = text.partition(".")
        if name in self.attributes and fields and all(field.isidentifier() for field in fields.split(".")):
            return Column((self.attributes[name], *fields.split(".")))
        return None

    def _group(self, start: int, end: int, depth: int) -> Node:
        split = self._find(_OPERATOR, start, end)
        if split is None:
            return Ambiguous("ambiguous text")
        left = self.parse(start, split.start(), depth + 1)
        right = self.parse(split.end(), end, depth + 1)
        if split[1] in CONNECTIVES:
            constants = {one.text for one in (left, right) if isinstance(one, Constant)}
            if not constants <= {"true", "false"}:
                return Ambiguous("ambiguous text")
        return Binary(split[1], left, right)

    def _list_or_like(self, start: int, end: int, depth: int) -> Node | None:
        """Read `x IN (a,b)`, `x INSET a, b` and `x LIKE a`, where x is a column or an expression, never a constant."""
        found = self._find(_LIST, start, end)
        if found is None:
            return None
        child = self.parse(start, found.start(), depth + 1)
        rest = self.text[found.end() : end]
        if isinstance(child, Constant | Ambiguous):
            return None
        if found[1] == "LIKE":
            return Call("LIKE", (child, Constant(rest)))
        if found[1] == "INSET":
            return InList(child, rest, ", ")
        return InList(child, rest[1:-1], ",") if rest.startswith("(") and rest.endswith(")") else None

    def _call(self, start: int, end: int, depth: int) -> Node | None:
        found = _CALL.match(self.text, start, end)
        if found is None or self.closing.get(found.end() - 1) != end - 1:
            return None
        if found[1] == "cast":
            word = self.text.rfind(" as ", found.end(), end - 1)
            kind = Constant(self.text[word + 4 : end - 1])
            return None if word < 0 else Call("cast", (self.parse(found.end(), word, depth + 1), kind))
        return Call(found[1], tuple(self._arguments(found.end(), end - 1, depth)))

    def _arguments(self, start: int, end: int, depth: int) -> Iterator[Node]:
        while (comma := self._find(_COMMA, start, end)) is not None:
            yield self.parse(start, comma.start(), depth + 1)
            start = comma.end()
        if start < end:
            yield self.parse(start, end, depth + 1)

    def _find(self, wanted: re.Pattern[str], start: int, end: int) -> re.Match[str] | None:
        """Find the first match outside of brackets; `wanted` matches an opening bracket too, which is jumped over."""
        while (found := wanted.search(self.text, start, end)) is not None and found[0] == "(":
            start = self.closing.get(found.start(), end) + 1
        return found
