"""Spark: list a directory and infer its schema, in a session that has done this for another table before.

The counted memory is the Python process alone, without the JVM.
"""

import json
import sys
import tempfile
import time

from prune_assets.spark.spark_session import spark_session

spark = spark_session(master="local[2]", conf={"spark.driver.memory": "4g", "spark.log.level": "ERROR"})
with tempfile.TemporaryDirectory() as place:
    spark.range(1).write.parquet(f"{place}/warm")
    _ = spark.read.parquet(f"{place}/warm").schema
started = time.perf_counter()
columns = len(spark.read.parquet(sys.argv[1]).schema)
print(json.dumps({"seconds": time.perf_counter() - started, "columns": columns}))
