"""Additional syntax nodes for conditions in Spark's plans: unquoted constants, and elements of maps and arrays.

All other nodes are in `sql/syntax/nodes.py`. Function names keep the case in which Spark prints them; the type of a
cast is a `PrintedConstant`.
"""

from __future__ import annotations

from dataclasses import dataclass

from prune_assets.sql.syntax.nodes import SyntaxNode, Unary


@dataclass(frozen=True, slots=True, eq=False)
class PrintedElement(SyntaxNode):
    """An element of a map or array column, as SQL, with its type."""

    path: tuple[str, ...]
    sql: str
    type: str


@dataclass(frozen=True, slots=True, eq=False)
class PrintedConstant(SyntaxNode):
    """A constant without quotes and type.

    `exact`: True if the plan proves that the text is a single constant.
    """

    text: str
    exact: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PrintedList(Unary):
    """A list of constants as the operand of a condition.

    `separator`: the text between two constants.
    """

    text: str
    separator: str
    exact: bool = False
