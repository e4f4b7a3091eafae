"""pyiceberg: plan files over all manifests."""

import json
import sys
import time

import pyiceberg.table  # noqa: F401 - left out of the times

from benchmarks.iceberg import SCATTERED, planned_by_pyiceberg

started = time.perf_counter()
kept = planned_by_pyiceberg(sys.argv[1], SCATTERED)
print(json.dumps({"seconds": time.perf_counter() - started, "kept": kept}))
