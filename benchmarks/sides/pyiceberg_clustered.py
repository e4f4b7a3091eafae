"""pyiceberg: plan a partition that few manifests contain."""

import json
import sys
import time

import pyiceberg.table  # noqa: F401 - left out of the times

from benchmarks.iceberg import CLUSTERED, planned_by_pyiceberg

started = time.perf_counter()
kept = planned_by_pyiceberg(sys.argv[1], CLUSTERED)
print(json.dumps({"seconds": time.perf_counter() - started, "kept": kept}))
