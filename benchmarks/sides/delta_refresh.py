"""prune-assets: advance an open snapshot by one version that adds ten files and removes five."""

import json
import sys
import time

from benchmarks.delta_logs import grown_copy
from deltalog.log.listing import list_log
from deltalog.snapshot.opening import open_snapshot
from deltalog.snapshot.refresh import advance_to

with grown_copy(sys.argv[1]) as (table, grow):
    snapshot = open_snapshot(table)
    grow()
    started = time.perf_counter()
    later = advance_to(snapshot, list_log(table), snapshot.version + 1, started=started)
    seconds = time.perf_counter() - started
    assert later.version == snapshot.version + 1
print(json.dumps({"seconds": seconds, "files": later.file_count}))
