"""Write the JSON of a file's statistics from the JSON of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.predicate import Path


class ColumnTexts(NamedTuple):
    """One column over many files: JSON of both bounds and the null counts, None where there is none."""

    path: Path
    minimum: Sequence[bytes | None]
    maximum: Sequence[bytes | None]
    nulls: Sequence[int | None]


def statistics_text(records: int, columns: Sequence[ColumnTexts], number: int, *, tight: bool | None) -> str:
    """Return the statistics of one file, by its number.

    >>> statistics_text(3, [ColumnTexts(("s", "a"), [b"1"], [b"2"], [None])], 0, tight=None)
    '{"numRecords":3,"minValues":{"s":{"a":1}},"maxValues":{"s":{"a":2}}}'
    """
    said: dict[str, Any] = {"numRecords": records, "minValues": {}, "maxValues": {}, "nullCount": {}}
    for column in columns:
        for part, value in (("minValues", column.minimum[number]), ("maxValues", column.maximum[number])):
            if value is not None:
                _put(said[part], column.path, msgspec.Raw(value))
        nulls = column.nulls[number]
        if nulls is not None:
            _put(said["nullCount"], column.path, nulls)
    if tight is not None:
        said["tightBounds"] = tight
    # To some readers a part that is there has a value of every column, and none is one too.
    return msgspec.json.encode({name: part for name, part in said.items() if part != {}}).decode()


def _put(tree: dict[str, Any], path: Path, value: object) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value
