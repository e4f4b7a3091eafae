"""Bind names to the columns of a table, by Spark's rules of case and nesting."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa

from parquet_core.errors import UnknownColumn
from parquet_core.format.leaf_type import counts_nanoseconds
from parquet_core.printable import listed
from parquet_core.spark_rules.spark_schema import has_reliable_nulls
from prune_assets.errors import PredicateTypeError
from prune_assets.sql.functions.clock_calls import CLOCK_NEEDED
from prune_assets.sql.functions.registry import find
from prune_assets.sql.syntax.nodes import (
    Between,
    Bound,
    Call,
    Column,
    Comparison,
    InSubquery,
    LikeTest,
    ListTest,
    Literal,
    NullSafe,
    OpaqueNode,
    SyntaxNode,
    UserCall,
    rebuilt,
)
from prune_assets.sql.syntax.parsed import named_by_part

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_core.format.schema import LeafColumn
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.sql.syntax.parsed import ParsedPredicate

    Parts = tuple[str, ...]

_STRING_OR_COLUMN = (
    "in double quotes this is a string or a column, as spark.sql.ansi.doubleQuotedIdentifiers says",
    "write 'string' or `column`",
)
_BINARY_AS_STRING = "with spark.sql.parquet.binaryAsString Spark reads a string here"
_ROUNDED_BY_WRITE = ", prune write does of top-level columns"
# Maximum number of fields with the same name that a message lists.
_SHOWN_FIELDS = 3
# The column that Spark adds to every table of files, and its fields. The last line of fields is Delta's.
FILE_METADATA = "_metadata"
_FILE_METADATA_FIELDS = (
    *("file_path", "file_name", "file_size", "file_modification_time", "file_block_start", "file_block_length"),
    *("row_index", "row_id", "base_row_id", "row_commit_version", "default_row_commit_version"),
)


class Scope:
    """Columns of a table, found by name."""

    def __init__(self, columns: Sequence[LeafColumn], *, case_sensitive: bool) -> None:
        self._case_sensitive = case_sensitive
        self._by_top: defaultdict[str, list[LeafColumn]] = defaultdict(list)
        for column in columns:
            self._by_top[self._key(column.path[0])].append(column)
        self._tops = list(dict.fromkeys(column.path[0] for column in columns))

    def has(self, name: str) -> bool:
        """Return whether a name may mean a top-level column, ignoring case."""
        return any(top.lower() == name.lower() for top in self._tops)

    def resolve(self, parts: Parts, *, beside_text: bool = False) -> Bound:
        """Return the meaning of a name. Raises UnknownColumn, or PredicateTypeError if two columns match.

        `beside_text`: True if the name is compared with a string column: it may be a string whose quotes are missing.
        """
        matching = self._by_top.get(self._key(parts[0]))
        if matching is None:
            function = find(parts[0].lower()) if len(parts) == 1 else None
            if function is not None and function.without_brackets:
                if function.clock is not None:
                    return Bound(None, *CLOCK_NEEDED, is_word=True)
                return Bound(None, f"{parts[0].lower()} is not evaluated while planning", is_word=True)
            if self._key(parts[0]) == FILE_METADATA:
                return _bind_file_field(parts)
            self._unknown(parts, beside_text=beside_text)
        spellings = list(dict.fromkeys(column.path[0] for column in matching))
        if len(spellings) > 1:
            raise PredicateTypeError(
                f"column {parts[0]} is ambiguous: the table has {' and '.join(spellings)}; "
                "set spark.sql.caseSensitive or rename one"
            )
        return self._field(parts, matching)

    def find(self, parts: Parts) -> LeafColumn | None:
        """Return the column whose metadata decides predicates on a name; None if unknown."""
        try:
            return self.resolve(parts).column
        except (PredicateTypeError, UnknownColumn):
            return None

    def _field(self, parts: Parts, matching: list[LeafColumn]) -> Bound:
        wanted = [self._key(part) for part in parts]
        matches = [column for column in matching if [self._key(part) for part in column.path[: len(parts)]] == wanted]
        # A name inside a list of structs differs from its path in the file.
        if any(column.max_repetition_level for column in matches or matching):
            # A deeper name may be the value at a key of a map.
            is_nested = len(parts) == 1 and all(column.max_repetition_level for column in matches)
            nested = "an array, a map or a struct" if is_nested else ""
            group = matching[0].path[:1] if len(parts) == 1 else None
            return Bound(None, "lists and maps are not supported", nested=nested, group=group)
        if not matches:
            self._unknown_field(parts, matching)
        if len(matches[0].path) > len(parts):
            return Bound(None, "a struct has no bounds", nested="a struct", group=matches[0].path[: len(parts)])
        if len(matches) > 1:
            raise PredicateTypeError(f"column {'.'.join(parts)} is ambiguous: the table has it {len(matches)} times")
        return _usable(matches[0])

    def _unknown(self, parts: Parts, *, beside_text: bool) -> NoReturn:
        name = ".".join(parts)
        if len(parts) > 1 and self._key(parts[-1]) in self._by_top:
            raise UnknownColumn(f"unknown column {name}: did you mean {parts[-1]}? a table has no alias here")
        if fields := self._fields_named(parts):
            raise UnknownColumn(f"unknown column {name}: did you mean {' or '.join(fields)}?")
        by_lower = {top.lower(): top for top in self._tops}
        near = get_close_matches(parts[0].lower(), by_lower, n=1)
        if near:
            meant = by_lower[near[0]]
            spelled = meant if meant.isidentifier() else f"`{meant}`"
            raise UnknownColumn(f"unknown column {name}: did you mean {spelled}?")
        hint = f"text needs quotes, '{name}'; " if beside_text else ""
        columns = listed(self._tops) or "no columns"
        raise UnknownColumn(f"unknown column {name}: {hint}the table has {columns}")

    def _fields_named(self, parts: Parts) -> list[str]:
        """Return struct fields whose paths end with the given name, at most `_SHOWN_FIELDS`."""
        wanted = [self._key(part) for part in parts]
        leaves = [column for columns in self._by_top.values() for column in columns if not column.max_repetition_level]
        ends = {column.name: [self._key(part) for part in column.path[-len(parts) :]] for column in leaves}
        return [name for name, end in ends.items() if end == wanted][:_SHOWN_FIELDS]

    def _unknown_field(self, parts: Parts, columns: list[LeafColumn]) -> NoReturn:
        name, fields = ".".join(parts), [column.name for column in columns]
        near = get_close_matches(name, fields, n=1, cutoff=0.8)
        hint = f"did you mean {near[0]}?" if near else f"there is {listed(fields)}"
        raise UnknownColumn(f"unknown column {name}: {hint}")

    def _key(self, name: str) -> str:
        return name if self._case_sensitive else name.lower()


def _bind_file_field(parts: Parts) -> Bound:
    """Return the binding of a name in `_metadata`. Case is ignored in the names of its fields."""
    if len(parts) > 1 and parts[1].lower() not in _FILE_METADATA_FIELDS:
        near = get_close_matches(parts[1].lower(), _FILE_METADATA_FIELDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(_FILE_METADATA_FIELDS)}"
        raise UnknownColumn(f"unknown column {'.'.join(parts)}: {hint}")
    return Bound(None, "Spark determines the fields of _metadata only while it reads")


def _usable(column: LeafColumn) -> Bound:
    if column.unsupported:
        remedy = _ROUNDED_BY_WRITE if counts_nanoseconds(column.type, column.physical) else ""
        nullable = column if has_reliable_nulls(column) else None
        return Bound(None, f"{column.unsupported}{remedy}", leaf=column, nullable=nullable)
    if column.type is None:
        return Bound(None, "the type of this column is unknown", leaf=column)
    return Bound(column, leaf=column, nullable=column)


def bind_names(
    parsed: ParsedPredicate,
    columns: Sequence[LeafColumn],
    semantics: SparkSemantics,
    is_builtin: Callable[[str], bool] | None = None,
) -> ParsedPredicate:
    """Bind names to columns, and mark calls of user functions.

    `is_builtin`: returns whether a name refers to Spark's own function in the session. None if every name does.

    Raises UnknownColumn, and PredicateTypeError for a name that matches two columns.
    """
    scope = Scope(columns, case_sensitive=semantics.case_sensitive)
    meanings = _meanings(parsed.tree, scope)
    if semantics.binary_as_string:
        meanings = {parts: _refuse_binary(bound) for parts, bound in meanings.items()}

    def bound(node: SyntaxNode) -> SyntaxNode | None:
        match node:
            case Column(parts):
                return replace(node, bound=meanings[parts])
            case Literal(value) if value.name is not None and scope.has(value.name):
                return OpaqueNode(*_STRING_OR_COLUMN, span=node.span)
            case OpaqueNode():
                return replace(node, columns=_named_within(parsed, node, columns))
            case _:
                return None

    def user_call(node: SyntaxNode) -> SyntaxNode | None:
        name = _called(node)
        return None if _is_builtin(name, is_builtin) else UserCall(name, node.children(), span=node.span)

    return replace(parsed, tree=rebuilt(rebuilt(parsed.tree, bound), user_call))


def named_columns(tree: SyntaxNode) -> list[LeafColumn] | None:
    """Return the columns that a bound tree names; None if a name does not refer to a single column."""
    columns: dict[tuple[str, ...], LeafColumn] = {}
    for node in tree.walk():
        if isinstance(node, InSubquery):
            return None
        if isinstance(node, OpaqueNode):
            if node.columns is None:
                return None
            columns |= {column.path: column for column in node.columns}
        elif isinstance(node, Column) and not node.bound.is_word:
            if node.bound.leaf is None:
                return None
            columns[node.bound.leaf.path] = node.bound.leaf
    return list(columns.values())


def _meanings(tree: SyntaxNode, scope: Scope) -> dict[Parts, Bound]:
    """Return the meaning of each name in a tree. Raises for the first name without a meaning."""
    conditions = {name: node for node in tree.walk() for name in node.children() if isinstance(name, Column)}
    if isinstance(tree, Column):
        conditions[tree] = tree
    meanings: dict[Parts, Bound] = {}
    for name in sorted(conditions, key=lambda name: name.span or (0, 0)):
        if name.parts not in meanings:
            meanings[name.parts] = scope.resolve(name.parts, beside_text=_is_beside_text(name, conditions[name], scope))
    return meanings


def _is_beside_text(name: Column, condition: SyntaxNode, scope: Scope) -> bool:
    """Return whether a name is compared with a string column."""
    if not isinstance(condition, (Comparison, NullSafe, Between, ListTest, LikeTest)):
        return False
    others = [other.parts for other in condition.children() if isinstance(other, Column) and other is not name]
    return any(pa.types.is_string(column.type) for parts in others if (column := scope.find(parts)) is not None)


def _refuse_binary(bound: Bound) -> Bound:
    is_binary = bound.column is not None and pa.types.is_binary(bound.column.type)
    return replace(bound, column=None, reason=_BINARY_AS_STRING, remedy="") if is_binary else bound


def _called(node: SyntaxNode) -> str:
    """Return the name of the function that a node calls; "" if it is not a call."""
    return node.name if isinstance(node, Call) else "between" if isinstance(node, Between) and node.is_call else ""


def _is_builtin(name: str, is_builtin: Callable[[str], bool] | None) -> bool:
    """Return whether a name refers to Spark's own function; True for "", which is not a call."""
    function = find(name)
    # `extract year` is the name that the grammar gives EXTRACT(YEAR FROM ..).
    is_syntax = function is not None and function.is_syntax
    return is_builtin is None or not name or is_syntax or is_builtin(name.partition(" ")[0])


def _named_within(
    parsed: ParsedPredicate, node: SyntaxNode, columns: Sequence[LeafColumn]
) -> tuple[LeafColumn, ...] | None:
    if node.span is None:
        return None
    return named_by_part(parsed.tokens[node.span[0] : node.span[1] + 1], columns)
