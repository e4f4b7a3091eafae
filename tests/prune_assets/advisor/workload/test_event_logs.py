"""Event logs written by Spark, and logs that are truncated, damaged, or no event logs."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from log_lines import HEAD, LOGS, VERSIONS, end, line, metrics, plan, query, start, text_of

import prune_assets as pr
from parquet_core.errors import TableNotFound, WrongUse
from prune_assets.advisor.workload.event_logs.events import PlanNode
from prune_assets.advisor.workload.event_logs.find_logs import find_logs
from prune_assets.advisor.workload.event_logs.plan_scans import scans_of
from prune_assets.advisor.workload.event_logs.read_logs import LogReader
from prune_assets.advisor.workload.event_logs.table_of import table_of
from prune_assets.advisor.workload.not_understood import NotUnderstood
from prune_assets.advisor.workload.query_shapes import ScanTotals

# Table, predicate, columns, keys of joins, files, rows read and selected: what `make_logs.py` asked for.
_PLAIN = [
    ("orders", "", "at,day,id,item.color,item.size,k,price,user", "", 2, 2000, 2000),
    ("orders", "user = 'New York'", "id,user", "", 2, 2000, 500),
    ("orders", "user = 'a) AND (b'", "id,user", "", 2, 2000, 500),
    ("orders", "id > 100 AND user IN ('abc', 'New York')", "id,user", "", 2, 2000, 949),
    ("orders", "", "id,user", "", 2, 2000, 1000),
    ("orders", "day = DATE '2024-01-05' AND price > 100.50", "day,id,price", "", 2, 2000, 53),
    (
        "orders",
        "at < TIMESTAMP '2024-01-01 23:00:00Z' AND at >= TIMESTAMP '2024-01-01 11:00:00Z'",
        "at,id",
        "",
        2,
        2000,
        720,
    ),
    (
        "orders",
        "k NOT IN (1, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9) AND startswith(user, 'New')",
        "id,k,user",
        "",
        2,
        2000,
        380,
    ),
]
_JOIN = [
    ("orders", "id > 50", "id,k,price", "k", 2, 2000, 1949),
    ("customers", "startswith(name, 'n1')", "k,name", "k", 2, 25, 11),
    ("days", "day = '2024-01-03' AND item.size = 3", "day,id,item.size", "", 1, 67, 9),
    ("days", "day >= '2024-01-20'", "day,id", "", 11, 727, 727),
]
_REST = [
    ("warehouse/sales.db/orders", "id < 100", "id", "", 2, 2000, 100),
    ("orders", "id < 1000", "id,k", "", 2, 2000, 1000),
    ("orders", "price IS NOT NULL", "id,price", "", 2, 2000, 1021),
    ("orders", "k = 3", "k,price", "", 2, 2000, 40),
]
# The last queries run without adaptive execution.
EXPECTED = [*_PLAIN, *_JOIN, *_REST, *_JOIN]
LEFT_OUT = {"ambiguous text": 1, "a function in Python": 1, "a subquery": 1}


def scans(path):
    reader = LogReader()
    found = [scan for log in find_logs([str(path)]) for scan in reader.read(log)]
    return found, reader


def written(tmp_path, *lines, name="app-1"):
    path = tmp_path / name
    path.write_bytes(b"".join(lines))
    return path


@pytest.mark.parametrize("version", VERSIONS)
def test_every_scan_of_a_log_is_read(version):
    found, reader = scans(LOGS / f"spark-{version}.zstd")
    assert [
        (
            scan.table.removeprefix("/tables/"),
            scan.where,
            ",".join(scan.columns),
            ",".join(scan.joined_on),
            scan.totals.files_read,
            scan.totals.rows_read,
            scan.totals.rows_selected,
        )
        for scan in found
    ] == EXPECTED
    assert reader.not_understood == LEFT_OUT
    assert not reader.problems
    assert {scan.application for scan in found} == {"nightly report"}
    assert {scan.name for scan in found} == {"", "spark_catalog.sales.orders"}


@pytest.mark.parametrize("version", VERSIONS)
def test_stages_have_what_their_tasks_have(version):
    """So that no event of a task is decoded."""
    tasks, stages = Counter(), {}
    for text in text_of(version).splitlines():
        event = json.loads(text)
        if event["Event"] == "SparkListenerTaskEnd":
            tasks.update({one["ID"]: int(one["Update"]) for one in event["Task Info"]["Accumulables"] if is_sql(one)})
        elif event["Event"] == "SparkListenerStageCompleted":
            stages |= {one["ID"]: int(one["Value"]) for one in event["Stage Info"]["Accumulables"] if is_sql(one)}
    assert len(tasks) > 50
    assert stages == {number: value for number, value in tasks.items() if number in stages}
    assert {number for number, value in tasks.items() if value > 0} <= {*stages}


def is_sql(accumulable):
    return accumulable.get("Metadata") == "sql"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_log_that_ends_in_the_middle_is_read_to_there(tmp_path, version, share):
    whole = (LOGS / f"spark-{version}.zstd").read_bytes()
    text = text_of(version)
    plain, _ = scans(written(tmp_path, text[: int(len(text) * share)], name="plain.inprogress"))
    assert 0 < len(plain) < len(EXPECTED)
    expected = [one[1] for one in EXPECTED]
    assert [scan.where for scan in plain] == expected[: len(plain)]
    cut = whole[: int(len(whole) * share)]
    found, reader = scans(written(tmp_path, cut, name="cut.zstd"))
    assert [scan.where for scan in found] == expected[: len(found)]
    assert reader.problems == [f"{tmp_path}/cut.zstd: the file is truncated; the events before the end were read"]
    # The log while Spark is still writing it.
    assert not scans(written(tmp_path, cut, name="cut.zstd.inprogress"))[1].problems


def test_a_damaged_file_costs_a_line_and_the_rest_is_read(tmp_path):
    whole = (LOGS / "spark-4.3.zstd").read_bytes()
    written(tmp_path, whole[:100], b"\xff" * 3000, whole[3100:], name="a.zstd")
    written(tmp_path, HEAD, query(), name="b")
    written(tmp_path, b"PAR1", name="c.parquet")
    found = pr.Workload.read(tmp_path)
    assert [shape.shape for shape in found.shapes] == ["k = ?"]
    assert [problem.partition(":")[0] for problem in found.problems] == [f"{tmp_path}/a.zstd", f"{tmp_path}/c.parquet"]
    assert "damaged" in found.problems[0]
    assert found.problems[1].endswith("not a Spark event log; leave it out, or rename a file of SQL to *.sql")


def test_what_is_no_event_log_is_refused(tmp_path):
    with pytest.raises(WrongUse, match="not a Spark event log"):
        pr.Workload.read(written(tmp_path, b"hello"))
    with pytest.raises(TableNotFound, match="no event log in this folder"):
        pr.Workload.read(tmp_path / "absent")


def test_a_damaged_line_costs_no_other(tmp_path):
    lines = [HEAD, query(0), start(1)[:-30] + b"\n", b'{"Event":\n', b"\xff\xfe\n", query(2)]
    found, reader = scans(written(tmp_path, *lines))
    assert len(found) == 2
    assert reader.not_understood == {"a line that is damaged or cut off": 1}


def test_metrics_that_spark_did_not_report_of_a_query_that_ended_are_0(tmp_path):
    found, _ = scans(written(tmp_path, HEAD, start(), metrics(rows=0, selected=0).split(b"\n")[0] + b"\n", end()))
    assert found[0].totals == ScanTotals(2, 1000, 0, 0, None)


def test_a_query_that_failed_before_it_read_is_no_scan(tmp_path):
    lines = [HEAD, start(0), end(0, error="no such file"), start(1), metrics(1), end(1, error="interrupted")]
    found, _ = scans(written(tmp_path, *lines))
    assert [scan.totals.rows_read for scan in found] == [100]


def test_a_plan_without_a_place_of_its_files_is_counted(tmp_path):
    texts = ["== Physical Plan ==\n*(1) Filter (k#1 = 3)\n+- FileScan parquet [id#0L]", "nonsense", " "]
    found, reader = scans(written(tmp_path, HEAD, *(query(index, text) for index, text in enumerate(texts))))
    assert (found, reader.not_understood) == ([], {"the scan Scan parquet": 3})


def test_a_plan_without_text_and_nodes_is_counted(tmp_path):
    texts = ["== Physical Plan ==\n*(1) FileScan parquet [id#0L]", " ", "== Physical Plan ==\nExecute SetCommand"]
    events = [json.loads(start(index, text)) for index, text in enumerate(texts)]
    bare = {"nodeName": "", "simpleString": "", "children": [], "metrics": []}
    lines = [json.dumps({**one, "sparkPlanInfo": bare}, separators=(",", ":")).encode() + b"\n" for one in events]
    found, reader = scans(written(tmp_path, HEAD, *lines, *map(end, range(3))))
    assert found == []
    assert reader.not_understood == {
        "the plan is not in the formatted form (spark.sql.ui.explainMode)": 1,
        "no plan (the query failed before it was planned)": 1,
    }


@pytest.mark.parametrize(
    ("location", "table", "reason"),
    [
        ("InMemoryFileIndex [file:/lake/t]", "/lake/t", None),
        ("InMemoryFileIndex [s3a://bucket/lake/t]", "s3://bucket/lake/t", None),
        ("PreparedDeltaFileIndex [file:/lake/t]", "/lake/t", None),
        ("InMemoryFileIndex [file:/lake/t/day=1/part-0.parquet, ... 3 entries]", "/lake/t", None),
        ("InMemoryFileIndex [file:/lake/t/day=1, ... 3 entries]", "/lake/t", None),
        # A path of its own, whether a file or a directory with such a name, unless a writer of directories uses the
        # name.
        ("InMemoryFileIndex [file:/lake/ships.parquet]", "/lake/ships.parquet", None),
        ("InMemoryFileIndex [file:/lake/t/0.parquet, ... 3 entries]", "/lake/t", None),
        ("InMemoryFileIndex [file:/lake/t/day=1/0.parquet]", "/lake/t", None),
        ("InMemoryFileIndex [file:/lake/t/part-00000-0f.c000.parquet]", "/lake/t", None),
        (f"InMemoryFileIndex [file:/lake/t/write-{'0f' * 16}/day=1/part-0.parquet]", "/lake/t", None),
        ("InMemoryFileIndex [file:/lake/t, ... 3 entries]", None, "several directories read as one"),
        ("InMemoryFileIndex *********(redacted)", None, "the place of the files is not shown"),
        ("DeltaLogFileIndex [file:/lake/t/_delta_log/0.json]", None, None),
    ],
)
def test_the_place_of_the_files_is_the_table(tmp_path, location, table, reason):
    found, reader = scans(written(tmp_path, HEAD, query(text=plan(location=location))))
    assert [scan.table for scan in found] == ([] if table is None else [table])
    assert reader.not_understood == ({} if reason is None else {reason: 1})


def test_other_events_may_be_anything(tmp_path):
    lines = [HEAD, line("SparkListenerTaskEnd", junk=1), b'{"Event":"SparkListenerJobStart", broken\n', query()]
    found, reader = scans(written(tmp_path, *lines))
    assert len(found) == 1
    assert not reader.not_understood


def test_a_filter_on_what_a_projection_leaves_is_a_filter_of_the_scan():
    text = plan().replace("* Filter (2)\n+- Scan", "* Filter (2)\n+- * Project (3)\n   +- Scan")
    (scan,) = scans_of(f"{text}(3) Project\nOutput [1]: [k#1]\nInput [2]: [id#0L, k#1]\n\n", PlanNode("none"))
    assert scan.conditions == ["(k#1 = 3)"]


def query_of_scans(*wheres):
    """A query with a scan of one table for each condition, which all read 1000 bytes and select 10 of 100 rows."""
    tree, sections, nodes, ran = "", "", [], b""
    for number, where in enumerate(wheres):
        text = plan(where).replace("k#1", f"k#{number}1").replace("id#0L", f"id#{number}0L")
        scan, condition = text.split("\n\n\n")[1].split("\n\n")[:2]
        at = 2 * number + 2
        tree += f":- Filter ({at + 1})\n:  +- Scan parquet  ({at})\n"
        sections += f"{scan.replace('(1)', f'({at})', 1)}\n\n{condition.replace('(2)', f'({at + 1})', 1)}\n\n"
        node = json.loads(start(number))["sparkPlanInfo"]
        node["children"][0]["simpleString"] = f"FileScan parquet [id#{number}0L,k#{number}1] Batched: true"
        nodes.append(node)
        ran += metrics(number).replace(f'"executionId":{number}'.encode(), b'"executionId":0')
    event = json.loads(start(0, f"== Physical Plan ==\nUnion (1)\n{tree}\n\n(1) Union\n\n{sections}"))
    event["sparkPlanInfo"] = {"nodeName": "Union", "simpleString": "Union", "children": nodes, "metrics": []}
    return json.dumps(event, separators=(",", ":")).encode() + b"\n" + ran + end(0)


def test_scans_with_one_condition_are_one_run_of_the_query(tmp_path):
    """A read of a Delta table by `pr.read` has a scan for each partition; a self-join with two conditions has two."""
    found, reader = scans(written(tmp_path, HEAD, query_of_scans("(k#1 = 3)", "(k#1 = 4)", "(k#1 = 3)", "(k#1 = 3)")))
    assert reader.not_understood == {}
    assert [(scan.where, scan.runs, scan.totals.bytes_read, scan.totals.rows_selected) for scan in found] == [
        ("k = 3", 1.0, 3000, 30),
        ("k = 4", 1.0, 1000, 10),
    ]
    # Another query with the condition is another run.
    (shape,) = pr.Workload.read(written(tmp_path, HEAD, query(0), query(1))).shapes
    assert (shape.runs, shape.totals.bytes_read) == (2.0, 2000)


def test_the_result_of_a_command_is_no_scan_of_its_own(tmp_path):
    event = json.loads(start(0))
    event["sparkPlanInfo"] = {"nodeName": "CommandResult", "simpleString": "", "children": [], "metrics": []}
    found, reader = scans(written(tmp_path, HEAD, json.dumps(event, separators=(",", ":")).encode() + b"\n", end(0)))
    assert (found, reader.not_understood) == ([], {})


@pytest.mark.parametrize(
    ("scan", "location", "table"),
    [
        (
            "Scan parquet spark_catalog.sales.orders",
            "InMemoryFileIndex [file:/t]",
            ("/t", "spark_catalog.sales.orders"),
        ),
        ("BatchScan parquet file:/t", "InMemoryFileIndex(1 paths)[file:/t]", ("/t", "")),
        ("BatchScan ice.sales.orders", None, ("ice.sales.orders", "ice.sales.orders")),
        ("Scan ExistingRDD Delta Table State", None, None),
    ],
)
def test_tables_by_name_and_by_path(scan, location, table):
    assert table_of(scan, {} if location is None else {"Location": location}) == table


@pytest.mark.parametrize(
    ("scan", "location", "reason"),
    [
        ("Scan csv ", "InMemoryFileIndex [file:/t]", "the format csv"),
        ("BatchScan orc file:/t", "InMemoryFileIndex(1 paths)[file:/t]", "the format orc"),
        ("BatchScan parquet file:/t", "InMemoryFileIndex(1 paths)[file:/very/long/na...]", "the place .* is not shown"),
    ],
)
def test_tables_that_are_not_read(scan, location, reason):
    with pytest.raises(NotUnderstood, match=reason):
        table_of(scan, {"Location": location})
