"""prune-assets: footers and page indexes of two columns from the disk cache, with a check of every file for changes."""

import json
import sys
import time

import numpy as np

from parquet_core.dataset.opening import read_dataset
from prune_assets.cache_directory import metadata_cache

cache = metadata_cache()
started = time.perf_counter()
index = read_dataset(sys.argv[1], cache=cache)
columns = [column for column in index.groups.columns if column.name in {"l_shipdate", "l_orderkey"}]
positions = np.arange(len(index))
for column in columns:
    index.footers.bounds(column)
index.page_indexes.fetch(columns, positions)
pages = sum(len(index.page_indexes.read(column, positions).bounds) for column in columns)
seconds = time.perf_counter() - started
index.save()
print(json.dumps({"seconds": seconds, "pages": pages, "requests": index.groups.traffic.requests}))
