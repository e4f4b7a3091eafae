"""Parse the columns of a `ReadSchema`, such as `struct<id:bigint,s:struct<a:int>>`, with their types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.advisor.workload.not_understood import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_NESTED = 50
_STRUCT = "struct<"


def leaf_types(schema: str) -> dict[tuple[str, ...], str]:
    """Return the types of columns and struct fields, by path.

    >>> leaf_types("struct<id:bigint,s:struct<a:int,b:array<string>>>")
    {('id',): 'bigint', ('s', 'a'): 'int', ('s', 'b'): 'array<string>'}

    Spark shortens the list after 25 columns; then only the printed columns are returned. Raises NotUnderstood.
    """
    return dict(_leaves(schema, ()))


def _leaves(spark_type: str, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if not spark_type.startswith(_STRUCT) or not spark_type.endswith(">") or len(path) > _MOST_NESTED:
        yield path, spark_type
        return
    for name, inner in fields_of(spark_type):
        yield from _leaves(inner, (*path, name))


def fields_of(spark_type: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of a struct with their types. Raises NotUnderstood.

    >>> list(fields_of("struct<a-b:int,c:array<string>>"))
    [('a-b', 'int'), ('c', 'array<string>')]
    """
    for field in split_outside(spark_type[len(_STRUCT) : -1], ",", opening="<(", closing=">)"):
        name, colon, inner = field.partition(":")
        if colon:
            yield name, inner
        elif not name.startswith("... ") and name:
            raise NotUnderstood("ambiguous text")


def split_outside(text: str, separator: str, *, opening: str = "(", closing: str = ")") -> list[str]:
    """Split `text` at separators outside of brackets.

    >>> split_outside("(k#1 > 3), isnotnull(k#1)", ", ")
    ['(k#1 > 3)', 'isnotnull(k#1)']
    """
    parts, depth, start = [], 0, 0
    for index, letter in enumerate(text):
        if letter in opening:
            depth += 1
        elif letter in closing:
            depth -= 1
        elif depth == 0 and text.startswith(separator, index) and index >= start:
            parts.append(text[start:index])
            start = index + len(separator)
    return [*parts, text[start:]]
