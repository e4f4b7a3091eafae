"""Resolve the column names that users give."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from parquet_core.errors import UnknownColumn
from parquet_core.printable import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import LeafColumn


def resolve(name: str, table: Sequence[LeafColumn]) -> str:
    """Return the table's spelling of a top-level column, ignoring case.

    Raises UnknownColumn with a suggestion.
    """
    tops = list(dict.fromkeys(column.path[0] for column in table))
    if name in tops:
        return name
    same = [top for top in tops if top.lower() == name.lower()]
    if len(same) == 1:
        return same[0]
    outer = name.partition(".")[0].lower()
    for column in table:
        if len(column.path) > 1 and column.path[0].lower() == outer:
            raise UnknownColumn(f"unknown column {name}: parts of a column cannot be selected; give {column.path[0]}")
    near = get_close_matches(name, tops, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the table has {listed(tops)}"
    raise UnknownColumn(f"unknown column {name}: {hint}")
