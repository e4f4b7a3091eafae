"""How Spark is made to open what a plan kept: the files one by one, by their names, or the table as it is.

A path costs Spark a call, and more than 32 of them a job with a task for each. A directory is listed in one go, and
`pathGlobFilter` leaves files out of it by name before they are opened, but tries every name on every file. Where
nearly all files survive, the table itself is the cheapest. The constants are those of Spark 4.3 with `local[2]`:
`benchmarks` measures what comes of them.
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
    from prune_assets.planner.planned_read import NamedBy

# spark.sql.sources.parallelPartitionDiscovery.threshold: more paths are listed by a job.
MAX_PATHS = 32
# In an object store each path is a request, and a listing one per thousand files.
MAX_REMOTE_PATHS = 4
# What Spark takes to open a file and find nothing to read in it, and to try one name on one file.
SECONDS_PER_FILE = 1e-3
SECONDS_PER_NAME = 1.5e-7


@dataclass(frozen=True, slots=True)
class SparkScan:
    """What is named to Spark, and by file whether it is read then: all survivors, and maybe others of their names."""

    opening: Opening
    files: NDArray[np.bool_]


def spark_scan(index: MetadataIndex, access: AccessPlan, *, named: NamedBy) -> SparkScan:
    """Choose the cheapest way to open the surviving files of a table that was `named` so."""
    survivors = np.zeros(len(index.groups.files), np.bool_)
    survivors[index.groups.file[access.verdict != Verdict.SKIP]] = True
    count = int(np.count_nonzero(survivors))
    if count == 0:
        return SparkScan(Opening.NOTHING, survivors)
    if named == "unfinished":
        return SparkScan(Opening.PATHS, survivors)
    if count == len(survivors) or (index.groups.partitions and named != "directory"):
        # Of several directories each has partition columns of its own: only Spark sorts them out.
        return SparkScan(Opening.TABLE, np.ones(len(survivors), np.bool_))
    few = MAX_REMOTE_PATHS if is_remote(index.groups.files[0].path) else MAX_PATHS
    if named == "list" or count <= few:
        return SparkScan(Opening.PATHS, survivors)
    by_name = _of_the_same_names(index, survivors)
    left_out = len(survivors) - int(np.count_nonzero(by_name))
    if count * len(survivors) * SECONDS_PER_NAME < left_out * SECONDS_PER_FILE:
        return SparkScan(Opening.NAMES, by_name)
    return SparkScan(Opening.TABLE, np.ones(len(survivors), np.bool_))


def _of_the_same_names(index: MetadataIndex, survivors: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which files have the name of a survivor: partitions may each hold a file of one name."""
    names = [file.path.rpartition("/")[2] for file in index.groups.files]
    wanted = {name for name, kept in zip(names, survivors.tolist(), strict=True) if kept}
    return np.array([name in wanted for name in names], np.bool_)
