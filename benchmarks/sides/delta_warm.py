"""prune-assets: open a snapshot from the disk cache in a new process, and prune by the statistics of three columns."""

import json
import sys
import time

from benchmarks.delta_predicates import STATISTICS_ALONE
from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files
from prune_assets.cache_directory import metadata_cache

cache = metadata_cache()
started = time.perf_counter()
snapshot = open_snapshot(sys.argv[1], cache=cache)
kept = skip_files(snapshot, STATISTICS_ALONE).kept
seconds = time.perf_counter() - started
snapshot.save()
print(json.dumps({"seconds": seconds, "files": snapshot.file_count, "kept": int(kept.sum())}))
