"""Parse fields and elements of columns as conditions print them: `s#4.a`, `m#5[k]`, `a#6[0].b`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.advisor.workload.conditions.literals import literal
from prune_assets.advisor.workload.conditions.printed_nodes import PrintedElement
from prune_assets.advisor.workload.conditions.read_schema import fields_of, split_outside
from prune_assets.advisor.workload.not_understood import NotUnderstood
from prune_assets.sql.render import column_sql
from prune_assets.sql.syntax.nodes import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    Path = tuple[str, ...]

_MAP, _ARRAY, _STRUCT = "map<", "array<", "struct<"


def part_of_column(column: str, rest: str, types: Mapping[Path, str]) -> Column | PrintedElement | None:
    """Return the field or element that `rest` selects in a column.

    None if the types do not contain it.

    >>> types = {("s", "a-b"): "int", ("m",): "map<string,int>"}
    >>> part_of_column("s", ".a-b", types), part_of_column("m", "[k]", types)
    (Column(parts=('s', 'a-b')), PrintedElement(path=('m',), sql="m['k']", type='int'))
    """
    for path, kind in types.items():
        if path[0] != column:
            continue
        printed = "".join(f".{name}" for name in path[1:])
        if rest == printed or printed.startswith(f"{rest}."):
            return Column(path[: 1 + len(path[1:]) - printed.removeprefix(rest).count(".")])
        if rest.startswith(printed) and rest[len(printed) :].startswith((".", "[")) and kind.startswith((_MAP, _ARRAY)):
            return _element(path, kind, rest[len(printed) :])
    fields = rest[1:].split(".")
    # Spark shortened the schema, so the field may be missing from `types`.
    return Column((column, *fields)) if rest[0] == "." and all(field.isidentifier() for field in fields) else None


def _element(path: Path, kind: str, rest: str) -> PrintedElement | None:
    sql = column_sql(path)
    while rest:
        step = _step(kind, rest)
        if step is None:
            return None
        suffix, kind, rest = step
        sql += suffix
    return PrintedElement(path, sql, kind)


def _step(kind: str, rest: str) -> tuple[str, str, str] | None:
    """Return one step into a value as SQL, its type, and the remaining text."""
    if rest[0] == "." and kind.startswith((_STRUCT, _ARRAY + _STRUCT)):
        return _field(kind, rest)
    key, bracket, after = rest[1:].partition("]")
    if rest[0] != "[" or not bracket or (after and after[0] not in ".["):
        return None
    if kind.startswith(_ARRAY):
        return (f"[{key}]", kind[len(_ARRAY) : -1], after) if key.isdecimal() else None
    if not kind.startswith(_MAP):
        return None
    key_type, value_type = split_outside(kind[len(_MAP) : -1], ",", opening="<(", closing=">)")
    try:
        return f"[{literal(key, key_type, None)}]", value_type, after
    except NotUnderstood:
        return None


def _field(kind: str, rest: str) -> tuple[str, str, str] | None:
    is_list = kind.startswith(_ARRAY)
    for name, inner in fields_of(kind[len(_ARRAY) : -1] if is_list else kind):
        after = rest[1:].removeprefix(name)
        if rest[1:].startswith(name) and after[:1] in {"", ".", "["}:
            return f".{column_sql((name,))}", f"{_ARRAY}{inner}>" if is_list else inner, after
    return None
