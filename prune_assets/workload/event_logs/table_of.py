"""Which table a scan reads: the path of its files, and the name in a catalog where it was read by name."""

from __future__ import annotations

import re
from typing import NamedTuple

from parquet_core.errors import PruneError
from parquet_core.storage import address, is_remote, local_path
from prune_assets.workload.not_understood import NotUnderstood

_SCAN = re.compile(r"(?:Scan|BatchScan) ?(\S*)\s*(.*)")
_LOCATION = re.compile(r"\w+(?:\([0-9]+ paths\))? ?\[(.*?)(, \.\.\. [0-9]+ entries)?\]", re.DOTALL)
_DATA_FILE = re.compile(r"/[^/]+\.parquet$")
# So writers of directories call files.
_PART = re.compile(r"/part-[^/]+$")
# What Delta tables of this package have above the partitions of each write is no part of the table's path either.
_PARTITIONS = re.compile(r"(?:/write-[0-9a-f]{32})?(?:/[^/=]+=[^/]*)*$")
_NAME = re.compile(r"[\w`.-]+")


class ScannedTable(NamedTuple):
    """A table by its path, or by its name where the plan has no path; `name`: in a catalog, empty where it has none."""

    table: str
    name: str = ""


def table_of(scan: str, location: str | None) -> ScannedTable | None:
    """Return the table of a scan; None for what is no table, such as a Delta log or rows of the driver.

    >>> table_of("Scan parquet ", "InMemoryFileIndex [file:/lake/orders]")
    ScannedTable(table='/lake/orders', name='')
    >>> table_of("BatchScan ice.sales.orders", None)
    ScannedTable(table='ice.sales.orders', name='ice.sales.orders')

    Of a scan of several files, or of one that is a part, the directory of the table; else of one file that file. Raises
    NotUnderstood.
    """
    found = _SCAN.match(scan)
    if found is None:
        return None
    by_name = scan.startswith("BatchScan")
    kind, name = found[1], found[2].strip()
    if location is None:
        return ScannedTable(kind, kind) if by_name and "." in kind and _NAME.fullmatch(kind) else None
    if location.startswith("DeltaLogFileIndex") or "/_delta_log" in location:
        return None
    if kind != "parquet":
        raise NotUnderstood(f"the format {kind}")
    return ScannedTable(_root(location), name if _NAME.fullmatch(name) else "")


def _root(location: str) -> str:
    found = _LOCATION.fullmatch(location)
    if found is None or "(redacted)" in location or found[1].endswith("..."):
        raise NotUnderstood("the place of the files is not shown")
    first = found[1]
    directory = _DATA_FILE.sub("", first)
    root = _PARTITIONS.sub("", directory)
    # Of several paths Spark shows the first: of files and partitions it tells the table, of directories it does not.
    if found[2] or ", " in first:
        if root == first:
            raise NotUnderstood("several directories read as one")
    elif root == directory and not _PART.search(first):
        root = first
    try:
        return address(root) if is_remote(root) else local_path(root)
    except PruneError:
        raise NotUnderstood("the place of the files is not shown") from None
