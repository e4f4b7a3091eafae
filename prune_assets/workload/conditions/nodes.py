"""The tree of a condition that a plan prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

CONNECTIVES = frozenset({"AND", "OR"})
COMPARISONS = frozenset({"=", "<=>", "<", "<=", ">", ">="})


@dataclass(frozen=True, slots=True)
class Column:
    """A column or a field of one."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a map or an array in a column, as SQL, with its type."""

    path: tuple[str, ...]
    sql: str
    type: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant as it is printed; `exact`: the plan proves that the text is one constant."""

    text: str
    exact: bool = False


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
    """A column or expression in a list of constants; `separator`: the text between two constants."""

    child: Node
    text: str
    separator: str
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function, LIKE and casts included; the last argument of a cast is its type."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A part that is not read, and why; its siblings may be."""

    reason: str


Node: TypeAlias = Column | Element | Constant | Binary | Not | InList | Call | Ambiguous
