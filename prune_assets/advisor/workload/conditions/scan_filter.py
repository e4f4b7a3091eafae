"""Convert the filters that a plan prints for a scan to conjuncts in SQL."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prune_assets.advisor.workload.conditions.parse import parse_condition
from prune_assets.advisor.workload.conditions.printed_nodes import PrintedConstant
from prune_assets.advisor.workload.conditions.pushed_texts import hide_texts, pushed_filters_of
from prune_assets.advisor.workload.conditions.read_schema import leaf_types, split_outside
from prune_assets.advisor.workload.conditions.write_sql import SqlWriter
from prune_assets.advisor.workload.not_understood import NotUnderstood
from prune_assets.sql.render import column_sql
from prune_assets.sql.syntax.nodes import Column, Conjunction, Disjunction, Negation, NullTest, OpaqueNode, SyntaxNode
from prune_assets.sql.syntax.parsed import chain_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prune_assets.advisor.workload.conditions.write_sql import Path

_ATTRIBUTE = re.compile(r"(.+)#[0-9]+(L?)", re.DOTALL)
_PARTITION = re.compile(r"(?<=[( \[])((?!dynamicpruning|subquery)([A-Za-z_]\w*)#[0-9]+L?)\b")
# The text before a column that is a first operand or the argument of a function.
_FIRST = r"(?:^|(?<=\()|(?<= AND )|(?<= OR )|(?<=NOT ))"
_OPERAND = re.compile(_FIRST + r"(([A-Za-z_]\w*)#[0-9]+L?)(?=[ ,)]|$)")
_SHORTENED = re.compile(r"\.\.\. ?[0-9]+ more fields")
# Columns of `_metadata`, which are not stored in files.
_OF_FILES = ("file_path", "file_name", "file_size", "file_block_start", "file_block_length", "file_modification_time")
_ROW_INDEX = ("_tmp_metadata_row_index",)
# The column by which Delta drops the rows of deletion vectors.
_IS_DELETED = ("__delta_internal_is_row_deleted",)
_PUSHED = {
    "=": "EqualTo",
    "<=>": "EqualNullSafe",
    ">": "GreaterThan",
    ">=": "GreaterThanOrEqual",
    "<": "LessThan",
    "<=": "LessThanOrEqual",
    "StartsWith": "StringStartsWith",
    "EndsWith": "StringEndsWith",
    "Contains": "StringContains",
}


@dataclass(frozen=True, slots=True)
class ScanFilter:
    """The filter of a scan: sorted conjuncts in SQL.

    `columns`: columns that the scan reads.
    `joined_on`: columns that joins compare.
    `not_understood`: reasons why conjuncts are left out.
    """

    conjuncts: tuple[str, ...]
    columns: tuple[str, ...]
    joined_on: tuple[str, ...]
    not_understood: list[str] = field(default_factory=list)

    @property
    def where(self) -> str:
        """The predicate; "" if the scan selects all rows."""
        return " AND ".join(self.conjuncts)


def scan_filter(
    *,
    output: str,
    read_schema: str | None,
    conditions: Sequence[str],
    partition_filters: str | None = None,
    pushed_filters: str | None = None,
    applied_filters: str | None = None,
    direct_conditions: Sequence[str] = (),
    joined_on: frozenset[str] = frozenset(),
    zone: str | None = None,
) -> ScanFilter:
    """Return the filter of a scan. Conjuncts that are not understood are left out, with their reasons.

    All arguments except `zone` are printed parts of the plan.
    `joined_on`: attributes of the scan that joins compare.
    `applied_filters`: a list of conditions that the scan itself applies.
    `direct_conditions`: those of `conditions` that only use columns of the scan. They provide the columns that a
    shortened `output` omits.

    Raises NotUnderstood.

    >>> parsed = scan_filter(
    ...     output="[id#1L, user#2]", read_schema="struct<id:bigint,user:string>", conditions=["(user#2 = New York)"]
    ... )
    >>> parsed.where, parsed.columns
    ("user = 'New York'", ('id', 'user'))
    """
    # A DataSource V2 scan omits partition columns from its output.
    attributes = {**dict(_PARTITION.findall(partition_filters or "")), **dict(_attributes(output))}
    pushed = pushed_filters_of(pushed_filters)
    if _SHORTENED.search(output):
        printed = [*direct_conditions, applied_filters or ""]
        attributes = {**dict(_unlisted(printed, {comparison.column for comparison in pushed})), **attributes}
    types = {} if read_schema is None else leaf_types(read_schema)
    of_files = {(name,) for name in _OF_FILES if (name,) not in types}
    types |= {(name,): "bigint" for key, name in attributes.items() if key.endswith("L") and (name,) not in types}
    joined: set[Path] = {(attributes[key],) for key in joined_on if key in attributes}
    leaves = [path for path in types if path[0] in attributes.values()]
    made = _Made(SqlWriter(types, zone), joined, {*leaves})
    for condition in conditions:
        strings: list[str] = []
        hidden = hide_texts(condition, pushed, attributes, strings)
        made.add(chain_of(parse_condition(hidden, attributes, types, strings), Conjunction), pushed_filters)
    made.add(_parse_list(applied_filters, attributes, types), pushed_filters)
    made.add(_parse_list(partition_filters, attributes, types), None)
    structs = {path[0] for path in leaves}
    names = {(name,) for name in attributes.values() if name not in structs}
    columns = tuple(sorted({column_sql(path) for path in {*leaves, *names} - of_files - {_ROW_INDEX, _IS_DELETED}}))
    conjuncts = tuple(sorted(dict.fromkeys(made.without_implied())))
    return ScanFilter(conjuncts, columns, tuple(sorted(map(column_sql, joined))), made.not_understood)


class _Made:
    """The conjuncts of a scan that are understood, with their columns.

    IS NOT NULL tests are separate, because other conjuncts often imply them.
    """

    def __init__(self, writer: SqlWriter, joined: set[Path], leaves: set[Path]) -> None:
        self.writer = writer
        self.joined = joined
        self.leaves = leaves
        self.conjuncts: list[tuple[str, set[Path]]] = []
        self.not_null: list[tuple[str, Path]] = []
        self.not_understood: list[str] = []

    def add(self, nodes: Sequence[SyntaxNode], pushed_filters: str | None) -> None:
        self.writer.strings.clear()
        conjuncts: list[tuple[str, set[Path]]] = []
        not_null: list[tuple[str, Path]] = []
        for node in nodes:
            self.writer.columns.clear()
            if isinstance(node, PrintedConstant) and not node.exact and node.text in {"true", ""}:
                continue
            try:
                sql = self.writer.write(node, "boolean")
            except NotUnderstood as error:
                self.not_understood.append(error.reason)
                continue
            if self.writer.columns == {_IS_DELETED}:
                continue
            match node:
                case Negation(NullTest(Column(path))):
                    not_null.append((sql, path))
                case _:
                    conjuncts.append((f"({sql})" if isinstance(node, Disjunction) else sql, {*self.writer.columns}))
        if pushed_filters is not None and _is_contradicted(self.writer.strings, pushed_filters):
            self.not_understood.append("ambiguous text")
            return
        self.conjuncts += conjuncts
        self.not_null += not_null

    def without_implied(self) -> Iterator[str]:
        """Yield all conjuncts, without the IS NOT NULL tests that other conjuncts or joins imply."""
        tested = {path for _, columns in self.conjuncts for path in columns}
        yield from (sql for sql, _ in self.conjuncts)
        for sql, path in self.not_null:
            if path not in self.joined and path not in tested:
                yield sql


def _attributes(output: str) -> Iterator[tuple[str, str]]:
    for attribute in split_outside(output.removeprefix("[").removesuffix("]"), ", "):
        if match := _ATTRIBUTE.fullmatch(attribute):
            yield attribute, match[1]


def _unlisted(printed: Sequence[str], pushed: set[str]) -> Iterator[tuple[str, str]]:
    """Yield columns that a shortened output may omit: operands of conditions, and columns of pushed filters."""
    by_name: dict[str, set[str]] = {}
    for part in printed:
        for attribute, name in _OPERAND.findall(part):
            by_name.setdefault(name, set()).add(attribute)
        for name in pushed:
            by_name.setdefault(name, set()).update(re.findall(rf"{_FIRST}({re.escape(name)}#[0-9]+L?)\b", part))
    # A constant may look like an attribute; then the name has two attributes and is skipped.
    yield from ((attribute, name) for name, keys in by_name.items() if len(keys) == 1 for attribute in keys)


def _parse_list(text: str | None, attributes: dict[str, str], types: Mapping[Path, str]) -> list[SyntaxNode]:
    """Return the conditions of a printed list.

    An entry without a column continues the constants of the previous entry.
    """
    if text is None:
        return []
    # A list that contains a line break may be cut off.
    if not (text.startswith("[") and text.endswith("]")):
        return [OpaqueNode("ambiguous text")]
    parts: list[str] = []
    for part in split_outside(text[1:-1], ", "):
        # A filter made at run time that excludes nothing.
        if part == "dynamicpruningexpression(true)":
            continue
        if parts and not any(name in part for name in attributes) and not part.startswith("dynamicpruning"):
            parts[-1] += f", {part}"
        else:
            parts.append(part)
    return [node for part in parts if part for node in chain_of(parse_condition(part, attributes, types), Conjunction)]


def _is_contradicted(strings: Sequence[tuple[Path, str, str]], pushed: str) -> bool:
    """Return True if pushed filters contradict a parsed string.

    A string is contradicted if filters with its column and operator were pushed, but none of these contains the string.
    """
    for path, operator, string in strings:
        start = f"{_PUSHED.get(operator)}({'.'.join(path)},"
        if start in pushed and not any(f"{start}{string}){end}" in pushed for end in (", ", "]", ")", ",")):
            return True
    return False
