"""Events of logs, as lines that Spark writes."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

LOGS = Path(__file__).parent / "logs"
VERSIONS = ("3.5", "4.3")
_SQL = "org.apache.spark.sql.execution.ui."


def text_of(version):
    """The lines of a log that a Spark wrote."""
    with pa.CompressedInputStream(pa.OSFile(str(LOGS / f"spark-{version}.zstd")), "zstd") as stream:
        return stream.read()


def line(event, **fields):
    return json.dumps({"Event": event, **fields}, separators=(",", ":")).encode() + b"\n"


def plan(where="(k#1 = 3)", location="InMemoryFileIndex [file:/lake/t]", schema="struct<id:bigint,k:int>"):
    return (
        "== Physical Plan ==\n* Filter (2)\n+- Scan parquet  (1)\n\n\n"
        f"(1) Scan parquet \nOutput [2]: [id#0L, k#1]\nBatched: true\nLocation: {location}\nReadSchema: {schema}\n\n"
        f"(2) Filter [codegen id : 1]\nInput [2]: [id#0L, k#1]\nCondition : {where}\n\n"
    )


def start(number=0, text=None, at=1_700_000_000_000, tags=()):
    metrics = [
        ("number of files read", 10),
        ("size of files read", 11),
        ("number of output rows", 12),
        ("scan time", 13),
    ]
    scan = {
        "nodeName": "Scan parquet ",
        "simpleString": "FileScan parquet [id#0L,k#1] Batched: true",
        "children": [],
        "metadata": {},
        "metrics": [{"name": name, "accumulatorId": one + 100 * number, "metricType": "sum"} for name, one in metrics],
    }
    rows = {"name": "number of output rows", "accumulatorId": 14 + 100 * number, "metricType": "sum"}
    tree = {"nodeName": "Filter", "simpleString": "Filter", "children": [scan], "metadata": {}, "metrics": [rows]}
    fields = {"executionId": number, "physicalPlanDescription": text or plan(), "sparkPlanInfo": tree, "time": at}
    fields |= {"jobTags": list(tags)} if tags else {}
    return line(f"{_SQL}SparkListenerSQLExecutionStart", **fields)


def metrics(number=0, *, files=2, size=1000, rows=100, selected=10, milliseconds=50):
    driver = [[10 + 100 * number, files], [11 + 100 * number, size]]
    tasks = zip((12, 13, 14), (rows, milliseconds, selected), strict=True)
    values = [{"ID": one + 100 * number, "Name": "x", "Value": str(value), "Metadata": "sql"} for one, value in tasks]
    updates = line(f"{_SQL}SparkListenerDriverAccumUpdates", executionId=number, accumUpdates=driver)
    return updates + line("SparkListenerStageCompleted", **{"Stage Info": {"Stage ID": 0, "Accumulables": values}})


def end(number=0, error=""):
    return line(f"{_SQL}SparkListenerSQLExecutionEnd", executionId=number, time=1, errorMessage=error)


def query(number=0, text=None, at=1_700_000_000_000, tags=()):
    return start(number, text, at, tags) + metrics(number) + end(number)


def head(name="nightly", user="etl", identifier="app-1"):
    started = {"App Name": name, "App ID": identifier, "User": user}
    return line("SparkListenerLogStart", **{"Spark Version": "4.3.0"}) + line(
        "SparkListenerApplicationStart", **started
    )


HEAD = head()
