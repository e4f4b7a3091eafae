"""The columns of a table, found by name with Spark's rules of case and nesting."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa

from parquet_core.errors import UnknownColumn
from parquet_core.format.leaf_type import counts_nanoseconds
from parquet_core.printable import listed
from parquet_core.spark_rules.spark_schema import tells_nulls
from prune_assets.errors import PredicateTypeError
from prune_assets.sql.binding.bind import why_not
from prune_assets.sql.functions.clock_calls import CLOCK_NEEDED
from prune_assets.sql.functions.registry import find
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.syntax import nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import LeafColumn

    Parts = tuple[str, ...]
    from collections.abc import Callable

    from parquet_core.predicate import Path
    from prune_assets.sql.types.spark_values import SparkValue

_ROUNDED_BY_WRITE = ", prune write does of top-level columns"
# Of so many fields of one name a message tells.
_SHOWN_FIELDS = 3
# The column that Spark adds to every table of files, and what it holds; the last line is Delta's.
FILE_METADATA = "_metadata"
_FILE_METADATA_FIELDS = (
    *("file_path", "file_name", "file_size", "file_modification_time", "file_block_start", "file_block_length"),
    *("row_index", "row_id", "base_row_id", "row_commit_version", "default_row_commit_version"),
)


@dataclass(frozen=True, slots=True)
class Bound:
    """What a name means: a column that predicates can prune on, or why there is none.

    `nullable`: the column whose IS NULL prunes, whatever its values are. `nested`: what it is if for certain no value
    of a plain type, in words. `group`: the path of a struct, list or map, whose nulls are known where rows are read.
    """

    column: LeafColumn | None
    reason: str = ""
    remedy: str = ""
    nullable: LeafColumn | None = None
    nested: str = ""
    group: Path | None = None


class Scope:
    """The columns of a table, found by name."""

    def __init__(self, columns: Sequence[LeafColumn], *, case_sensitive: bool) -> None:
        self._case_sensitive = case_sensitive
        self._by_top: defaultdict[str, list[LeafColumn]] = defaultdict(list)
        for column in columns:
            self._by_top[self._key(column.path[0])].append(column)
        self._tops = list(dict.fromkeys(column.path[0] for column in columns))

    def has(self, name: str) -> bool:
        """Tell whether a top-level column may be meant by a name, case ignored."""
        return any(top.lower() == name.lower() for top in self._tops)

    def resolve(self, parts: Parts, *, beside_text: bool = False) -> Bound:
        """Return the binding of a name; raises UnknownColumn, or PredicateTypeError if two columns match.

        `beside_text`: it is compared with a column of strings, and may be a text without its quotes.
        """
        matching = self._by_top.get(self._key(parts[0]))
        if matching is None:
            function = find(parts[0].lower()) if len(parts) == 1 else None
            if function is not None and function.without_brackets:
                if function.clock is not None:
                    return Bound(None, *CLOCK_NEEDED)
                return Bound(None, f"{parts[0].lower()} is not evaluated while planning")
            if self._key(parts[0]) == FILE_METADATA:
                return _of_file(parts)
            self._unknown(parts, beside_text=beside_text)
        spellings = list(dict.fromkeys(column.path[0] for column in matching))
        if len(spellings) > 1:
            raise PredicateTypeError(
                f"column {parts[0]} is ambiguous: the table has {' and '.join(spellings)}; "
                "set spark.sql.caseSensitive or rename one"
            )
        return self._field(parts, matching)

    def _field(self, parts: Parts, matching: list[LeafColumn]) -> Bound:
        wanted = [self._key(part) for part in parts]
        matches = [column for column in matching if [self._key(part) for part in column.path[: len(parts)]] == wanted]
        # A name inside a list of structs has other parts than its path in the file.
        if any(column.max_repetition_level for column in matches or matching):
            # Further down it may be the value of a key of a map.
            is_nested = len(parts) == 1 and all(column.max_repetition_level for column in matches)
            nested = "an array, a map or a struct" if is_nested else ""
            group = matching[0].path[:1] if len(parts) == 1 else None
            return Bound(None, "lists and maps are not looked into", nested=nested, group=group)
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
        text = f"text needs quotes, '{name}'; " if beside_text else ""
        columns = listed(self._tops) or "no columns"
        raise UnknownColumn(f"unknown column {name}: {text}the table has {columns}")

    def _fields_named(self, parts: Parts) -> list[str]:
        """Return the fields of structs that end in a name."""
        wanted = [self._key(part) for part in parts]
        leaves = [column for columns in self._by_top.values() for column in columns if not column.max_repetition_level]
        ends = {column.name: [self._key(part) for part in column.path[-len(parts) :]] for column in leaves}
        return [name for name, end in ends.items() if end == wanted][:_SHOWN_FIELDS]

    def _unknown_field(self, parts: Parts, found: list[LeafColumn]) -> NoReturn:
        name, fields = ".".join(parts), [column.name for column in found]
        near = get_close_matches(name, fields, n=1, cutoff=0.8)
        hint = f"did you mean {near[0]}?" if near else f"there is {listed(fields)}"
        raise UnknownColumn(f"unknown column {name}: {hint}")

    def _key(self, name: str) -> str:
        return name if self._case_sensitive else name.lower()


def _of_file(parts: Parts) -> Bound:
    """Return the binding of a name in `_metadata`; Spark ignores the case of its fields as it does that of columns."""
    if len(parts) > 1 and parts[1].lower() not in _FILE_METADATA_FIELDS:
        near = get_close_matches(parts[1].lower(), _FILE_METADATA_FIELDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(_FILE_METADATA_FIELDS)}"
        raise UnknownColumn(f"unknown column {'.'.join(parts)}: {hint}")
    return Bound(None, "what Spark tells of files and of rows in them is known when it reads")


def _usable(column: LeafColumn) -> Bound:
    if column.unsupported:
        remedy = _ROUNDED_BY_WRITE if counts_nanoseconds(column.type, column.physical) else ""
        return Bound(None, f"{column.unsupported}{remedy}", nullable=column if tells_nulls(column) else None)
    if column.type is None:
        return Bound(None, "the type of this column is not understood")
    return Bound(column, nullable=column)


class NameResolver:
    """Resolves the parts of predicates on one table; `is_builtin`: whether a name still is that of Spark's function.

    `binary_as_string`: what Spark reads of bytes that the file does not call text.
    """

    def __init__(self, scope: Scope, is_builtin: Callable[[str], bool] | None, *, binary_as_string: bool) -> None:
        self._scope = scope
        self._is_builtin = is_builtin
        self._binary_as_string = binary_as_string

    def column(self, node: nodes.Node) -> LeafColumn:
        """Return the column that a name means; raises Refusal where there is none to prune on."""
        bound = self._bound(node)
        if bound.column is None:
            raise Refusal(bound.reason, bound.remedy)
        if self._binary_as_string and pa.types.is_binary(bound.column.type):
            raise Refusal("with spark.sql.parquet.binaryAsString Spark reads a string here")
        return bound.column

    def nested(self, node: nodes.Column) -> str:
        """Say what a name means that is an array, a map or a struct; empty of any other, or where that is not known."""
        return self._resolve(node).nested

    def null_path(self, node: nodes.Column, *, on_rows: bool) -> Path | None:
        """Return the path of a name that is asked for null alone; None of a column that holds nothing else."""
        bound = self._bound(node)
        if on_rows and bound.group is not None:
            return bound.group
        column = self.column(node) if bound.nullable is None else bound.nullable
        return None if column.type is not None and pa.types.is_null(column.type) else column.path

    def _bound(self, node: nodes.Node) -> Bound:
        if not isinstance(node, nodes.Column):
            raise why_not(node)
        return self._resolve(node)

    def _resolve(self, node: nodes.Column) -> Bound:
        return self._scope.resolve(node.parts)

    def _is_beside_text(self, node: nodes.Column, around: nodes.Node) -> bool:
        """Tell whether a name is compared with a column of strings."""
        if not isinstance(around, (nodes.Comparison, nodes.NullSafe, nodes.Between, nodes.In, nodes.Like)):
            return False
        others = [other for other in around.children() if isinstance(other, nodes.Column) and other is not node]
        found = [self.column_of(other.parts) for other in others]
        return any(column is not None and pa.types.is_string(column.type) for column in found)

    def column_of(self, parts: tuple[str, ...]) -> LeafColumn | None:
        """Return the column that a name in a rewrite means, None when there is none to prune on."""
        try:
            return self._scope.resolve(parts).column
        except (PredicateTypeError, UnknownColumn):
            return None

    def value(self, node: nodes.Node) -> SparkValue:
        """Return the value of a literal; raises Refusal for one in double quotes that may be a column."""
        assert isinstance(node, nodes.Literal)
        value = node.value
        if value.name is not None and self._scope.has(value.name):
            raise Refusal(
                "in double quotes this is a string or a column, as spark.sql.ansi.doubleQuotedIdentifiers says",
                "write 'string' or `column`",
            )
        return value

    def is_boolean(self, node: nodes.Column) -> bool:
        """Tell whether a name means a column of booleans."""
        column = self._scope.resolve(node.parts).column
        return column is not None and pa.types.is_boolean(column.type)

    def check_names(self, node: nodes.Node) -> None:
        """Raise UnknownColumn, or PredicateTypeError for a name of two columns, for any name in a part."""
        if isinstance(node, nodes.Column):
            self._resolve(node)
        for around in node.walk():
            for name in around.children():
                if isinstance(name, nodes.Column):
                    self._scope.resolve(name.parts, beside_text=self._is_beside_text(name, around))

    def is_builtin(self, name: str) -> bool:
        """Tell whether a call of this name is one of Spark's own function."""
        function = find(name)
        # `extract year` is what the grammar makes of EXTRACT(YEAR FROM ..).
        is_syntax = function is not None and function.is_syntax
        return self._is_builtin is None or is_syntax or self._is_builtin(name.partition(" ")[0])

    def check_functions(self, node: nodes.Node) -> None:
        """Raise Refusal where the session has a function of its own under one of the names."""
        for name in _called(node) if self._is_builtin is not None else ():
            if not self.is_builtin(name):
                raise Refusal(f"{name.partition(' ')[0]}() is not one of Spark's own functions in this session")


def _called(node: nodes.Node) -> set[str]:
    """Return the names of all functions that a part calls."""
    ranges = {"between" for part in node.all_of(nodes.Between) if part.is_call}
    return ranges | {call.name for call in node.all_of(nodes.Call)}
