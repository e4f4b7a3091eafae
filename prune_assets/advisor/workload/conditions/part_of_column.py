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
    """Return the field or element that `rest` selects in a column; None if the types do not contain it.

    >>> types = {("s", "a-b"): "int", ("m",): "map<string,int>"}
    >>> part_of_column("s", ".a-b", types), part_of_column("m", "[k]", types)
    (Column(parts=('s', 'a-b')), PrintedElement(path=('m',), sql="m['k']", type='int'))
    """
    for path, spark_type in types.items():
        if path[0] != column:
            continue
        printed = "".join(f".{name}" for name in path[1:])
        if rest == printed or printed.startswith(f"{rest}."):
            return Column(path[: 1 + len(path[1:]) - printed.removeprefix(rest).count(".")])
        if (
            rest.startswith(printed)
            and rest[len(printed) :].startswith((".", "["))
            and spark_type.startswith((_MAP, _ARRAY))
        ):
            return _element(path, spark_type, rest[len(printed) :])
    fields = rest[1:].split(".")
    # Spark shortened the schema, so the field may be missing from `types`.
    return Column((column, *fields)) if rest[0] == "." and all(field.isidentifier() for field in fields) else None


def _element(path: Path, spark_type: str, rest: str) -> PrintedElement | None:
    sql = column_sql(path)
    while rest:
        step = _step(spark_type, rest)
        if step is None:
            return None
        suffix, spark_type, rest = step
        sql += suffix
    return PrintedElement(path, sql, spark_type)


def _step(spark_type: str, rest: str) -> tuple[str, str, str] | None:
    """Parse the first field name or element in `rest`; return it as SQL, its type, and the remaining text."""
    if rest[0] == "." and spark_type.startswith((_STRUCT, _ARRAY + _STRUCT)):
        return _field(spark_type, rest)
    key, bracket, after = rest[1:].partition("]")
    if rest[0] != "[" or not bracket or (after and after[0] not in ".["):
        return None
    if spark_type.startswith(_ARRAY):
        return (f"[{key}]", spark_type[len(_ARRAY) : -1], after) if key.isdecimal() else None
    if not spark_type.startswith(_MAP):
        return None
    key_type, value_type = split_outside(spark_type[len(_MAP) : -1], ",", opening="<(", closing=">)")
    try:
        return f"[{literal(key, key_type, None)}]", value_type, after
    except NotUnderstood:
        return None


def _field(spark_type: str, rest: str) -> tuple[str, str, str] | None:
    is_list = spark_type.startswith(_ARRAY)
    for name, inner in fields_of(spark_type[len(_ARRAY) : -1] if is_list else spark_type):
        after = rest[1:].removeprefix(name)
        if rest[1:].startswith(name) and after[:1] in {"", ".", "["}:
            return f".{column_sql((name,))}", f"{_ARRAY}{inner}>" if is_list else inner, after
    return None
