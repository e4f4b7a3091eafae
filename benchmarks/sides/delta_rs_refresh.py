"""delta-rs: advance an open table by one version."""

import json
import sys
import time

from deltalake import DeltaTable

from benchmarks.delta_logs import grown_copy

with grown_copy(sys.argv[1]) as (table, grow):
    held = DeltaTable(table)
    before = held.version()
    grow()
    started = time.perf_counter()
    held.update_incremental()
    seconds = time.perf_counter() - started
    assert held.version() == before + 1
print(json.dumps({"seconds": seconds, "version": held.version()}))
