"""prune-assets: plan a partition that few manifests contain; imports are excluded."""

import json
import sys
import time

import pyiceberg.manifest
import pyiceberg.table.metadata  # noqa: F401 - what is imported when it is needed

import prune_assets.tables.iceberg.skipping
import prune_assets.tables.iceberg.table  # noqa: F401 - the same
from benchmarks.iceberg import CLUSTERED, planned_here
from prune_assets.spark.lower_predicate import lower_predicate  # noqa: F401 - the same
from prune_assets.tables.opening import open_table  # noqa: F401 - the same

started = time.perf_counter()
kept = planned_here(sys.argv[1], CLUSTERED)
print(json.dumps({"seconds": time.perf_counter() - started, "kept": kept}))
