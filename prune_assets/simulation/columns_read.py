"""The columns of a table that a query shape reads: what a workload names may be parts of them, or gone by now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.render import column_sql
from prune_assets.workload.query_shapes import ALL_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import LeafColumn
    from prune_assets.workload.query_shapes import QueryShape, RanPredicate


def columns_read(shape: QueryShape, predicate: RanPredicate, columns: Sequence[LeafColumn]) -> list[str] | None:
    """Return the top-level columns that queries with a predicate read, without those that are gone; None for all.

    A shape whose log has `container.feet` and `gone` reads of a table with the struct `container` that one alone.
    """
    read = shape.columns if predicate.columns is None else predicate.columns
    if read in {(), ALL_COLUMNS}:
        return None
    known = _names(columns)
    found = (_top(name, known) or _top(name.partition(".")[0], known) for name in read)
    return list(dict.fromkeys(top for top in found if top is not None))


def _names(columns: Sequence[LeafColumn]) -> dict[str, str]:
    """Return the top-level column of each name: `a.b` is part of a struct if there is one, else a name with a dot."""
    paths = [column.path[:length] for column in columns for length in range(1, len(column.path) + 1)]
    written = {".".join(path): path[0] for path in paths} | {column_sql(path): path[0] for path in paths}
    return {name.lower(): top for name, top in written.items()} | written


def _top(name: str, known: dict[str, str]) -> str | None:
    return known.get(name, known.get(name.lower()))
