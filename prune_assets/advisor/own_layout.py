"""Check the columns of a user's layout against the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.errors import LayoutError
from prune_assets.tables.writes.write_options import refuse_unknown_columns

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from parquet_core.format.schema import Path
    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.tables.table import Table


def key_paths(layout: LayoutSpec | None, table: Table) -> list[Path]:
    """Return the columns that order the rows of a layout or name its directories; empty without a layout.

    Raises LayoutError for a column that the table lacks or that cannot be a key.
    """
    if layout is None:
        return []
    columns = (*table.columns, *table.partitions)
    refuse_unknown_columns(layout, list(dict.fromkeys(column.path[0] for column in columns)))
    paths_by_name = {column.path[0].casefold(): column.path for column in reversed(columns) if len(column.path) == 1}
    keys: list[Path] = []
    for option, names in _keys(layout).items():
        for name in names:
            if name.casefold() not in paths_by_name:
                raise LayoutError(f"{option}: {_no_key(name, table)}")
            keys.append(paths_by_name[name.casefold()])
    return keys


def refuse_unread(layout: LayoutSpec, readable: Container[str]) -> None:
    """Raise LayoutError for a key column that only Spark can read.

    `readable`: lower-case names of the columns that can be read without Spark.
    """
    for option, names in _keys(layout).items():
        for name in names:
            if name.casefold() not in readable:
                raise LayoutError(f"{option}: {name} is read only by Spark, so reads of queries cannot be simulated")


def _keys(layout: LayoutSpec) -> dict[str, Sequence[str]]:
    curve = "zorder_by" if layout.zorder_by else "hilbert_by"
    return {"sort_by": layout.sort_columns, curve: layout.curve_by, "partition_by": layout.partition_by}


def _no_key(name: str, table: Table) -> str:
    if any(column.path[0].casefold() == name.casefold() for column in table.columns):
        return f"{name} is a struct, list or map; name a column of values"
    return f"{name} is a field of {name.partition('.')[0]}; give a top-level column"
