"""Make the logs in `logs/`, with the Spark that runs this: `python make_logs.py DIRECTORY` in an empty directory.

They are what Spark wrote, but for paths, hosts and settings of the machine, and events that only other tools use.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pyarrow as pa

QUERIES = """
SELECT id FROM orders WHERE user = 'New York'
SELECT id FROM orders WHERE user = 'a) AND (b'
SELECT id FROM orders WHERE user IN ('abc', 'New York') AND id > 100
SELECT id FROM orders WHERE user IN ('abc', 'x, y')
SELECT id FROM orders WHERE day = DATE '2024-01-05' AND price > 100.5
SELECT id FROM orders WHERE at >= TIMESTAMP '2024-01-01 12:00:00' AND at < TIMESTAMP '2024-01-02 00:00:00'
SELECT id FROM orders WHERE k NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) AND user LIKE 'New%'
SELECT c.name, sum(price) FROM orders o JOIN customers c ON o.k = c.k WHERE c.name LIKE 'n1%' AND id > 50 GROUP BY 1
SELECT id FROM days WHERE day = DATE '2024-01-03' AND item.size = 3
SELECT max(id) FROM days WHERE day >= DATE '2024-01-20'
SELECT count(*) FROM sales.orders WHERE id < 100
SELECT id FROM orders WHERE twice(k) = 4 AND id < 1000
SELECT id FROM orders WHERE price > (SELECT avg(price) FROM orders WHERE k = 3)
""".strip().splitlines()
_DROPPED = re.compile(r"TaskStart|Executor|BlockManager|ResourceProfile|JobStart|JobEnd|StageSubmitted|Unpersist")


def run_queries(directory: Path) -> Path:
    from pyspark.sql import SparkSession

    logs = directory / "log"
    logs.mkdir(parents=True)
    builder = SparkSession.builder.master("local[2]").appName("nightly report")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": logs.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.session.timeZone": "Europe/Berlin",
        "spark.sql.shuffle.partitions": "2",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    users = "element_at(array('abc', 'New York', 'a) AND (b', 'x, y'), cast(id % 4 AS int) + 1) AS user"
    orders = spark.range(2000).selectExpr(
        "id",
        "cast(id % 50 AS int) AS k",
        "date_add(DATE '2024-01-01', cast(id % 30 AS int)) AS day",
        "timestamp_micros(1704067200000000 + id * 60000000) AS at",
        "cast(id / 4 AS decimal(12, 2)) AS price",
        users,
        "struct(cast(id % 7 AS int) AS size, id % 5 AS color) AS item",
    )
    orders.repartition(2).write.parquet(str(directory / "orders"))
    orders.drop("at").repartition("day").write.partitionBy("day").parquet(str(directory / "days"))
    spark.range(50).selectExpr("cast(id AS int) AS k", "concat('n', id) AS name").write.parquet(
        str(directory / "customers")
    )
    for name in ("orders", "days", "customers"):
        spark.read.parquet(str(directory / name)).createOrReplaceTempView(name)
    spark.sql("CREATE DATABASE sales")
    spark.read.parquet(str(directory / "orders")).write.saveAsTable("sales.orders")
    spark.udf.register("twice", lambda value: 2 * value, "int")
    for adaptive in ("true", "false"):
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        for sql in QUERIES if adaptive == "true" else QUERIES[7:10]:
            spark.sql(sql).collect()
    spark.stop()
    return next(logs.iterdir())


def relocated(line: str, directory: Path) -> str | None:
    """Return an event without machine-specific data; None if the event is dropped."""
    event = json.loads(line.replace(str(directory), "/tables"))
    kind = event["Event"]
    if _DROPPED.search(kind):
        return None
    if kind == "SparkListenerEnvironmentUpdate":
        spark = {"spark.sql.session.timeZone": "Europe/Berlin"}
        event = {"Event": kind, "Spark Properties": spark, "System Properties": {"user.timezone": "Etc/UTC"}}
    event.pop("details", None)
    event.get("Stage Info", {}).pop("Details", None)
    event.get("Stage Info", {}).pop("RDD Info", None)
    event.pop("Task Executor Metrics", None)
    if "User" in event:
        event["User"] = "somebody"
    text = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
    return re.sub(r'"Host":"[^"]*"', '"Host":"host"', re.sub(r" at [^\"]*?/make_logs\.py:\d+", "", text))


def main() -> None:
    import pyspark

    directory = Path(sys.argv[1]).absolute()
    lines = [relocated(line, directory) for line in run_queries(directory).read_text().splitlines()]
    text = "".join(f"{line}\n" for line in lines if line is not None)
    target = Path(__file__).parent / "logs" / f"spark-{'.'.join(pyspark.__version__.split('.')[:2])}.zstd"
    target.write_bytes(pa.Codec("zstd", compression_level=19).compress(text.encode(), asbytes=True))


if __name__ == "__main__":
    main()
