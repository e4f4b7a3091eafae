"""prune-assets: plan the same files a second time in one process; imports are excluded."""

import json
import sys
import time

import pyiceberg.manifest
import pyiceberg.table.metadata  # noqa: F401 - what is imported when it is needed

import prune_assets.tables.iceberg.skipping
import prune_assets.tables.iceberg.table  # noqa: F401 - the same
from benchmarks.iceberg import SCATTERED, planned_here
from prune_assets.spark.lower_predicate import lower_predicate  # noqa: F401 - the same
from prune_assets.tables.opening import open_table  # noqa: F401 - the same

planned_here(sys.argv[1], SCATTERED)
started = time.perf_counter()
kept = planned_here(sys.argv[1], SCATTERED)
print(json.dumps({"seconds": time.perf_counter() - started, "kept": kept}))
