"""prune-assets: read the footers of all files and the page indexes of two columns into Arrow arrays."""

import json
import sys
import time

import numpy as np

from parquet_core.dataset.opening import read_dataset

started = time.perf_counter()
index = read_dataset(sys.argv[1])
columns = [column for column in index.groups.columns if column.name in {"l_shipdate", "l_orderkey"}]
positions = np.arange(len(index))
index.page_indexes.fetch(columns, positions)
pages = sum(len(index.page_indexes.read(column, positions).bounds) for column in columns)
print(json.dumps({"seconds": time.perf_counter() - started, "pages": pages}))
