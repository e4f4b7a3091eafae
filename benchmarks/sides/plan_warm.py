"""prune-assets: repeat a plan in one process; metadata is cached, and every file is checked for changes."""

import json
import statistics
import sys
import time

from prune_assets.planner.explain.plan import plan

WHERE = "l_shipdate = DATE '1994-01-01' AND l_orderkey > 5"


def once() -> float:
    """Return the seconds of one plan."""
    started = time.perf_counter()
    plan(sys.argv[1], where=WHERE)
    return time.perf_counter() - started


once()
print(json.dumps({"seconds": statistics.median(once() for _ in range(5))}))
