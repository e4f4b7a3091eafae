"""pyiceberg: plan the same files a second time in one process."""

import json
import sys
import time

import pyiceberg.table  # noqa: F401 - left out of the times

from benchmarks.iceberg import SCATTERED, planned_by_pyiceberg

planned_by_pyiceberg(sys.argv[1], SCATTERED)
started = time.perf_counter()
kept = planned_by_pyiceberg(sys.argv[1], SCATTERED)
print(json.dumps({"seconds": time.perf_counter() - started, "kept": kept}))
