"""Split the condition of a MERGE or join: equalities between both tables, and conditions on a single table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import IntFlag, StrEnum, auto
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import UnknownColumn
from parquet_core.printable import listed
from parquet_core.pruning.predicate import Op
from prune_assets.sql.functions.registry import find
from prune_assets.sql.render import column_sql
from prune_assets.sql.syntax.lexer import TokenKind
from prune_assets.sql.syntax.nodes import (
    Call,
    Cast,
    Column,
    Comparison,
    Conjunction,
    Disjunction,
    InSubquery,
    Negation,
    NullSafe,
    NullTest,
    OpaqueNode,
    Row,
)
from prune_assets.sql.syntax.operands import QUERY_STARTS
from prune_assets.sql.syntax.parsed import chain_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prune_assets.sql.syntax.lexer import Token
    from prune_assets.sql.syntax.nodes import SyntaxNode
    from prune_assets.sql.syntax.parsed import ParsedPredicate

    Names = tuple[str, ...]

_NAMES = frozenset({TokenKind.WORD, TokenKind.QUOTED})


class Unused(StrEnum):
    """Reason why a conjunct restricts no column of the target by itself."""

    DISJUNCTION = auto()
    CAST_OF_TARGET = auto()
    EXPRESSION_OF_TARGET = auto()
    NOT_AN_EQUALITY = auto()
    SUBQUERY = auto()
    AMBIGUOUS = auto()


@dataclass(frozen=True, slots=True)
class KeyEquality:
    """An equality between a column of the target and a value of the source.

    `target`: path of the column, such as `("info", "id")`.
    `source`: SQL of the value, with the alias of the source.
    `null_safe`: True if null equals null, as with `<=>`.
    `sql`: the equality as written.
    """

    target: tuple[str, ...]
    source: str
    null_safe: bool
    sql: str


class ConditionParts(NamedTuple):
    """Conjuncts of a condition, as in `MergeStatement`."""

    keys: tuple[KeyEquality, ...]
    target_conditions: tuple[str, ...]
    source_conditions: tuple[str, ...]
    unused: tuple[tuple[str, Unused], ...]


@dataclass(frozen=True, slots=True)
class MergeSide:
    """The names by which a condition refers to one table.

    `qualifiers`: names that may precede a column. An alias replaces the name of the table.
    `columns`: top-level columns. None if unknown.
    `prefix`: qualifier as SQL, to put before a name without one; "" if the table has neither name nor alias.
    Names are in lower case unless `case_sensitive`.
    """

    qualifiers: frozenset[Names]
    columns: frozenset[str] | None
    prefix: str
    case_sensitive: bool

    @classmethod
    def of(cls, names: Names, alias: str | None, columns: Sequence[str] | None, *, case_sensitive: bool) -> MergeSide:
        """Return the side of a table. `names`: parts of its name; empty for a query."""
        qualifier = names if alias is None else (alias,)
        folded = qualifier if case_sensitive else tuple(name.lower() for name in qualifier)
        known = None if columns is None else frozenset(it if case_sensitive else it.lower() for it in columns)
        suffixes = frozenset(folded[index:] for index in range(len(folded)))
        return cls(suffixes, known, f"{column_sql(qualifier)}." if qualifier else "", case_sensitive)


class _Sides(IntFlag):
    NEITHER = 0
    TARGET = 1
    SOURCE = 2
    UNKNOWN = 4


class _ResolvedName(NamedTuple):
    """A name at tokens `first` to `last`, and its text where only one table is in scope."""

    first: int
    last: int
    side: _Sides
    path: Names
    sql: str


def parts_of_condition(parsed: ParsedPredicate, target: MergeSide, source: MergeSide) -> ConditionParts:
    """Split a condition on two tables into its conjuncts. Each conjunct is in exactly one field of the result."""
    return _Condition(parsed, target, source).parts()


class _Condition:
    def __init__(self, parsed: ParsedPredicate, target: MergeSide, source: MergeSide) -> None:
        self.parsed = parsed
        self.tokens = parsed.tokens
        self.target = target
        self.source = source

    def parts(self) -> ConditionParts:
        self._refuse_unknown_columns()
        keys: list[KeyEquality] = []
        conditions: dict[_Sides, list[str]] = {_Sides.TARGET: [], _Sides.SOURCE: []}
        unused: list[tuple[str, Unused]] = []
        for node in chain_of(self.parsed.tree, Conjunction):
            sides = self._sides(node)
            if has_subquery := self._has_subquery(node):
                sides |= _Sides.UNKNOWN
            if sides in {_Sides.NEITHER, _Sides.TARGET}:
                conditions[_Sides.TARGET].append(self._condition(node))
            elif sides == _Sides.SOURCE:
                conditions[_Sides.SOURCE].append(self._condition(node))
            elif equalities := self._keys(node):
                keys += equalities
            elif has_subquery:
                unused.append((self.parsed.text(node), Unused.SUBQUERY))
            else:
                unused.append((self.parsed.text(node), self._reason(node, sides)))
        return ConditionParts(
            tuple(keys), tuple(conditions[_Sides.TARGET]), tuple(conditions[_Sides.SOURCE]), tuple(unused)
        )

    def _refuse_unknown_columns(self) -> None:
        """Raise UnknownColumn for a name that neither table has, if the columns of both are known."""
        sides = {side: side.columns for side in (self.target, self.source) if side.columns is not None}
        if len(sides) < 2:
            return
        for column in self.parsed.tree.all_of(Column):
            keys = column.parts if self.target.case_sensitive else tuple(name.lower() for name in column.parts)
            is_function = len(keys) == 1 and (function := find(keys[0])) is not None and function.without_brackets
            lengths = range(1, len(keys))
            is_known = any(keys[0] in names for names in sides.values()) or any(
                _has_column(side, keys, length) for side in sides for length in lengths
            )
            if not is_known and not is_function:
                names = [f"{side.prefix}{name}" for side, columns in sides.items() for name in sorted(columns)]
                near = get_close_matches(".".join(column.parts), names, n=1)
                hint = f"did you mean {near[0]}?" if near else f"the tables have {listed(names)}"
                raise UnknownColumn(f"ON: unknown column {'.'.join(column.parts)}: {hint}")

    # -- keys

    def _keys(self, node: SyntaxNode) -> list[KeyEquality]:
        """Return the equalities that a conjunct implies."""
        if isinstance(node, Disjunction):
            return self._shared_keys([chain_of(it, Conjunction) for it in chain_of(node, Disjunction)])
        key = self._key(node)
        return [] if key is None else [key]

    def _key(self, node: SyntaxNode) -> KeyEquality | None:
        """Return a condition as the equality of a column of the target and a value of the source."""
        compared = _equated(node)
        if compared is None:
            return None
        *operands, null_safe = compared
        for column, value in (operands, operands[::-1]):
            if (
                isinstance(column, Column)
                and self._sides(column) == _Sides.TARGET
                and self._sides(value) == _Sides.SOURCE
                and not self._has_subquery(value)
            ):
                (name,) = self._names(column)
                return KeyEquality(name.path, self._sql(value), null_safe, self.parsed.text(node, brackets=False))
        return None

    def _shared_keys(self, branches: list[list[SyntaxNode]]) -> list[KeyEquality]:
        """Return the equalities that each branch of an OR contains.

        `t.k = s.k OR (t.k IS NULL AND s.k IS NULL)` is the null-safe equality of `t.k` and `s.k`.
        """
        found = [[key for node in branch if (key := self._key(node)) is not None] for branch in branches]
        by_branch = [{(key.target, key.source): key for key in keys} for keys in found]
        pairs = [self._null_pair(branch) for branch in branches]
        candidates = next((keys for keys in by_branch if keys), {})
        shared: list[KeyEquality] = []
        for pair, key in candidates.items():
            matching = [keys.get(pair) for keys in by_branch]
            if all(other is not None or nulls == pair for other, nulls in zip(matching, pairs, strict=True)):
                null_safe = any(other is None or other.null_safe for other in matching)
                shared.append(replace(key, null_safe=null_safe))
        return shared

    def _null_pair(self, branch: list[SyntaxNode]) -> tuple[Names, str] | None:
        """Return target and source of a branch that tests whether both are null."""
        tested = [node.operand for node in branch if isinstance(node, NullTest)]
        columns = [node for node in tested if isinstance(node, Column) and self._sides(node) == _Sides.TARGET]
        values = [node for node in tested if self._sides(node) == _Sides.SOURCE]
        if len(columns) != 1 or len(values) != 1:
            return None
        (name,) = self._names(columns[0])
        return name.path, self._sql(values[0])

    def _reason(self, node: SyntaxNode, sides: _Sides) -> Unused:
        if sides & _Sides.UNKNOWN:
            return Unused.AMBIGUOUS
        if isinstance(node, Disjunction):
            return Unused.DISJUNCTION
        compared = _equated(node)
        if compared is None:
            return Unused.NOT_AN_EQUALITY
        of_target = next(it for it in compared[:2] if self._sides(it) & _Sides.TARGET)
        is_cast = isinstance(of_target, Cast) and self._sides(of_target) == _Sides.TARGET
        return Unused.CAST_OF_TARGET if is_cast else Unused.EXPRESSION_OF_TARGET

    # -- names

    def _sides(self, node: SyntaxNode) -> _Sides:
        return reduce(or_, (name.side for name in self._names(node)), _Sides.NEITHER)

    def _names(self, node: SyntaxNode) -> Iterator[_ResolvedName]:
        """Yield the columns in a node, including columns in parts that are not parsed."""
        for part in node.walk():
            first, last = part.span or node.span or (0, len(self.tokens) - 1)
            if isinstance(part, Column):
                while self.tokens[first].kind not in _NAMES:
                    first += 1
                yield self._resolve(first, part.parts)
            elif isinstance(part, OpaqueNode):
                yield from self._opaque_names(first, last)

    def _opaque_names(self, first: int, last: int) -> Iterator[_ResolvedName]:
        # Within a lambda, a name without a qualifier may be its variable.
        has_lambda = any(token.text == "->" for token in self.tokens[first : last + 1])
        index = first
        while index <= last:
            names = _chain_at(self.tokens, index)
            is_part = index > 0 and self.tokens[index - 1].text in {".", ":"}
            if self.tokens[index].text.upper() == "COLLATE":
                index += 1
            elif names and not is_part:
                after = index + 2 * len(names) - 1
                if after >= len(self.tokens) or self.tokens[after].text != "(":
                    name = self._resolve(index, names)
                    is_certain = not has_lambda or len(names) > 1
                    yield name if is_certain else name._replace(side=_Sides.UNKNOWN)
            index += max(1, 2 * len(names) - 1)

    def _resolve(self, first: int, names: Names) -> _ResolvedName:
        """Resolve a name as Spark does: its longest possible qualifier counts."""
        keys = names if self.target.case_sensitive else tuple(name.lower() for name in names)
        last = first + 2 * len(names) - 2
        for length in range(len(keys) - 1, 0, -1):
            found = [side for side in (self.target, self.source) if _has_column(side, keys, length)]
            if len(found) == 2:
                return _ResolvedName(first, last, _Sides.UNKNOWN, names, self._text(first, last))
            if found:
                is_target = found[0] is self.target
                path = names[length:]
                sql = column_sql(path) if is_target else self._text(first, last)
                return _ResolvedName(first, last, _Sides.TARGET if is_target else _Sides.SOURCE, path, sql)
        side = self._unqualified(keys[0], is_single=len(keys) == 1)
        written = self._text(first, last)
        return _ResolvedName(
            first, last, side, names, self.source.prefix + written if side == _Sides.SOURCE else written
        )

    def _unqualified(self, name: str, *, is_single: bool) -> _Sides:
        """Return the table of a name without a qualifier.

        Spark refuses a name that both tables have, so the columns of one table are enough to decide.
        """
        in_target, in_source = (None if it.columns is None else name in it.columns for it in (self.target, self.source))
        if (in_target and in_source) or (in_target is None and in_source is None):
            return _Sides.UNKNOWN
        if in_target or in_source:
            return _Sides.TARGET if in_target else _Sides.SOURCE
        is_certain = in_target is not None and in_source is not None
        function = find(name) if is_single else None
        if function is not None and function.without_brackets:
            return _Sides.NEITHER if is_certain else _Sides.UNKNOWN
        if is_certain:
            return _Sides.UNKNOWN
        return _Sides.TARGET if in_target is None else _Sides.SOURCE

    def _has_subquery(self, node: SyntaxNode) -> bool:
        if node.has(InSubquery):
            return True
        spans = [part.span or node.span for part in node.all_of(OpaqueNode)]
        return any(
            self.tokens[index].text == "(" and self.tokens[index + 1].text.upper() in QUERY_STARTS
            for first, last in filter(None, spans)
            for index in range(first, last)
        )

    # -- texts

    def _text(self, first: int, last: int) -> str:
        return self.parsed.sql[self.tokens[first].start : self.tokens[last].end]

    def _condition(self, node: SyntaxNode) -> str:
        """Return a condition on one table as SQL that can be an operand of AND."""
        sql = self._sql(node)
        return f"({sql})" if isinstance(node, Disjunction) else sql

    def _sql(self, node: SyntaxNode) -> str:
        """Return a node on one line and without brackets around it, with names as for one table."""
        assert node.span is not None
        first, last = node.span
        while not isinstance(node, Row) and self.tokens[first].text == "(" and self._closes(first, last):
            first, last = first + 1, last - 1
        names = {name.first: name for name in self._names(node)}
        parts: list[str] = []
        index = first
        while index <= last:
            if index > first and self.tokens[index - 1].end < self.tokens[index].start:
                parts.append(" ")
            name = names.get(index)
            parts.append(self.tokens[index].text if name is None else name.sql)
            index = index + 1 if name is None else name.last + 1
        return "".join(parts)

    def _closes(self, first: int, last: int) -> bool:
        """Return whether token `last` closes the bracket at token `first`."""
        depth = 0
        for index in range(first, last + 1):
            depth += (self.tokens[index].text == "(") - (self.tokens[index].text == ")")
            if depth == 0:
                return index == last
        return False


def _equated(node: SyntaxNode) -> tuple[SyntaxNode, SyntaxNode, bool] | None:
    """Return both operands of an equality, and whether null equals null. None for other conditions."""
    match node:
        case Comparison(left, right, Op.EQ):
            return left, right, False
        case NullSafe(left, right, True) | Negation(NullSafe(left, right, False)) | Call("equal_null", (left, right)):
            return left, right, True
    return None


def _has_column(side: MergeSide, keys: Names, length: int) -> bool:
    return keys[:length] in side.qualifiers and (side.columns is None or keys[length] in side.columns)


def _chain_at(tokens: Sequence[Token], index: int) -> Names:
    """Return the parts of the dotted name that begins at a token; empty if none does."""
    names: list[str] = []
    while index < len(tokens) and tokens[index].kind in _NAMES:
        text = tokens[index].text
        names.append(text[1:-1].replace("``", "`") if tokens[index].kind == TokenKind.QUOTED else text)
        if index + 1 == len(tokens) or tokens[index + 1].text != ".":
            break
        index += 2
    return tuple(names)
