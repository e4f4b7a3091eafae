"""prune-assets: plan 1,000,000 pages of 1,000 files from metadata in memory; fastest of seven runs, in seconds."""

import json
import time

from benchmarks.synthetic_index import synthetic_index
from parquet_core.pruning import prune
from prune_assets.sql.lower import lower
from prune_assets.sql.semantics import SparkSemantics

WHERE = "b > 3000000 OR c < 3000000 OR a = 77"
CASES = {
    "three leaves, shared borders": (1_000, (1_000, 1_000, 1_000), 20_000),
    "three columns of different borders, 1,000,000 pages in all": (1_000, (250, 333, 417), 34_715_250),
    "three columns of different borders, 1,000,000 pages each": (1_000, (900, 1_000, 1_100), 99_000),
    "100,000 files of 10 pages": (100_000, (10, 10, 10), 100),
}

found = {}
for name, (files, pages, rows) in CASES.items():
    index = synthetic_index(files, pages, rows=rows)
    times = []
    for _ in range(7):
        started = time.perf_counter()
        prune(lower(WHERE, index.groups.columns, semantics=SparkSemantics()).predicate, index)
        times.append(time.perf_counter() - started)
    found[name] = min(times)
print(json.dumps(found))
