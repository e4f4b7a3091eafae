"""The peer: pyiceberg plans the files of a predicate, in a new process and once more."""

import json
import sys
import time

from pyiceberg.table import StaticTable

from benchmarks.iceberg import SCATTERED

started = time.perf_counter()
table = StaticTable.from_metadata(sys.argv[1])
kept = len(list(table.scan(row_filter=SCATTERED.replace("BETWEEN 5000000 AND", ">= 5000000 AND id <=")).plan_files()))
print(json.dumps({"seconds": time.perf_counter() - started, "kept": kept}))
