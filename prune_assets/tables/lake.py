"""Find the tables in a directory or in an Iceberg catalog."""

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

# Skip hidden names except `_delta_log` and `.hoodie`.
_WANTED = re.compile(r"[^._].*|_delta_log|\.hoodie")


class FoundTable(NamedTuple):
    """A table and its address.

    `name`: path parts below the searched directory, or parts of the table's name in the catalog.
    """

    name: tuple[str, ...]
    location: str
    format: str


def tables_below(root: str, *, depth: int = 4) -> list[FoundTable]:
    """Find the tables in a directory tree or in a catalog.

    The tables are sorted by name. No file is opened.

    >>> import os, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> root = tempfile.mkdtemp()
    >>> os.makedirs(f"{root}/sales/orders/day=2024-01-01")
    >>> pq.write_table(pa.table({"id": [1]}), f"{root}/sales/orders/day=2024-01-01/0.parquet")
    >>> [(table.name, table.format) for table in tables_below(root)]
    [(('sales', 'orders'), 'parquet')]

    Costs one listing per directory, at most `depth` levels deep. A directory with `_delta_log` is a Delta table; with
    Iceberg metadata files in `metadata`, an Iceberg table; with files named `*.parquet` or directories named
    `column=value`, a plain Parquet table. Everything below a table belongs to it, except for a plain table without
    partitions: only the files directly in its directory belong to it, and the directories below are searched too. Hudi
    tables are skipped.

    `root`: a directory or an address; `iceberg:catalog` or `iceberg:catalog.database` for the tables that a pyiceberg
    catalog lists, which are named in the same form. Raises TableNotFound if the directory does not exist, and
    StorageFailure.
    """
    if (listed := _tables_of_catalog(root)) is not None:
        return listed
    location = address(root).rstrip("/")
    tables: list[FoundTable] = []
    todo: list[tuple[str, ...]] = [()]
    while todo:
        name = todo.pop()
        directory = "/".join((location, *name))
        directories, files = look_into(directory, _WANTED)
        if not name and not directories and not files:
            raise TableNotFound(f"{root}: the directory does not exist or is empty; check the path")
        below = {path.rpartition("/")[2] for path in directories}
        has_files = any(file.path.endswith(".parquet") for file in files)
        table_format = next((each for each in opening.FORMATS if _is_at(each, directory, below, has_files)), None)
        if (table_format is None or table_format.spark_lists_files) and _is_unread(below):
            continue
        if table_format is not None:
            tables.append(FoundTable(name, directory, table_format.name))
        is_alone = table_format is None or (table_format.spark_lists_files and not any("=" in each for each in below))
        if is_alone and len(name) < depth:
            todo += [(*name, each) for each in below]
    return sorted(tables)


def _tables_of_catalog(root: str) -> list[FoundTable] | None:
    """Return the tables of a catalog, which is named after its table format; None for a directory."""
    format_name, colon, name = root.partition(":")
    list_tables = next((each.found_in_catalog for each in opening.FORMATS if each.name == format_name), None)
    if not colon or list_tables is None or os.path.lexists(root):
        return None
    catalog = f"{format_name}:{name.partition('.')[0]}"
    return [FoundTable(table, ".".join((catalog, *table)), format_name) for table in list_tables(name)]


def _is_at(each: Format, directory: str, below: AbstractSet[str], has_files: bool) -> bool:  # noqa: FBT001 - passed on
    return each.is_at(directory) if each.is_in_listing is None else each.is_in_listing(directory, below, has_files)


def _is_unread(below: AbstractSet[str]) -> bool:
    """True for directories of Hudi tables, and of Iceberg tables without metadata files."""
    return ".hoodie" in below or below >= {"metadata", "data"}
