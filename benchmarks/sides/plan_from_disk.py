"""prune-assets: first plan of a process down to pages, from the metadata that an earlier run cached on disk."""

import json
import sys
import time

from prune_assets.planner.explain.plan import plan

started = time.perf_counter()
made = plan(sys.argv[1], where="l_shipdate = DATE '1994-01-01' AND l_orderkey > 5")
seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "files": len(made.surviving_files)}))
