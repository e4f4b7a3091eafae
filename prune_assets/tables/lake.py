"""Find the tables in a directory or in a catalog of Iceberg."""

from __future__ import annotations

import os
import re
from typing import Literal, NamedTuple, TypeAlias

from parquet_core.errors import TableNotFound
from parquet_core.storage import address
from parquet_core.storage.remote import look_into
from prune_assets.tables.iceberg.opening import is_iceberg

# Hidden names are none of a table; a log of Delta or Hudi has one all the same.
_WANTED = re.compile(r"[^._].*|_delta_log|\.hoodie")

_CATALOG = "iceberg:"


TableKind: TypeAlias = Literal["delta", "iceberg", "parquet"]


class FoundTable(NamedTuple):
    """A table by its address; `name`: its parts below the directory that was searched, or in the catalog."""

    name: tuple[str, ...]
    location: str
    format: TableKind


def tables_below(root: str, *, depth: int = 4) -> list[FoundTable]:
    """Find the tables in a directory and those below it, or in a catalog, sorted by name; no file is opened.

    >>> import os, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> root = tempfile.mkdtemp()
    >>> os.makedirs(f"{root}/sales/orders/day=2024-01-01")
    >>> pq.write_table(pa.table({"id": [1]}), f"{root}/sales/orders/day=2024-01-01/0.parquet")
    >>> [(table.name, table.format) for table in tables_below(root)]
    [(('sales', 'orders'), 'parquet')]

    One listing a directory, of at most `depth` levels. A directory with `_delta_log` is a Delta table, one with
    Iceberg's files of metadata in `metadata` one of Iceberg; one that holds files named `*.parquet`, or directories
    named `column=value`, is one of plain Parquet. What is below a table belongs to it, except for a plain table without
    partitions: it consists of the files directly in its directory, and the directories below are searched too. Tables
    of Hudi are passed over.

    `root`: a directory or an address; `iceberg:catalog` or `iceberg:catalog.database` for what a catalog of pyiceberg
    lists, whose tables are then named so. Raises TableNotFound where there is no such directory, and StorageFailure.
    """
    if root.startswith(_CATALOG) and not os.path.lexists(root):
        return _of_catalog(root)
    location = address(root).rstrip("/")
    tables: list[FoundTable] = []
    todo: list[tuple[str, ...]] = [()]
    while todo:
        name = todo.pop()
        here = "/".join((location, *name))
        directories, files = look_into(here, _WANTED)
        if not name and not directories and not files:
            raise TableNotFound(f"{root}: the directory does not exist or is empty; check the path")
        below = [path.rpartition("/")[2] for path in directories]
        kind = _kind(here, set(below), any(file.path.endswith(".parquet") for file in files))
        if kind is not None and kind != "other":
            tables.append(FoundTable(name, here, kind))
        is_directory_alone = kind == "parquet" and not any("=" in each for each in below)
        if (kind is None or is_directory_alone) and len(name) < depth:
            todo += [(*name, each) for each in below]
    return sorted(tables)


def _of_catalog(root: str) -> list[FoundTable]:
    from prune_assets.tables.iceberg.catalog import tables_of

    name = root.removeprefix(_CATALOG)
    catalog = f"{_CATALOG}{name.partition('.')[0]}"
    return [FoundTable(table, ".".join((catalog, *table)), "iceberg") for table in tables_of(name)]


def _kind(here: str, below: set[str], has_parquet: bool) -> TableKind | Literal["other"] | None:  # noqa: FBT001 - what was seen
    if "_delta_log" in below:
        return "delta"
    if "metadata" in below and is_iceberg(here):
        return "iceberg"
    if ".hoodie" in below or {"metadata", "data"} <= below:
        return "other"
    return "parquet" if has_parquet or any("=" in name for name in below) else None
