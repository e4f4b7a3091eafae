"""prune-assets: first plan of a process without cached metadata.

The plan ends at row groups, as the peer's does.
"""

import json
import os
import sys
import tempfile
import time

from prune_assets.planner.explain.plan import plan

with tempfile.TemporaryDirectory() as nowhere:
    os.environ["PRUNE_CACHE_DIR"] = nowhere
    started = time.perf_counter()
    made = plan(sys.argv[1], where="l_shipdate = DATE '1994-01-01' AND l_orderkey > 5", depth="row_groups")
    seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "files": len(made.surviving_files)}))
