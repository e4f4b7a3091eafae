"""prune-assets: open a snapshot and prune by the statistics of three columns, without any cache."""

import json
import sys
import time

from benchmarks.delta_predicates import STATISTICS_ALONE
from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files

started = time.perf_counter()
snapshot = open_snapshot(sys.argv[1])
kept = skip_files(snapshot, STATISTICS_ALONE).kept
seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "files": snapshot.file_count, "kept": int(kept.sum())}))
