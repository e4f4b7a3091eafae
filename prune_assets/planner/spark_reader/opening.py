"""How Spark opens the survivors of a plan: file by file, by file name, or as the whole table.

Each path costs Spark a call, and more than 32 paths cost a job with one task per path. A directory is listed in one
go, and `pathGlobFilter` excludes files by name before they are opened, but it matches every name against every file.
If nearly all files survive, opening the whole table is cheapest. The constants were measured with Spark 4.3 and
`local[2]`; `benchmarks` measures the resulting times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.pruning.access_plan import Verdict
from parquet_core.storage import is_remote
from prune_assets.tables.table import Opening

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.pruning.access_plan import AccessPlan
    from prune_assets.planner.planned_read import TableLocator

# spark.sql.sources.parallelPartitionDiscovery.threshold: Spark lists more paths than this in a job.
MAX_PATHS = 32
# In an object store each path is one request; a listing is one request per thousand files.
MAX_REMOTE_PATHS = 4
# Time that Spark needs to open a file without rows to read, and to match one name against one file.
SECONDS_PER_FILE = 1e-3
SECONDS_PER_NAME = 1.5e-7


@dataclass(frozen=True, slots=True)
class SparkScan:
    """Paths passed to Spark, and flags of the files it reads: all survivors, and files that share a survivor's name."""

    opening: Opening
    files: NDArray[np.bool_]


def spark_scan(index: MetadataIndex, access: AccessPlan, *, locator: TableLocator) -> SparkScan:
    """Choose the cheapest way to open the surviving files.

    `locator`: how the caller named the table.
    """
    survivors = np.zeros(len(index.groups.files), np.bool_)
    survivors[index.groups.file[access.verdict != Verdict.SKIP]] = True
    count = int(np.count_nonzero(survivors))
    if count == 0:
        return SparkScan(Opening.NOTHING, survivors)
    if locator == "unfinished":
        return SparkScan(Opening.PATHS, survivors)
    if count == len(survivors) or (index.groups.partitions and locator != "directory"):
        # Each directory of a list has its own partition columns: only Spark resolves them.
        return SparkScan(Opening.TABLE, np.ones(len(survivors), np.bool_))
    few = MAX_REMOTE_PATHS if is_remote(index.groups.files[0].path) else MAX_PATHS
    if locator == "list" or count <= few:
        return SparkScan(Opening.PATHS, survivors)
    by_name = _flag_survivor_names(index, survivors)
    left_out = len(survivors) - int(np.count_nonzero(by_name))
    if count * len(survivors) * SECONDS_PER_NAME < left_out * SECONDS_PER_FILE:
        return SparkScan(Opening.NAMES, by_name)
    return SparkScan(Opening.TABLE, np.ones(len(survivors), np.bool_))


def _flag_survivor_names(index: MetadataIndex, survivors: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return flags of the files whose name is also the name of a survivor, perhaps in another partition."""
    names = [file.path.rpartition("/")[2] for file in index.groups.files]
    wanted = {name for name, survives in zip(names, survivors.tolist(), strict=True) if survives}
    return np.array([name in wanted for name in names], np.bool_)
