"""A parsed condition as SQL, its constants in the types of what they are compared with."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prune_assets.sql.render import column_sql
from prune_assets.workload.conditions.functions import FUNCTIONS, SAME, WHOLE_OF
from prune_assets.workload.conditions.literals import is_string, literal, literals
from prune_assets.workload.conditions.nodes import (
    COMPARISONS,
    CONNECTIVES,
    Ambiguous,
    Binary,
    Call,
    Column,
    Constant,
    Element,
    InList,
    Not,
)
from prune_assets.workload.not_understood import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prune_assets.workload.conditions.nodes import Node

    Path = tuple[str, ...]

_SUBQUERY = re.compile(r"(?:ReusedSubquery )?(?:(?:Reused)?Subquery )?(?:scalar-)?subquery#[0-9]")
_ATTRIBUTE = re.compile(r"\w+#[0-9]+L?")
_NULL_TESTS = {"isnull": "IS NULL", "isnotnull": "IS NOT NULL"}
_LOCAL_TIMES = frozenset({"timestamp", None})
_TEMPORAL = frozenset({"date", "timestamp", "timestamp_ntz"})
# A format of dates alone: what it prints does not depend on the time zone that Spark passes through.
_DATE_FORMAT = re.compile(r"[yMd/. -]+")


@dataclass(slots=True)
class Writer:
    """Write nodes as SQL; collect the columns that occur, and the texts that are compared with one.

    `types`: of columns by path; `zone`: of the session, None where it is unknown.
    """

    types: Mapping[Path, str]
    zone: str | None = None
    columns: set[Path] = field(default_factory=set)
    texts: list[tuple[Path, str, str]] = field(default_factory=list)

    def write(self, node: Node, kind: str | None = None) -> str:  # noqa: PLR0911, C901 - one for each kind of node
        """Return a node as SQL; `kind`: the type of a constant. Raises NotUnderstood."""
        match node:
            case Column(path):
                self.columns.add(path)
                return column_sql(path)
            case Element(path, sql):
                self.columns.add(path)
                return sql
            case Constant(text, False) if _SUBQUERY.match(text):
                raise NotUnderstood("a subquery")
            case Constant(text, False) if text.startswith("dynamicpruning#"):
                raise NotUnderstood(_refusal("dynamicpruning"))
            case Constant(text, exact):
                return literal(text, kind, self.zone, exact=exact)
            case Not(InList() as child):
                return self._in_list(child, "NOT IN")
            case Not(child):
                return f"NOT ({self.write(child, 'boolean')})"
            case InList():
                return self._in_list(node, "IN")
            case Binary():
                return self._binary(node)
            case Call():
                return self._call(node)
            case Ambiguous(reason):
                raise NotUnderstood(reason)

    def _in_list(self, node: InList, word: str) -> str:
        kind = self.type_of(node.child)
        values = literals(node.text, node.separator, kind, self.zone, exact=node.exact)
        return f"{self._operand(node.child)} {word} ({', '.join(values)})"

    def _binary(self, node: Binary) -> str:
        if node.operator in CONNECTIVES:
            return f"{self._part(node.left)} {node.operator} {self._part(node.right)}"
        if isinstance(node.left, Constant) and isinstance(node.right, Constant):
            is_computed = _ATTRIBUTE.fullmatch(node.left.text) or _ATTRIBUTE.fullmatch(node.right.text)
            raise NotUnderstood("a column that the query computes" if is_computed else "ambiguous text")
        kind = self.type_of(node.right if isinstance(node.left, Constant) else node.left)
        for one in (node.left, node.right):
            if isinstance(one, Ambiguous):
                raise NotUnderstood(one.reason)
        if Constant not in {type(node.left), type(node.right)}:
            self._refuse_texts(node.left, node.right)
        if node.operator not in COMPARISONS and kind in {None, *_TEMPORAL}:
            raise NotUnderstood("arithmetic on a column of unknown type" if kind is None else "arithmetic on times")
        self._note(node.left, node.operator, node.right, kind)
        return f"{self._operand(node.left, kind)} {node.operator} {self._operand(node.right, kind)}"

    def _refuse_texts(self, *nodes: Node) -> None:
        """Refuse what is read as an expression where a text may be: `(user#2 = name#3)` has perhaps the text name#3."""
        if any(kind is None or is_string(kind) for kind in map(self.type_of, nodes)):
            raise NotUnderstood("ambiguous text")

    def _operand(self, node: Node, kind: str | None = None) -> str:
        written = self.write(node, kind)
        return f"({written})" if isinstance(node, Binary | Not | InList) else written

    def _part(self, node: Node) -> str:
        written = self.write(node, "boolean")
        return f"({written})" if isinstance(node, Binary) and node.operator in CONNECTIVES else written

    def _note(self, left: Node, operator: str, right: Node, kind: str | None) -> None:
        if isinstance(left, Column) and isinstance(right, Constant) and (kind is None or is_string(kind)):
            self.texts.append((left.path, operator, right.text))

    def _call(self, node: Call) -> str:
        if node.name in _NULL_TESTS and len(node.arguments) == 1:
            return f"{self._operand(node.arguments[0])} {_NULL_TESTS[node.name]}"
        if node.name == "LIKE":
            return f"{self._operand(node.arguments[0])} LIKE {self.write(node.arguments[1], 'string')}"
        if node.name == "cast":
            return self._cast(node)
        node = self._without_options(node)
        known = FUNCTIONS.get(node.name)
        if known is None or len(known.arguments) != len(node.arguments):
            raise NotUnderstood(_refusal(node.name))
        same = self.type_of(node)
        if known.result == SAME and same is None:
            raise NotUnderstood("the type of the column is unknown")
        if known.result in {SAME, "string", "boolean"}:
            self._refuse_texts(*(one for one in node.arguments[1:] if not isinstance(one, Constant)))
        kinds = [same if kind == SAME else kind for kind in known.arguments]
        if len(node.arguments) == 2:
            self._note(node.arguments[0], node.name, node.arguments[1], kinds[1])
        return f"{known.sql}({', '.join(map(self.write, node.arguments, kinds))})"

    def _without_options(self, node: Call) -> Call:
        """Return a call without what Spark prints and SQL does not write: trim(s#1, None), the time zone of a date."""
        match node:
            case Call("trim" | "ltrim" | "rtrim", (text, Constant("None"))):
                return Call(node.name, (text,))
            case Call("date_format", (Call("cast", (day, Constant("timestamp"))), Constant(form), _)):
                if self.type_of(day) == "date" and _DATE_FORMAT.fullmatch(form):
                    return Call(node.name, (day, Constant(form)))
        return node

    def _cast(self, node: Call) -> str:
        operand, to = node.arguments
        assert isinstance(to, Constant)
        source = self.type_of(operand)
        if isinstance(operand, Constant) or not to.text.replace("(", "").replace(")", "").replace(",", "").isalnum():
            raise NotUnderstood("ambiguous text")
        if source in _LOCAL_TIMES or to.text == "timestamp":
            raise NotUnderstood("depends on the session time zone")
        return f"cast({self.write(operand)} AS {to.text})"

    def type_of(self, node: Node) -> str | None:  # noqa: PLR0911 - one for each kind of node
        """Return the type of a node as Spark names it; None where the plan does not say."""
        match node:
            case Column(path):
                return self.types.get(path)
            case Element(type=kind):
                return kind
            case Binary(operator, left, right) if operator not in {*COMPARISONS, *CONNECTIVES}:
                return self.type_of(right if isinstance(left, Constant) else left)
            case Call("cast", (_, Constant(to))):
                return to
            case Call(name, arguments) if name in FUNCTIONS:
                return self._type_of_call(FUNCTIONS[name].result, arguments)
            case Binary() | Not() | InList() | Call("LIKE" | "isnull" | "isnotnull"):
                return "boolean"
            case _:
                return None

    def _type_of_call(self, result: str, arguments: tuple[Node, ...]) -> str | None:
        if result not in {SAME, WHOLE_OF}:
            return result
        kind = next(map(self.type_of, arguments), None)
        return kind if result == SAME or kind is None or kind.startswith("decimal(") else "bigint"


def _refusal(name: str) -> str:
    """Return why a function is not written: by its name, unless a constant may have made it."""
    if name in {"dynamicpruning", "dynamicpruningexpression", "might_contain"}:
        return "a filter made at run time, from the other side of a join"
    return f"the function {name}" if len(name) <= 40 else "a function"
