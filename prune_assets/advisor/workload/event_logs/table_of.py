"""Identify the table that a scan reads, by path and catalog name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import PruneError
from parquet_core.storage import address, is_remote, local_path
from prune_assets.advisor.workload.not_understood import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Mapping

# Comet names its reader in brackets: `CometScan [native_datafusion] parquet`.
_SCAN = re.compile(r"(\w+):? ?(?:\[\w*\] )?(\S*)\s*(.*)", re.DOTALL)
# Comet prints the metadata of an Iceberg table and its name.
_ICEBERG = re.compile(r"\.metadata\.json, ([\w-]+(?:\.[\w-]+)+) ")
# A source without files, such as `JDBCRelation(orders)`.
_SOURCE = re.compile(r"[\w.]+")
_SCHEME = re.compile(r"[A-Za-z][\w+.-]*:/")
_LOCATION = re.compile(r"\w+(?:\([0-9]+ paths\))? ?\[(.*?)(, \.\.\. [0-9]+ entries)?\]", re.DOTALL)
_DATA_FILE = re.compile(r"/[^/]+\.parquet$")
# The file name that writers of directories use.
_PART = re.compile(r"/part-[^/]+$")
# The table's path includes neither partition directories nor the `write-..` directories of this package's Delta writes.
_PARTITIONS = re.compile(r"(?:/write-[0-9a-f]{32})?(?:/[^/=]+=[^/]*)*$")
_NAME = re.compile(r"[\w`.-]+")
# The table and the condition in the arguments of Delta's MERGE; then the comparisons in the condition.
_MERGE = re.compile(r"\bDelta\[version=\d+, ([^\[\]]+)\], (.*?)(?:, \[|$)", re.MULTILINE)
_EQUALITY = re.compile(r"\(([^\s()#]+#\d+L?) (?:=|<=>) ([^\s()#]+#\d+L?)\)")


class ScannedTable(NamedTuple):
    """A table that a scan reads.

    `table`: its path, or its name if the plan has no path.
    `name`: its catalog name; "" if the plan has none.
    """

    table: str
    name: str = ""


def table_of(scan: str, sections: Mapping[str, str]) -> ScannedTable | None:
    """Return the table of a scan.

    None if the scan reads no table, such as a Delta log or rows of the driver.

    >>> table_of("Scan parquet ", {"Location": "InMemoryFileIndex [file:/lake/orders]"})
    ScannedTable(table='/lake/orders', name='')
    >>> table_of("PhotonScan parquet sales.orders", {"Location": "PreparedDeltaFileIndex [dbfs:/lake/orders]"})
    ScannedTable(table='dbfs:/lake/orders', name='sales.orders')
    >>> table_of("BatchScan ice.sales.orders", {})
    ScannedTable(table='ice.sales.orders', name='ice.sales.orders')

    For a scan of several files, or of a file named `part-..`, returns the directory of the table; for another single
    file, that file. Raises NotUnderstood.
    """
    match = _SCAN.match(scan)
    if match is None:
        raise NotUnderstood(f"the scan {scan}")
    node, source_name, name = match[1], match[2], match[3].strip()
    location = sections.get("Location")
    if location is None:
        iceberg = _ICEBERG.search(sections.get("Arguments", ""))
        source_name = source_name.replace("`", "") if iceberg is None else iceberg[1]
        return _without_location(node, source_name, is_relation="ReadSchema" in sections)
    if location.startswith("DeltaLogFileIndex") or "/_delta_log" in location:
        return None
    written = sections.get("Format", source_name)
    if "parquet" not in {source_name, written.lower().removeprefix("gpu").removeprefix("comet")}:
        raise NotUnderstood(f"the format {source_name or written}")
    name = name if _NAME.fullmatch(name) else ""
    # A partitioned catalog table has no paths if every partition is pruned.
    return ScannedTable(name, name) if name and location.endswith("[]") else ScannedTable(_root(location), name)


class MergeCommand(NamedTuple):
    """A MERGE of Delta: the changed table, and the compared columns of both sides, such as `id#4L`."""

    table: str
    keys: frozenset[str]


def merge_of(plan: str) -> MergeCommand | None:
    """Return a MERGE from its printed plan; None if the plan does not show the table.

    >>> found = merge_of("Arguments: SubqueryAlias s, SubqueryAlias t, Delta[version=4, file:/lake/t], (k#1L = k#2L)")
    >>> found.table, sorted(found.keys)
    ('/lake/t', ['k#1L', 'k#2L'])
    """
    match = _MERGE.search(plan)
    try:
        table = None if match is None else _root(f"Delta [{match[1]}]")
    except NotUnderstood:
        return None
    if match is None or table is None:
        return None
    return MergeCommand(table, frozenset(key for pair in _EQUALITY.findall(match[2]) for key in pair))


def _without_location(node: str, source_name: str, *, is_relation: bool) -> ScannedTable | None:
    if node != "Scan" and "." in source_name and _NAME.fullmatch(source_name):
        return ScannedTable(source_name, source_name)
    if source_name == "hive" or (is_relation and source_name):
        source = _SOURCE.match(source_name)
        raise NotUnderstood(f"the format {source_name if source is None else source[0]}")
    # Spark names a scan of an RDD after the RDD.
    if node == "Scan" and source_name != "parquet":
        return None
    raise NotUnderstood(f"the scan {node} {source_name}".strip())


def _root(location: str) -> str:
    match = _LOCATION.fullmatch(location)
    if match is None or "(redacted)" in location or not match[1] or match[1].endswith("..."):
        raise NotUnderstood("the place of the files is not shown")
    first = match[1]
    directory = _DATA_FILE.sub("", first)
    root = _PARTITIONS.sub("", directory)
    # Spark shows only the first of several paths: a file or partition identifies the table, a directory does not.
    if match[2] or ", " in first:
        if root == first:
            raise NotUnderstood("several directories read as one")
    elif root == directory and not _PART.search(first):
        root = first
    try:
        return address(root) if is_remote(root) else local_path(root)
    except PruneError:
        # A path in another file system, such as dbfs:.
        if _SCHEME.match(root):
            return root
        raise NotUnderstood("the place of the files is not shown") from None
