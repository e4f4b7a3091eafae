"""prune-assets: read the footer of a wide file and the bounds of two of its columns."""

import json
import sys
import time

from parquet_core.dataset.opening import read_dataset

started = time.perf_counter()
index = read_dataset(sys.argv[1])
columns = [column for column in index.groups.columns if column.name in {"column_7", "column_1900"}]
known = sum(len(index.footers.bounds(column)) - index.footers.bounds(column).lower.null_count for column in columns)
assert known == 100
print(json.dumps({"seconds": time.perf_counter() - started, "bounds": known}))
