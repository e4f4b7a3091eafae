"""Scans whose filter follows a projection, as in `pr.read`."""

from __future__ import annotations

import json

from prune_assets.advisor.workload.event_logs.application import Application
from prune_assets.advisor.workload.event_logs.events import decode

WRITE = "write-0123456789abcdef0123456789abcdef"
FILE = "file_path#8, file_name#9, file_size#10L, file_block_start#11L, file_block_length#12L, file_modification_time#13"
OUTPUT = f"[shop#1L, amount#2, _tmp_metadata_row_index#14L, {FILE}]"
CONDITION = "(isnotnull(shop#1L) AND (shop#1L = 7))"
SQL = "org.apache.spark.sql.execution.ui."


def plan_text(condition):
    return f"""== Physical Plan ==
* Project (4)
+- * Filter (3)
   +- * Project (2)
      +- Scan parquet  (1)


(1) Scan parquet 
Output [9]: {OUTPUT}
Batched: true
Location: InMemoryFileIndex [file:/lake/visits/{WRITE}/part-0.parquet, ... 15 entries]
PushedFilters: [IsNotNull(shop), EqualTo(shop,7)]
ReadSchema: struct<shop:bigint,amount:decimal(8,2),_tmp_metadata_row_index:bigint>

(2) Project [codegen id : 1]
Output [3]: [shop#1L, amount#2, named_struct(file_path, file_path#8) AS _metadata#3]
Input [9]: {OUTPUT}

(3) Filter [codegen id : 1]
Input [3]: [shop#1L, amount#2, _metadata#3]
Condition : {condition}

(4) Project [codegen id : 1]
Output [1]: [amount#2]
Input [3]: [shop#1L, amount#2, _metadata#3]
"""  # noqa: W291 - as Spark writes it


def node(name, simple, metrics, *children):
    made = [{"name": title, "accumulatorId": number, "metricType": "sum"} for title, number in metrics.items()]
    return {"nodeName": name, "simpleString": simple, "children": list(children), "metrics": made}


def plan_info():
    scan = node(
        "Scan parquet ",
        f"FileScan parquet {OUTPUT}",
        {"number of output rows": 101, "size of files read": 102, "scan time": 103},
    )
    inner = node("Project", "Project", {}, scan)
    return node("Project", "Project", {}, node("Filter", f"Filter {CONDITION}", {"number of output rows": 100}, inner))


def scans_of_log(condition=CONDITION):
    plan = {"physicalPlanDescription": plan_text(condition), "sparkPlanInfo": plan_info()}
    events = [
        {"Event": f"{SQL}SparkListenerSQLExecutionStart", "executionId": 1, "time": 5, **plan},
        {"Event": f"{SQL}SparkListenerDriverAccumUpdates", "executionId": 1, "accumUpdates": [[102, 99_000]]},
        stage_completed({101: 1000, 100: 10}),
        {"Event": f"{SQL}SparkListenerSQLExecutionEnd", "executionId": 1, "time": 9},
    ]
    application = Application()
    lines = [json.dumps(event, separators=(",", ":")).encode() for event in events]
    return [scan for line in lines for scan in application.take(decode(line))], application.not_understood


def stage_completed(values):
    metrics = [{"ID": number, "Name": "", "Value": str(it), "Metadata": "sql"} for number, it in values.items()]
    return {"Event": "SparkListenerStageCompleted", "Stage Info": {"Stage ID": 1, "Accumulables": metrics}}


def test_the_filter_is_that_of_the_scan_and_columns_of_files_are_none_of_the_table():
    (scan,), left_out = scans_of_log()
    assert (scan.table, scan.where, scan.columns) == ("/lake/visits", "shop = 7", ("amount", "shop"))
    assert (scan.totals.rows_read, scan.totals.rows_selected) == (1000, 10)
    assert not left_out


def test_what_a_projection_computes_is_left_out():
    (scan,), left_out = scans_of_log("((shop#1L = 7) AND (_metadata#3.row_index > 5))")
    assert scan.where == "shop = 7"
    assert left_out.total() == 1
