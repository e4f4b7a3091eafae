"""Plans of engines that replace Spark's nodes, Photon, RAPIDS, Comet and Gluten, and plans in other forms."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest
from log_lines import HEAD, end, line

import prune_assets as pr
from prune_assets.advisor.workload.event_logs.find_logs import find_logs
from prune_assets.advisor.workload.event_logs.read_logs import LogReader
from prune_assets.advisor.workload.query_shapes import ScanTotals

SQL = "org.apache.spark.sql.execution.ui."
LOCATION = "InMemoryFileIndex [file:/lake/visits]"
SCHEMA = "struct<shop:int,day:date,amount:decimal(8,2)>"
OUTPUT = "[shop#11, day#12, amount#13]"
PUSHED = "[IsNotNull(shop), EqualTo(shop,7), GreaterThan(amount,2.50)]"
WHERE = "amount > 2.50 AND shop = 7"
ROWS, SIZE, SELECTED, FILES = 500, 9_000, 40, 3


@dataclass
class Plan:
    """A filter on a scan, as an engine prints it; `filter`: name, and the line with the condition."""

    scan: str
    sections: list[str]
    filter: tuple[str, str] | None
    metrics: dict[str, int | None] = field(default_factory=dict)
    between: str = "ColumnarToRow"
    filter_metric: str = "number of output rows"

    def text(self):
        lines = [f"{self.between} (3)", f"+- {self.filter[0]} (2)" if self.filter else "", f"   +- {self.scan} (1)"]
        tree = "\n".join(one for one in lines if one)
        sections = "\n".join(self.sections)
        below = f"(2) {self.filter[0]}\nInput [3]: {OUTPUT}\n{self.filter[1]}\n\n" if self.filter else ""
        return (
            f"== Physical Plan ==\n{tree}\n\n\n(1) {self.scan}\nOutput [3]: {OUTPUT}\n{sections}\n\n"
            f"{below}(3) {self.between}\nInput [3]: {OUTPUT}\n\n"
        )

    def nodes(self, simple=None, metadata=None):
        metrics = [
            {"name": name, "accumulatorId": number, "metricType": "nsTiming" if "time" in name else "sum"}
            for number, name in enumerate(self.metrics, 100)
        ]
        scan = {"nodeName": self.scan, "simpleString": simple or f"{self.scan}{OUTPUT}", "children": []}
        scan |= {"metrics": metrics, "metadata": metadata or {}}
        rows = {"name": self.filter_metric, "accumulatorId": 90, "metricType": "sum"}
        found = {"nodeName": "Filter", "simpleString": "", "children": [scan], "metrics": [rows]}
        if self.filter is not None:
            condition = self.filter[1].partition(":")[2]
            found |= {"nodeName": self.filter[0], "simpleString": f"{self.filter[0]} {condition.strip()}"}
        child = scan if self.filter is None else found
        return {"nodeName": self.between, "simpleString": "", "children": [child], "metrics": []}

    def events(self, *, text=None, nodes=None):
        fields = {"executionId": 0, "physicalPlanDescription": self.text() if text is None else text, "time": 5}
        values = [
            {"ID": number, "Name": name, "Value": str(value), "Metadata": "sql"}
            for number, (name, value) in [(90, ("rows", SELECTED)), *enumerate(self.metrics.items(), 100)]
            if value is not None
        ]
        started = line(f"{SQL}SparkListenerSQLExecutionStart", **fields, sparkPlanInfo=nodes or self.nodes())
        ran = line("SparkListenerStageCompleted", **{"Stage Info": {"Stage ID": 0, "Accumulables": values}})
        return started + ran + end(0)


SPARK_METRICS = {"number of files read": FILES, "size of files read": SIZE, "number of output rows": ROWS}
SECTIONS = ["Batched: true", f"Location: {LOCATION}", f"PushedFilters: {PUSHED}", f"ReadSchema: {SCHEMA}"]
CONDITION = "((isnotnull(shop#11) AND (shop#11 = 7)) AND (amount#13 > 2.50))"
OF_GPU = CONDITION.replace("isnotnull", "gpuisnotnull")
APPLIED = "[isnotnull(shop#11), isnotnull(amount#13), (shop#11 = 7), (amount#13 > 2.50)]"
PHOTON_METRICS = {"files read": FILES, "size of files read": SIZE, "rows scanned": ROWS, "cumulative time": 10**9}
ENGINES = {
    "photon": Plan(
        "PhotonScan parquet spark_catalog.shops.visits",
        [
            "DictionaryFilters: [(shop#11 = 7)]",
            f"Location: {LOCATION}",
            "OptionalDataFilters: [hashedrelationcontains(shop#11)]",
            f"ReadSchema: {SCHEMA}",
            f"RequiredDataFilters: {APPLIED}",
        ],
        None,
        {**PHOTON_METRICS, "number of output rows": SELECTED},
        "PhotonResultStage",
    ),
    "photon with a filter of its own": Plan(
        "PhotonScan parquet ",
        [f"Location: {LOCATION}", f"ReadSchema: {SCHEMA}", "RequiredDataFilters: [(amount#13 > 2.50)]"],
        ("PhotonFilter", "Arguments: (shop#11 = 7)"),
        {**PHOTON_METRICS, "number of output rows": 60},
        "PhotonProject",
    ),
    "rapids": Plan(
        "GpuScan parquet ",
        SECTIONS,
        ("GpuFilter", f"Arguments: {OF_GPU}"),
        {"number of files read": FILES, "size of files read": SIZE, "output rows": ROWS, "scan time": 10**9},
        "GpuColumnarToRow",
        "output rows",
    ),
    "rapids with an identifier": Plan(
        "GpuScan parquet shops.visits",
        SECTIONS,
        ("GpuFilter", f"Arguments: {OF_GPU}, [loreId=4]"),
        {"number of files read": FILES, "size of files read": SIZE, "output rows": ROWS},
        "GpuColumnarToRow",
        "output rows",
    ),
    "rapids of the second kind": Plan(
        "GpuBatchScan",
        ["Format: gpuparquet", f"Location: {LOCATION}", f"ReadSchema: {SCHEMA}"],
        ("GpuFilter", f"Arguments: {OF_GPU}, true"),
        {"output rows": ROWS, "number of files read": FILES, "size of files read": SIZE},
        "GpuColumnarToRow",
        "output rows",
    ),
    "comet": Plan(
        "CometNativeScan parquet spark_catalog.shops.visits",
        SECTIONS,
        ("CometFilter", f"Condition : {CONDITION}"),
        SPARK_METRICS,
        "CometColumnarToRow",
    ),
    "comet that names its reader": Plan(
        "CometScan [native_iceberg_compat] parquet spark_catalog.shops.visits",
        SECTIONS,
        ("CometFilter", f"Condition : {CONDITION}"),
        SPARK_METRICS,
        "CometProject",
    ),
    "gluten": Plan(
        "FileSourceScanExecTransformer parquet spark_catalog.shops.visits",
        SECTIONS,
        ("FilterExecTransformer", f"Arguments: {CONDITION}"),
        {**SPARK_METRICS, "number of output rows": 60, "number of raw input rows": ROWS},
        "ProjectExecTransformer",
    ),
    "gluten of the second kind": Plan(
        "BatchScanExecTransformer parquet file:/lake/visits",
        ["Format: parquet", "Location: InMemoryFileIndex(1 paths)[file:/lake/visits]", f"ReadSchema: {SCHEMA}"],
        ("FilterExecTransformer", f"Arguments: {CONDITION}"),
        SPARK_METRICS,
        "VeloxColumnarToRow",
    ),
    # An unknown engine with the same sections.
    "another engine": Plan(
        "WaggleScan parquet ", SECTIONS, ("WaggleFilter", f"Condition : {CONDITION}"), SPARK_METRICS, "WaggleProject"
    ),
}


def read(tmp_path, *events):
    path = tmp_path / "app-1"
    path.write_bytes(HEAD + b"".join(events))
    reader = LogReader()
    return [scan for log in find_logs([str(path)]) for scan in reader.read(log)], reader


@pytest.mark.parametrize("engine", ENGINES)
def test_scans_of_every_engine_are_read(tmp_path, engine):
    plan = ENGINES[engine]
    (scan,), reader = read(tmp_path, plan.events())
    assert (scan.table, scan.where, scan.columns) == ("/lake/visits", WHERE, ("amount", "day", "shop"))
    assert scan.name in {"", "shops.visits", "spark_catalog.shops.visits"}
    assert scan.totals == ScanTotals(FILES, SIZE, ROWS, SELECTED, 1.0 if "time" in "".join(plan.metrics) else None)
    assert (reader.not_understood, reader.problems) == ({}, [])


ICEBERG = [
    ("GpuBatchScan lake.shops.visits", "Arguments: [shop#11], IcebergScan(table=lake.shops.visits)"),
    ("CometBatchScan lake.shops.visits", "Arguments: [shop#11]"),
    ("IcebergScanTransformer lake.shops.visits", "Arguments: [shop#11]"),
    ("CometIcebergNativeScan", f"Arguments: {OUTPUT}, file:/wh/v/metadata/v1.metadata.json, lake.shops.visits [x=], 2"),
    ("CometNativeScan: `lake`.`shops`.`visits`", f"Arguments: {OUTPUT}"),
]


@pytest.mark.parametrize(("scan", "arguments"), ICEBERG)
def test_tables_that_are_read_by_name_have_no_location(tmp_path, scan, arguments):
    plan = Plan(scan, [arguments], ("Filter", f"Condition : {CONDITION}"), {"number of output rows": ROWS})
    (found,), reader = read(tmp_path, plan.events())
    assert (found.table, found.name) == ("lake.shops.visits", "lake.shops.visits")
    assert found.where == "amount > '2.50' AND shop = '7'"
    assert not reader.not_understood


def test_a_partitioned_table_without_partitions_left_has_its_name(tmp_path):
    sections = [one.replace("[file:/lake/visits]", "[]") for one in SECTIONS]
    plan = Plan("CometScan parquet spark_catalog.shops.visits", sections, None, SPARK_METRICS)
    (found,), _ = read(tmp_path, plan.events())
    assert found.table == "spark_catalog.shops.visits"


@pytest.mark.parametrize(
    ("scan", "sections", "reason"),
    [
        ("CometNativeScan: ", [f"Arguments: {OUTPUT}"], "the scan CometNativeScan"),
        ("WaggleScan ", [], "the scan WaggleScan"),
        ("BatchScan", [], "the scan BatchScan"),
        ("Scan JDBCRelation(visits) [numPartitions=1] ", [f"ReadSchema: {SCHEMA}"], "the format JDBCRelation"),
        ("Scan hive shops.visits", ["Arguments: [shop#11], HiveTableRelation [`shops`.`visits`]"], "the format hive"),
        ("NativeScan hive shops.visits", [], "the format hive"),
        ("GpuScan orc ", [f"Location: {LOCATION}", f"ReadSchema: {SCHEMA}"], "the format orc"),
    ],
)
def test_a_scan_that_is_not_understood_is_counted_by_its_node(tmp_path, scan, sections, reason):
    found, reader = read(tmp_path, Plan(scan, sections, None, {"rows of waggles": ROWS}).events())
    assert (found, reader.not_understood) == ([], {reason: 1})


@pytest.mark.parametrize(
    "scan", ["LocalTableScan", "CometLocalTableScan", "Scan ExistingRDD", "Scan numbers", "InMemoryTableScan", "Scan"]
)
def test_rows_of_the_driver_are_no_table(tmp_path, scan):
    found, reader = read(tmp_path, Plan(scan, ["Arguments: [shop#11]"], None, {"number of output rows": 3}).events())
    assert (found, reader.not_understood) == ([], {})


def test_a_scan_that_the_text_does_not_draw_is_read_from_the_nodes(tmp_path):
    plan = ENGINES["comet"]
    simple = f"CometNativeScan parquet {OUTPUT.replace(', ', ',')} Batched: true, Format: CometParquet"
    metadata = {"Location": LOCATION, "ReadSchema": SCHEMA, "DataFilters": APPLIED, "Format": "Parquet"}
    text = "== Physical Plan ==\nCollectLimit (1)\n\n\n(1) CollectLimit\nInput [1]: [shop#11]\n\n"
    (scan,), reader = read(tmp_path, plan.events(text=text, nodes=plan.nodes(simple, metadata)))
    assert (scan.table, scan.where, scan.totals.rows_selected) == ("/lake/visits", WHERE, SELECTED)
    assert not reader.not_understood


FORMS = {
    "simple": "== Physical Plan ==\n*(1) Filter (shop#11 = 7)\n+- *(1) ColumnarToRow\n   +- FileScan parquet [shop#11]",
    "extended": "== Parsed Logical Plan ==\n'Project\n\n== Physical Plan ==\n*Filter (shop#11 = 7)\n+- *FileScan",
    "codegen": "Found 1 WholeStageCodegen subtrees.\n== Subtree 1 / 1 ==\n*(1) Filter (shop#11 = 7)\n+- FileScan",
    "none": "",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_plan_in_another_form_is_read_from_its_nodes(tmp_path, form):
    """As EMR writes it, and Spark before 3."""
    plan = Plan("Scan parquet ", [], ("Filter", f"Condition : {CONDITION}"), SPARK_METRICS)
    printed = f"FileScan parquet {OUTPUT.replace(', ', ',')} Batched: true, DataFilters: [isnotnull(shop#11), (sh..., "
    simple = f"{printed}Format: Parquet, Location: InMemoryFileIndex[file:/lake/visits], PushedFilters: [IsN..."
    metadata = {"ReadSchema": SCHEMA, "PushedFilters": PUSHED, "PartitionFilters": "[]", "Batched": "true"}
    (scan,), reader = read(tmp_path, plan.events(text=FORMS[form], nodes=plan.nodes(simple, metadata)))
    assert (scan.table, scan.where, scan.columns) == ("/lake/visits", WHERE, ("amount", "day", "shop"))
    assert scan.totals == ScanTotals(FILES, SIZE, ROWS, SELECTED)
    assert not reader.not_understood


def test_joins_of_plans_in_another_form_have_their_keys(tmp_path):
    nodes = json.loads(json.dumps(ENGINES["rapids"].nodes(None, {"Location": LOCATION, "ReadSchema": SCHEMA})))
    join = {"nodeName": "GpuBroadcastHashJoin", "children": [nodes], "metrics": []}
    for simple in ("[shop#11], [id#40], Inner, GpuBuildRight", f"{OUTPUT}, [shop#11], [id#40], Inner, BuildRight"):
        join["simpleString"] = f"GpuBroadcastHashJoin {simple}"
        (scan,), _ = read(tmp_path, ENGINES["rapids"].events(text="== Physical Plan ==\nScan", nodes=join))
        assert scan.joined_on == ("shop",)


def test_no_query_read_a_table_is_said_of_logs_without_one(tmp_path, capsys):
    from rich.console import Console

    from prune_assets.advisor.workload.console import print_workload

    def printed(*events, **options):
        path = tmp_path / "log"
        path.write_bytes(HEAD + b"".join(events))
        print_workload(pr.Workload.read(path, **options), Console(width=100))
        return capsys.readouterr().out

    unknown = Plan("WaggleScan ", [], None, {"rows of waggles": ROWS}).events()
    assert printed() == "no query read a table\n"
    shown = printed(unknown)
    assert shown.startswith("no query that is understood read a table\n")
    assert "1  the scan WaggleScan" in shown
    # Nor is what another time left out counted in this one.
    assert printed(unknown, since="2020-01-01") == "no query read a table\n"
