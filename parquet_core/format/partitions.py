"""Columns that stand in directory names (`day=2024-01-01/`), as Hive and Spark lay them out.

Spark looks at the directories between the table and its files, those with empty files included. Where their
values or types are not certain, the column is there and predicates on it keep data.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import from_numpy
from parquet_core.format.partition_values import infer, unescape
from parquet_core.format.schema import LeafColumn, Physical, SortOrder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_core.predicate import Path

# Of such a table Spark may pass over files, or refuse it.
UNEVEN = "the directories do not all name the same columns"
_BESIDE = "a directory that holds only empty files has a say in the type of this column"
# How a file would store such values; all others as bytes.
_PHYSICAL = {
    pa.int32(): Physical.INT32,
    pa.int64(): Physical.INT64,
    pa.date32(): Physical.INT32,
    pa.float64(): Physical.DOUBLE,
    pa.null(): Physical.INT32,
}


@dataclass(frozen=True, slots=True)
class Partitions:
    """The columns in order of depth, and by path of those that are certain the value in each file."""

    columns: tuple[LeafColumn, ...] = ()
    values: dict[Path, pa.Array] = field(default_factory=dict)


def read_partitions(
    paths: Sequence[str], base: str, *, empty: Iterable[str] = (), infer_types: bool = True
) -> Partitions:
    """Read the columns that directories below `base` give to the files at `paths`.

    `empty`: paths of files without a byte, which are no data. `infer_types`: False when all are strings.

    >>> found = read_partitions(["t/day=1/hour=x/a.parquet", "t/day=2/hour=y/a.parquet"], "t")
    >>> [(column.name, str(column.type), found.values[column.path].to_pylist()) for column in found.columns]
    [('day', 'int32', [1, 2]), ('hour', 'string', ['x', 'y'])]
    """
    if "=" not in "".join(paths):
        # No path has to be taken apart to see that none names a column.
        return Partitions()
    numbers: dict[str, int] = {}
    number = [numbers.setdefault(_directory(path, base), len(numbers)) for path in paths]
    parts = [directory.split("/") if directory else [] for directory in numbers]
    names = _names(parts)
    if not names:
        return Partitions()
    reason = _reason(parts, names)
    if not reason and any(_directory(path, base) not in numbers for path in empty if not path.endswith("/")):
        reason = _BESIDE
    if reason:
        return Partitions(tuple(_unsupported(name, reason) for name in names))
    columns: list[LeafColumn] = []
    values: dict[Path, pa.Array] = {}
    of_file = from_numpy(np.array(number, np.int64))
    for depth, name in enumerate(names):
        found = infer([part[depth].partition("=")[2] for part in parts], types=infer_types)
        if isinstance(found, str):
            columns.append(_unsupported(name, found))
        else:
            columns.append(_column(name, found.type))
            values[(name,)] = found.values.take(of_file)
    return Partitions(tuple(columns), values)


def named_by_patterns(paths: Iterable[str]) -> Partitions:
    """Return the columns that any directory of these files names, none of them certain.

    >>> [column.path for column in named_by_patterns(["t/day=1/hour=2/part-0.parquet"]).columns]
    [('day',), ('hour',)]
    """
    parts = [directory.split("/") for directory in sorted({path.rpartition("/")[0] for path in paths})]
    reason = "of a pattern only Spark knows which directories it takes values from; name the table's directory"
    return Partitions(tuple(_unsupported(name, reason) for name in _names(parts)))


def _directory(path: str, base: str) -> str:
    return path[len(base.rstrip("/")) :].rpartition("/")[0].strip("/")


def _names(parts: Iterable[list[str]]) -> list[str]:
    return list(dict.fromkeys(unescape(part.partition("=")[0]) for found in parts for part in found if "=" in part))


def _reason(parts: list[list[str]], names: list[str]) -> str:
    """Say why no value is certain, empty when nothing speaks against them."""
    if len({name.casefold() for name in names}) < len(names) or "" in names:
        return "the names of the directories are not told apart"
    same = all([unescape(part.partition("=")[0]) for part in found if "=" in part] == names for found in parts)
    return "" if same and all(len(found) == len(names) for found in parts) else UNEVEN


def without_overridden(columns: Iterable[LeafColumn], partitions: Iterable[LeafColumn]) -> tuple[LeafColumn, ...]:
    """Mark the columns whose values Spark takes from the directory instead of from the file."""
    names = {column.path[0].casefold() for column in partitions}
    reason = "a directory name gives this column its value, whatever the file holds"
    return tuple(
        replace(column, unsupported=reason) if column.path[0].casefold() in names else column for column in columns
    )


def _unsupported(name: str, reason: str) -> LeafColumn:
    unknown = _column(name, pa.string())
    return replace(unknown, type=None, order=SortOrder.UNDEFINED, unsupported=reason)


def _column(name: str, kind: pa.DataType) -> LeafColumn:
    return LeafColumn(
        path=(name,),
        index=-1,
        physical=_PHYSICAL.get(kind, Physical.BYTE_ARRAY),
        type=kind,
        order=SortOrder.UNSIGNED if pa.types.is_string(kind) else SortOrder.SIGNED,
        max_definition_level=1,
    )
