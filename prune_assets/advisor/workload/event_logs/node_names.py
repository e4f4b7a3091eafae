"""Names of plan nodes, their sections and metrics, by engine.

Photon, RAPIDS, Comet and Gluten add a prefix or suffix to the name of Spark's node, and print the same sections. To
support an engine with other names, add its names here; no other code changes.
"""

from __future__ import annotations

import re

# `PhotonScan parquet`, `GpuScan parquet`, `CometNativeScan parquet`, `FileSourceScanExecTransformer parquet`.
_SCAN = re.compile(r"\w*Scan(?:Exec)?(?:Transformer)?(?!\w)")
# Scans of rows that the driver holds, which belong to no table.
_NO_TABLE = re.compile(r"\w*(?:LocalTableScan|RDDScan)")
# Nodes with plans that may have run in an earlier query.
_HOLDER = re.compile(r"\w*InMemoryTableScan|Scan In-memory|CommandResult")
_FILTER = re.compile(r"\w*Filter(?:Exec)?(?:Transformer)?")
_JOIN = re.compile(r"\w*Join(?:Exec)?(?:Transformer)?(?!\w)")
# Nodes that pass on every row of their child. Columns that they compute get new ids (`#12` in the plan).
_BETWEEN = re.compile(
    r"(?!TakeOrdered)\w*(?:(?:Row|Columnar|Spark)To\w+|InputAdapter|InputIterator|Batches|SecureView|Project)"
    r"(?:Exec)?(?:Transformer)?$|WholeStageCodegen|.*QueryStage"
)
_PROJECT = re.compile(r"\w*Project(?:Exec)?(?:Transformer)?$")

# `Execute MergeIntoCommand`, and `Execute MergeIntoCommandEdge` of Databricks.
_MERGE = re.compile(r"Execute MergeIntoCommand(?:Edge)?")

# Titles of the sections with the conditions of a scan: conditions on each row, and conditions that only skip data.
APPLIED_FILTERS = "RequiredDataFilters"
PLANNED_FILTERS = "DataFilters"

# Metrics of a scan; the first of these names that the scan has is used.
FILES = ("number of files read", "files read", "number of result data files", "number of files")
BYTES = ("size of files read", "total data file size (bytes)")
ROWS_READ = ("rows scanned", "number of raw input rows", "number of output rows", "output rows")
ROWS_RETURNED = ("number of output rows", "output rows")
TIME = ("scan time", "cumulative time", "time of scan and filter", "scan time total (min, med, max)")

# RAPIDS prints functions with a prefix and in lower case.
_GPU_FUNCTION = re.compile(r"(?<![\w.])gpu([a-z_]+)\(")
_SPELLED = {"startswith": "StartsWith", "endswith": "EndsWith", "contains": "Contains"}


def is_scan(name: str) -> bool:
    """Return True for a scan of a table or of another source of rows.

    >>> [is_scan(name) for name in ("PhotonScan parquet ", "FileSourceScanExecTransformer parquet ", "LocalTableScan")]
    [True, True, False]
    """
    return _SCAN.match(name) is not None and _NO_TABLE.match(name) is None and not is_holder(name)


def is_holder(name: str) -> bool:
    """Return True for a node whose children may have run in an earlier query, such as a cached table."""
    return _HOLDER.match(name) is not None


def is_filter(name: str) -> bool:
    """Return True for a filter."""
    return _FILTER.fullmatch(name) is not None


def is_join(name: str) -> bool:
    """Return True for a join."""
    return _JOIN.match(name) is not None


def is_between(name: str) -> bool:
    """Return True for a node that may separate a filter from its scan.

    >>> [is_between(name) for name in ("ColumnarToRow", "RowToVeloxColumnar", "GpuProject", "TakeOrderedAndProject")]
    [True, True, True, False]
    """
    return _BETWEEN.match(name) is not None


def is_merge(name: str) -> bool:
    """Return True for a MERGE into a Delta table, whose scans are queries of their own."""
    return _MERGE.fullmatch(name.strip()) is not None


def is_project(name: str) -> bool:
    """Return True for a projection."""
    return _PROJECT.match(name) is not None


def spark_condition(condition: str) -> str:
    """Convert a condition from the notation of RAPIDS to the notation of Spark.

    >>> spark_condition("(gpuisnotnull(id#1L) AND gpustartswith(name#2, a))")
    '(isnotnull(id#1L) AND StartsWith(name#2, a))'
    """
    return _GPU_FUNCTION.sub(lambda match: f"{_SPELLED.get(match[1], match[1])}(", condition)
