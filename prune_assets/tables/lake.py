"""Find the tables in a directory or in a catalog of Iceberg."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import TableNotFound
from parquet_core.storage import address
from parquet_core.storage.remote import look_into
from prune_assets.tables import opening

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from prune_assets.tables.format import Format

# Hidden names are none of a table; a log of Delta or Hudi has one all the same.
_WANTED = re.compile(r"[^._].*|_delta_log|\.hoodie")


class FoundTable(NamedTuple):
    """A table by its address; `name`: its parts below the directory that was searched, or in the catalog."""

    name: tuple[str, ...]
    location: str
    format: str


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
    if (listed := _of_catalog(root)) is not None:
        return listed
    location = address(root).rstrip("/")
    tables: list[FoundTable] = []
    todo: list[tuple[str, ...]] = [()]
    while todo:
        name = todo.pop()
        here = "/".join((location, *name))
        directories, files = look_into(here, _WANTED)
        if not name and not directories and not files:
            raise TableNotFound(f"{root}: the directory does not exist or is empty; check the path")
        below = {path.rpartition("/")[2] for path in directories}
        has_files = any(file.path.endswith(".parquet") for file in files)
        found = next((each for each in opening.FORMATS if _is_at(each, here, below, has_files)), None)
        if (found is None or found.spark_lists_files) and _is_unread(below):
            continue
        if found is not None:
            tables.append(FoundTable(name, here, found.name))
        is_alone = found is None or (found.spark_lists_files and not any("=" in each for each in below))
        if is_alone and len(name) < depth:
            todo += [(*name, each) for each in below]
    return sorted(tables)


def _of_catalog(root: str) -> list[FoundTable] | None:
    """Return the tables of a catalog, which is named after the format of its tables; None for a directory."""
    format_name, colon, name = root.partition(":")
    found_in_catalog = next((each.found_in_catalog for each in opening.FORMATS if each.name == format_name), None)
    if not colon or found_in_catalog is None or os.path.lexists(root):
        return None
    catalog = f"{format_name}:{name.partition('.')[0]}"
    return [FoundTable(table, ".".join((catalog, *table)), format_name) for table in found_in_catalog(name)]


def _is_at(each: Format, here: str, below: AbstractSet[str], has_files: bool) -> bool:  # noqa: FBT001 - as listed
    return each.is_at(here) if each.is_in_listing is None else each.is_in_listing(here, below, has_files)


def _is_unread(below: AbstractSet[str]) -> bool:
    """True for tables of Hudi, and of Iceberg without files of metadata."""
    return ".hoodie" in below or below >= {"metadata", "data"}
