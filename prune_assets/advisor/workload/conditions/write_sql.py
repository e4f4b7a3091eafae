"""Write a parsed condition as SQL, with constants in the types that they are compared with."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prune_assets.advisor.workload.conditions.functions import FUNCTIONS, SAME, WHOLE_OF
from prune_assets.advisor.workload.conditions.literals import is_string, literal, literals
from prune_assets.advisor.workload.conditions.printed_nodes import PrintedConstant, PrintedElement, PrintedList
from prune_assets.advisor.workload.not_understood import NotUnderstood
from prune_assets.sql.render import column_sql
from prune_assets.sql.syntax.nodes import (
    Arithmetic,
    Binary,
    Bitwise,
    Call,
    Column,
    Comparison,
    Conjunction,
    Disjunction,
    LikeTest,
    Negation,
    NullSafe,
    NullTest,
    OpaqueNode,
    SyntaxNode,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    Path = tuple[str, ...]

_AMBIGUOUS = "ambiguous text"
_TYPE = re.compile(r"[^\W_()]+(?:\([0-9, ]+\))?")
_SUBQUERY = re.compile(r"(?:ReusedSubquery )?(?:(?:Reused)?Subquery )?(?:scalar-)?subquery#[0-9]")
_ATTRIBUTE = re.compile(r"\w+#[0-9]+L?")
_LOCAL_TIMES = frozenset({"timestamp", None})
_TEMPORAL = frozenset({"date", "timestamp", "timestamp_ntz"})
# A date format without time fields: its result does not depend on the time zone in which Spark casts dates to
# timestamps.
_DATE_FORMAT = re.compile(r"[yMd/. -]+")


@dataclass(slots=True)
class SqlWriter:
    """Writes nodes as SQL; collects the columns, and the strings that are compared with a column.

    `types`: column types by path.
    `zone`: session time zone; None if unknown.
    """

    types: Mapping[Path, str]
    zone: str | None = None
    columns: set[Path] = field(default_factory=set)
    strings: list[tuple[Path, str, str]] = field(default_factory=list)

    def write(self, node: SyntaxNode, spark_type: str | None = None) -> str:  # noqa: PLR0911, C901 - one return for each kind of node
        """Return a node as SQL. Raises NotUnderstood.

        `spark_type`: type in which a constant is written.
        """
        match node:
            case Column(path):
                self.columns.add(path)
                return column_sql(path)
            case PrintedElement(path, sql):
                self.columns.add(path)
                return sql
            case PrintedConstant():
                return self._constant(node, spark_type)
            case OpaqueNode(reason):
                raise NotUnderstood(reason)
            case Call():
                return self._call(node)
            case Conjunction(left, right) | Disjunction(left, right):
                return f"{self._part(left)} {'AND' if isinstance(node, Conjunction) else 'OR'} {self._part(right)}"
            case LikeTest(left, right):
                return f"{self._operand(left)} LIKE {self.write(right, 'string')}"
            case Binary():
                return self._binary(node)
            case Negation(operand):
                return self._test(operand, "NOT ") or f"NOT ({self.write(operand, 'boolean')})"
            case PrintedList() | NullTest():
                return self._test(node, "")
            case _:
                raise NotUnderstood(_AMBIGUOUS)

    def _constant(self, node: PrintedConstant, spark_type: str | None) -> str:
        if not node.exact and _SUBQUERY.match(node.text):
            raise NotUnderstood("a subquery")
        if not node.exact and node.text.startswith("dynamicpruning#"):
            raise NotUnderstood(_refusal("dynamicpruning"))
        return literal(node.text, spark_type, self.zone, exact=node.exact)

    def _test(self, node: SyntaxNode, negation: str) -> str:
        """Return SQL of an IN or IS NULL test; "" for another node.

        `negation`: "NOT " for a negated test, otherwise "".
        """
        match node:
            case PrintedList(operand, text, separator, exact):
                values = literals(text, separator, self.type_of(operand), self.zone, exact=exact)
                return f"{self._operand(operand)} {negation}IN ({', '.join(values)})"
            case NullTest(operand):
                return f"{self._operand(operand)} IS {negation}NULL"
            case _:
                return ""

    def _binary(self, node: Binary) -> str:
        if isinstance(node.left, PrintedConstant) and isinstance(node.right, PrintedConstant):
            is_computed = _ATTRIBUTE.fullmatch(node.left.text) or _ATTRIBUTE.fullmatch(node.right.text)
            raise NotUnderstood("a column that the query computes" if is_computed else _AMBIGUOUS)
        spark_type = self.type_of(node.right if isinstance(node.left, PrintedConstant) else node.left)
        for operand in (node.left, node.right):
            if isinstance(operand, OpaqueNode):
                raise NotUnderstood(operand.reason)
        if PrintedConstant not in {type(node.left), type(node.right)}:
            self._refuse_texts(node.left, node.right)
        if isinstance(node, Arithmetic | Bitwise) and spark_type in {None, *_TEMPORAL}:
            raise NotUnderstood(
                "arithmetic on a column of unknown type" if spark_type is None else "arithmetic on times"
            )
        sign = _sign(node)
        self._note(node.left, sign, node.right, spark_type)
        return f"{self._operand(node.left, spark_type)} {sign} {self._operand(node.right, spark_type)}"

    def _refuse_texts(self, *nodes: SyntaxNode) -> None:
        """Raise NotUnderstood if an expression could also be a string, such as `name#3` in `(user#2 = name#3)`."""
        if any(spark_type is None or is_string(spark_type) for spark_type in map(self.type_of, nodes)):
            raise NotUnderstood(_AMBIGUOUS)

    def _operand(self, node: SyntaxNode, spark_type: str | None = None) -> str:
        written = self.write(node, spark_type)
        return f"({written})" if isinstance(node, Binary | Negation | PrintedList | NullTest) else written

    def _part(self, node: SyntaxNode) -> str:
        written = self.write(node, "boolean")
        return f"({written})" if isinstance(node, Conjunction | Disjunction) else written

    def _note(self, left: SyntaxNode, operator: str, right: SyntaxNode, spark_type: str | None) -> None:
        if (
            isinstance(left, Column)
            and isinstance(right, PrintedConstant)
            and (spark_type is None or is_string(spark_type))
        ):
            self.strings.append((left.parts, operator, right.text))

    def _call(self, node: Call) -> str:
        if node.name == "cast":
            return self._cast(node)
        node = self._without_options(node)
        function = FUNCTIONS.get(node.name)
        if function is None or len(function.arguments) != len(node.arguments):
            raise NotUnderstood(_refusal(node.name))
        same = self.type_of(node)
        if function.result == SAME and same is None:
            raise NotUnderstood("the type of the column is unknown")
        if function.result in {SAME, "string", "boolean"}:
            self._refuse_texts(*(it for it in node.arguments[1:] if not isinstance(it, PrintedConstant)))
        argument_types = [same if spark_type == SAME else spark_type for spark_type in function.arguments]
        if len(node.arguments) == 2:
            self._note(node.arguments[0], node.name, node.arguments[1], argument_types[1])
        return f"{function.sql}({', '.join(map(self.write, node.arguments, argument_types))})"

    def _without_options(self, node: Call) -> Call:
        """Return a call without printed arguments that SQL omits, such as None in `trim(s#1, None)` or a time zone."""
        match node:
            case Call("trim" | "ltrim" | "rtrim", (text, PrintedConstant("None"))):
                return Call(node.name, (text,))
            case Call("date_format", (Call("cast", (day, PrintedConstant("timestamp"))), PrintedConstant(form), _)):
                if self.type_of(day) == "date" and _DATE_FORMAT.fullmatch(form):
                    return Call(node.name, (day, PrintedConstant(form)))
        return node

    def _cast(self, node: Call) -> str:
        operand, to = node.arguments
        assert isinstance(to, PrintedConstant)
        source = self.type_of(operand)
        if (
            isinstance(operand, PrintedConstant)
            or not to.text.replace("(", "").replace(")", "").replace(",", "").isalnum()
        ):
            raise NotUnderstood(_AMBIGUOUS)
        if source in _LOCAL_TIMES or to.text == "timestamp":
            raise NotUnderstood("depends on the session time zone")
        return f"cast({self.write(operand)} AS {to.text})"

    def type_of(self, node: SyntaxNode) -> str | None:  # noqa: PLR0911 - one return for each kind of node
        """Return Spark's name of a node's type; None if unknown."""
        match node:
            case Column(path):
                return self.types.get(path)
            case PrintedElement(type=kind):
                return kind
            case Arithmetic(left, right) | Bitwise(left, right):
                return self.type_of(right if isinstance(left, PrintedConstant) else left)
            case Call("cast", (_, PrintedConstant(to))):
                return to
            case Call(name, arguments) if name in FUNCTIONS:
                return self._type_of_call(FUNCTIONS[name].result, arguments)
            case Binary() | Negation() | PrintedList() | NullTest():
                return "boolean"
            case _:
                return None

    def _type_of_call(self, result: str, arguments: tuple[SyntaxNode, ...]) -> str | None:
        if result not in {SAME, WHOLE_OF}:
            return result
        spark_type = next(map(self.type_of, arguments), None)
        return spark_type if result == SAME or spark_type is None or spark_type.startswith("decimal(") else "bigint"


def _sign(node: Binary) -> str:
    match node:
        case Comparison(op=op):
            return op.value
        case Arithmetic(sign=sign) | Bitwise(sign=sign):
            return sign
        case NullSafe():
            return "<=>"
        case _:
            raise NotUnderstood(_AMBIGUOUS)


def _refusal(name: str) -> str:
    """Return why a function is not translated. A name over 40 characters may be from a constant and is not quoted."""
    if name in {"dynamicpruning", "dynamicpruningexpression", "might_contain"}:
        return "a filter made at run time, from the other side of a join"
    return f"the function {name}" if len(name) <= 40 else "a function"
