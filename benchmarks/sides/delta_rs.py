"""delta-rs: load a table and list its files with statistics."""

import json
import sys
import time

from deltalake import DeltaTable

started = time.perf_counter()
files = DeltaTable(sys.argv[1]).get_add_actions(flatten=True).num_rows
seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "files": files}))
