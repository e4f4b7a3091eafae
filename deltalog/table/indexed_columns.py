"""The columns that get statistics: the first so many, those that a property names, and the clustering columns.

Source: the Delta protocol, "Per-file Statistics" and "Clustered Table"; `delta.dataSkippingNumIndexedCols` and
`delta.dataSkippingStatsColumns` of its reference implementation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.table.clustering import clustering_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deltalog.table.schema import TableColumn, TableSchema
    from parquet_core.predicate import Path

NAMED = "delta.dataSkippingStatsColumns"
COUNTED = "delta.dataSkippingNumIndexedCols"
COUNTED_BY_DEFAULT = 32


def indexed_columns(
    schema: TableSchema, properties: Mapping[str, str], domains: Mapping[str, str] | None = None
) -> tuple[TableColumn, ...]:
    """Return the leaves that files should have statistics of, in the order of the schema.

    An array or a map counts as one column, a struct as its leaves, a partition column as none. Columns that the table
    is clustered by (`domains`) are always among them; MalformedLog when their domain is damaged.
    """
    data = [column for column in schema.columns if column.partition is None]
    clustered = frozenset(clustering_columns(domains or {}, place="the table"))
    if NAMED in properties:
        names = named_columns(properties[NAMED])
        return tuple(column for column in data if is_named(column, names) or _is_below(column.physical, clustered))
    most = indexed_count(properties)
    return tuple(
        column for i, column in enumerate(data) if most < 0 or i < most or _is_below(column.physical, clustered)
    )


def indexed_count(properties: Mapping[str, str]) -> int:
    """Return how many columns are indexed; negative: all. What is no number counts as not said."""
    try:
        return int(properties.get(COUNTED, COUNTED_BY_DEFAULT))
    except ValueError:
        return COUNTED_BY_DEFAULT


def named_columns(text: str) -> frozenset[Path]:
    """Return the columns that a property names, case folded.

    >>> sorted(named_columns("a, `b,c`.`d.e`, S.x"))
    [('a',), ('b,c', 'd.e'), ('s', 'x')]
    """
    return frozenset(_paths(text))


def _paths(text: str) -> Iterator[Path]:
    path, quoted = [""], False
    for sign in f"{text},":
        if sign == "`":
            quoted = not quoted
        elif quoted or sign not in ",.":
            path[-1] += sign
        elif sign == ".":
            path.append("")
        else:
            found = tuple(name.strip().casefold() for name in path)
            path = [""]
            if all(found):
                yield found


def is_named(column: TableColumn, names: frozenset[Path]) -> bool:
    """Tell whether a column, or a struct around it, is among names."""
    path = tuple(name.casefold() for name in column.leaf.path)
    return _is_below(path, names)


def _is_below(path: Path, places: frozenset[Path]) -> bool:
    return any(path[:length] in places for length in range(1, len(path) + 1))
