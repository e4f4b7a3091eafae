"""Read Delta tables with delta-spark, in an environment with a matching pyspark; argv[1] is the folder of its jars.

Reads a JSON list of questions, {table, where, version}, from standard input and writes the answers, {rows, files} or
{error}, as JSON to the file argv[2].
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from plain_rows import plain_rows
from pyspark.sql import SparkSession


def session(jars):
    wanted = ("delta-", "unitycatalog-", "jts-")
    named = ",".join(str(jar) for jar in Path(jars).glob("*.jar") if jar.name.startswith(wanted))
    conf = {
        "spark.jars": named,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    }
    builder = SparkSession.builder.master("local[1]").appName("peers")
    for name, value in conf.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def answer(spark, question):
    try:
        version = question.get("version")
        reader = spark.read if version is None else spark.read.option("versionAsOf", version)
        rows = reader.format("delta").load(question["table"])
        files = sorted(rows.inputFiles())
        if question.get("where"):
            rows = rows.where(question["where"])
        return {"rows": plain_rows([row.asDict(recursive=True) for row in rows.collect()]), "files": files}
    except Exception as error:  # noqa: BLE001 - whatever it says against the table is the answer
        return {"error": " ".join(str(error).split())[:200]}


if __name__ == "__main__":
    opened = session(sys.argv[1])
    opened.sparkContext.setLogLevel("OFF")
    Path(sys.argv[2]).write_text(json.dumps([answer(opened, question) for question in json.load(sys.stdin)]))
