"""DataFusion: first query of a new session, with the same filter on the same two columns."""

import json
import sys
import time

import datafusion

started = time.perf_counter()
session = datafusion.SessionContext()
session.register_parquet("lineitem", sys.argv[1])
query = "SELECT count(*) FROM lineitem WHERE l_shipdate = DATE '1994-01-01' AND l_orderkey > 5"
rows = session.sql(query).collect()[0].column(0)[0].as_py()
print(json.dumps({"seconds": time.perf_counter() - started, "rows": rows}))
