"""The operators, run as a worker runs them."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("airflow.sdk", reason="no Airflow; `make e2e` installs it, or: pip install 'prune-assets[airflow]'")

from airflow.sdk import Asset, Connection
from airflow.sdk.exceptions import AirflowException, AirflowFailException

import prune_assets as pr
from parquet_core.errors import StorageFailure, UnfinishedWrite, WrongUse
from prune_assets.airflow import (
    AdviseLayoutOperator,
    CheckLayoutOperator,
    MergeTableOperator,
    OptimizeTableOperator,
    ReadWorkloadOperator,
    SkipReportOperator,
    TableChangeSensor,
    WriteTableOperator,
)
from prune_assets.airflow.spark import options_of
from prune_assets.airflow.task_errors import TableNotReached, TableTaskError, failing_in_one_line
from prune_assets.merging import run_merge
from prune_assets.merging.report import FileExtent, MergeReport
from prune_assets.merging.run_merge import MergeResult
from prune_assets.tables.writes.write_result import WriteResult

SORTED = {"sort_by": ["id"]}
ALL = [
    (WriteTableOperator, {"source": "SELECT 1 AS id", "layout": SORTED, "mode": "overwrite"}),
    (CheckLayoutOperator, {"layout": SORTED}),
    (SkipReportOperator, {"predicates": ["id < 10"]}),
    (OptimizeTableOperator, {"layout": SORTED}),
]


class TestLayoutCheck:
    def test_a_good_table_passes_with_its_findings(self, ids, context):
        told = CheckLayoutOperator(task_id="c", table=ids, layout=SORTED).execute(context)
        assert told == {"table": str(ids), "errors": 0, "warnings": 0}
        findings = context["ti"].xcoms["findings"]
        assert {finding["result"] for finding in findings} == {"pass"}
        assert all(set(finding) == {"rule", "result", "detail"} for finding in findings)

    def test_a_broken_one_fails_with_a_line_for_each_finding(self, broken, context, logged):
        with pytest.raises(AirflowFailException, match=r"4 errors, 0 warnings of its layout; the first: ") as raised:
            CheckLayoutOperator(task_id="c", table=broken, layout=SORTED).execute(context)
        assert "\n" not in str(raised.value)
        rules = [finding["rule"] for finding in context["ti"].xcoms["findings"] if finding["result"] == "fail"]
        errors = [line for level, line in logged() if level == "error"]
        assert rules == ["overlap.files", "overlap.row_groups", "order.row_groups", "order.rows"]
        assert [line.partition(": ")[0] for line in errors] == rules
        assert all("remedy: " in line and "\n" not in line for line in errors)

    def test_or_warns(self, broken, context, logged):
        told = CheckLayoutOperator(task_id="c", table=broken, layout=SORTED, severity="warn").execute(context)
        assert told["errors"] == 4
        assert [level for level, _ in logged()] == ["warning"] * 4 + ["info"]

    def test_the_layout_may_be_a_file(self, ids, context, tmp_path):
        (tmp_path / "layout.yaml").write_text("sort_by: [id]\nbloom: {id: 0.01}\n")
        check = CheckLayoutOperator(task_id="c", table=ids, layout=str(tmp_path / "layout.yaml"))
        with pytest.raises(TableTaskError, match=r"bloom_filter\.absent"):
            check.execute(context)

    def test_without_a_layout_the_health_is_checked(self, put, tmp_path, context, logged):
        for i in range(60):
            put(tmp_path / "t", f"part-{i}", range(i, i + 10))
        told = CheckLayoutOperator(task_id="c", table=tmp_path / "t").execute(context)
        assert told == {"table": str(tmp_path / "t"), "errors": 0, "warnings": 1}
        (warning,) = (line for level, line in logged() if level == "warning")
        assert warning.startswith("files.small: ")
        assert warning.endswith("remedy: merge them: a task of OptimizeTableOperator")
        assert any("0 errors, 1 warning of its health" in line for _, line in logged())

    def test_of_a_partition_alone(self, put, tmp_path, context):
        put(tmp_path / "t" / "day=1", "part-0", range(1000))
        put(tmp_path / "t" / "day=2", "part-0", reversed(range(1000)))
        told = []
        for ds in (1, 2):
            check = CheckLayoutOperator(
                task_id="c", table=tmp_path / "t", layout=SORTED, where="day = {{ ds }}", severity="warn"
            )
            check.render_template_fields({"ds": ds})
            told.append(check.execute(context)["errors"])
        assert told[0] == 0 < told[1]

    def test_what_prune_check_says_is_what_the_task_says(self, broken, context):
        with pytest.raises(TableTaskError):
            CheckLayoutOperator(task_id="c", table=broken, layout=SORTED).execute(context)
        asked = pr.check(broken, layout=pr.LayoutSpec(sort_by=["id"]))
        told = context["ti"].xcoms["findings"]
        assert sorted(finding["rule"] for finding in told) == sorted(finding.code for finding in asked)


class TestSkipReport:
    def test_figures_by_the_name_of_the_predicate(self, ids, context):
        report = SkipReportOperator(task_id="r", table=ids, predicates={"first": "id < 150", "none": "id < 0"})
        told = report.execute(context)["predicates"]
        assert told["first"]["kept_rows"] == 200
        assert told["first"]["total_rows"] == 1000
        assert told["first"]["levels"]["row_group_statistics"] > 0
        assert told["none"]["skipped_bytes_share"] == 1

    def test_a_list_is_numbered(self, ids, context):
        report = SkipReportOperator(task_id="r", table=ids, predicates=["id < 150", "id = 7"])
        assert list(report.execute(context)["predicates"]) == ["1", "2"]

    def test_too_little_fails_after_all_reports_were_written(self, ids, context, tmp_path):
        report = SkipReportOperator(
            task_id="r",
            table=ids,
            predicates={"half": "id < 500", "few": "id < 10"},
            min_skipped="0.8",
            report_dir=tmp_path / "reports",
        )
        with pytest.raises(AirflowFailException, match=r"half: 50 % of bytes skipped, below the required 80 %"):
            report.execute(context)
        written = {path.name for path in (tmp_path / "reports" / "dag" / "manual__1" / "task").iterdir()}
        assert written == {"half.html", "few.html", "index.html"}
        assert context["ti"].xcoms["return_value"]["predicates"]["few"]["skipped_bytes_share"] > 0.8

    def test_the_link_leads_to_the_page(self, ids, context, tmp_path):
        (link,) = SkipReportOperator.operator_extra_links
        report = SkipReportOperator(
            task_id="r", table=ids, predicates={"a b": "id < 5"}, report_dir=tmp_path, reports_url="http://host/r/"
        )
        context["ti"].run_id = "manual__2026-01-01T00:00:00+00:00"
        assert link.get_link(report, ti_key=None) == ""
        report.execute(context)
        url = link.get_link(report, ti_key=None)
        assert url == "http://host/r/dag/manual__2026-01-01T00%3A00%3A00%2B00%3A00/task/a_b.html"
        assert "id &lt; 5" in (tmp_path / "dag" / context["ti"].run_id / "task" / "a_b.html").read_text()

    def test_a_mapped_task_has_a_page_of_its_own(self, ids, context, tmp_path):
        context["ti"].map_index = 3
        SkipReportOperator(task_id="r", table=ids, predicates=["id < 5"], report_dir=tmp_path).execute(context)
        assert (tmp_path / "dag" / "manual__1" / "task.3" / "1.html").exists()


@pytest.mark.spark
class TestWithSpark:
    def test_a_query_is_written_as_the_layout_says(self, spark, context, tmp_path):
        table = tmp_path / "t"
        write = WriteTableOperator(
            task_id="w",
            table=table,
            source="SELECT id FROM range(1000)",
            layout={**SORTED, "files": 2},
            format="delta",
            mode="overwrite",
        )
        told = write.execute(context)
        assert (told["rows"], told["version"], told["files"]) == (1000, 0, 2)
        assert write.execute(context)["version"] == 1, "a second run replaces the rows"
        assert pr.read(table, where="true", session=spark).count() == 1000
        CheckLayoutOperator(task_id="c", table=table, layout=SORTED).execute(context)

    @pytest.mark.parametrize("kind", ["path", "function"])
    def test_so_are_a_path_and_a_function(self, kind, spark, context, ids, tmp_path):
        source = ids if kind == "path" else lambda session: session.range(1000)
        write = WriteTableOperator(
            task_id="w", table=tmp_path / "t", source=source, layout=pr.LayoutSpec(["id"]), mode="overwrite"
        )
        write.render_template_fields({})
        assert write.execute(context)["rows"] == 1000

    def test_optimize_rewrites_what_needs_it_and_tells_figures(self, spark, context, broken):
        upkeep = OptimizeTableOperator(task_id="o", table=broken, layout=SORTED, predicates=["id = 5"])
        told = upkeep.execute(context)
        assert (told["considered"], told["picked_files"], told["depth_after"]) == (2, 2, 1.0)
        assert told["predicates"][0]["sql"] == "id = 5"
        assert upkeep.execute(context)["picked_files"] == 0

    def test_the_session_is_that_of_a_connection(self, spark, context, tmp_path, monkeypatch):
        monkeypatch.setenv("AIRFLOW_CONN_OWN_SPARK", '{"conn_type": "generic", "host": "local[2]"}')
        seen = []

        def rows(session):
            seen.append(session.conf.get("spark.master"))
            return session.range(5)

        WriteTableOperator(
            task_id="w", table=tmp_path / "t", source=rows, layout=SORTED, conn_id="own_spark", mode="overwrite"
        ).execute(context)
        assert seen == ["local[2]"]

    def test_wrong_sql_of_the_source_is_one_line(self, spark, context, tmp_path):
        write = WriteTableOperator(
            task_id="w", table=tmp_path / "t", source="SELECT x FROM nowhere", layout=SORTED, mode="overwrite"
        )
        with pytest.raises(TableTaskError, match=r"source: .*nowhere") as raised:
            write.execute(context)
        assert "\n" not in str(raised.value)


def test_a_dry_run_of_optimize_changes_nothing_and_needs_no_spark(broken, context):
    before = sorted(broken.iterdir())
    told = OptimizeTableOperator(task_id="o", table=broken, layout=SORTED, dry_run=True).execute(context)
    assert (told["picked_files"], told["dry_run"]) == (2, True)
    assert sorted(broken.iterdir()) == before


@pytest.mark.parametrize(
    ("kind", "wrong", "said"),
    [
        (CheckLayoutOperator, {"layout": {"sort_by": ["ID2"]}}, "ID2"),
        (CheckLayoutOperator, {"layout": "absent.yaml"}, "absent.yaml"),
        (CheckLayoutOperator, {"layout": {"sort_by": "{{ ds }}"}}, "sort_by = '2026-01-01': expected a list"),
        (CheckLayoutOperator, {"layout": SORTED, "severity": "{{ ds }}"}, "severity = '2026-01-01': choose"),
        (CheckLayoutOperator, {"where": "{{ params.where }}"}, "where = '': give a string"),
        (CheckLayoutOperator, {"where": "day = DATE '{{ params.day }}'"}, "DATE ''"),
        (SkipReportOperator, {"predicates": ["id <"]}, "predicate 1: "),
        (SkipReportOperator, {"predicates": {"p": "idd < 1"}}, "predicate p: .*did you mean"),
        (SkipReportOperator, {"predicates": {"p": "id < '{{ params.day }}' AND id = TIMESTAMP ''"}}, "predicate p: "),
        (SkipReportOperator, {"predicates": ["id < 1"], "min_skipped": "{{ ds }}"}, "min_skipped = '2026-01-01'"),
        (SkipReportOperator, {"predicates": ["id < 1"], "report_dir": "s3://b/r"}, "s3://b/r"),
        (WriteTableOperator, {"layout": SORTED, "source": "x", "mode": "{{ ds }}"}, "mode='2026-01-01'"),
        (
            WriteTableOperator,
            {"layout": SORTED, "source": "x", "mode": "append", "format": "{{ ds }}"},
            "format='2026-01-01'",
        ),
        (WriteTableOperator, {"layout": SORTED, "source": "{{ params.day }}", "mode": "append"}, "source = ''"),
        (WriteTableOperator, {"layout": SORTED, "source": "x", "mode": "append", "where": "{{ ds }}"}, "where: only"),
        (OptimizeTableOperator, {"layout": SORTED, "budget": "{{ ds }}"}, "budget = '2026-01-01' is no size"),
        (OptimizeTableOperator, {"layout": SORTED, "where": "day = DATE '{{ params.day }}'"}, "DATE ''"),
    ],
)
def test_what_only_the_task_can_know_fails_at_once_in_one_line(kind, wrong, said, ids, context):
    operator = kind(task_id="t", table=ids, **wrong)
    operator.render_template_fields(context | {"ds": "2026-01-01", "params": {"day": "", "where": ""}})
    with pytest.raises(AirflowFailException, match=said) as raised:
        operator.execute(context)
    assert "\n" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


WRITE = {"layout": SORTED, "source": "SELECT 1 AS id", "mode": "overwrite"}
READ = {"predicates": ["id < 1"]}


@pytest.mark.parametrize(
    ("kind", "wrong", "said"),
    [
        *(
            (kind, arguments | {"layout": {"sort_on": ["id"]}}, "unknown key 'sort_on'; did you mean 'sort_by'")
            for kind, arguments in [
                (WriteTableOperator, WRITE),
                (CheckLayoutOperator, {}),
                (OptimizeTableOperator, {}),
            ]
        ),
        (WriteTableOperator, WRITE | {"layout": {"sort_on": ["{{ ds }}"]}}, "unknown key 'sort_on'"),
        (WriteTableOperator, WRITE | {"layout": None}, "layout = None: give"),
        (WriteTableOperator, WRITE | {"layout": "s3://b/layout.yaml"}, "a layout is a local file"),
        (WriteTableOperator, WRITE | {"format": "detla"}, "format='detla': choose"),
        (WriteTableOperator, {"layout": SORTED, "source": "x"}, "mode=None: choose one of 'append', 'overwrite'"),
        (WriteTableOperator, WRITE | {"mode": "overwrit"}, "mode='overwrit': choose one of"),
        (WriteTableOperator, WRITE | {"mode": "append", "where": "id = 1"}, "where: only for mode 'overwrite'"),
        (WriteTableOperator, WRITE | {"source": None}, "source = None: give a query"),
        (WriteTableOperator, WRITE | {"options": "zstd"}, "options = 'zstd': give values by name"),
        (
            WriteTableOperator,
            WRITE | {"when_empty": "ignore"},
            "when_empty = 'ignore': choose 'pass', 'skip' or 'fail'",
        ),
        (CheckLayoutOperator, {"severity": "loud"}, "severity = 'loud': choose 'error' or 'warn'"),
        (CheckLayoutOperator, {"where": ""}, "where = '': give a string"),
        (CheckLayoutOperator, {"allow": "s3://b"}, "allow = 's3://b': give a list of strings"),
        (CheckLayoutOperator, {"rows": "False"}, "rows = 'False': give True or False"),
        (CheckLayoutOperator, {"when_empty": None}, "when_empty = None: choose"),
        (CheckLayoutOperator, {"table": ""}, "table = '': name a table"),
        (CheckLayoutOperator, {"table": 7}, "table = 7: name a table"),
        (SkipReportOperator, READ | {"min_skipped": "most"}, "min_skipped = 'most' is no share from 0 to 1"),
        (SkipReportOperator, READ | {"min_skipped": 90}, "min_skipped = 90 is no share from 0 to 1"),
        (SkipReportOperator, {"predicates": []}, "no predicate is given"),
        (SkipReportOperator, {"predicates": 7}, "predicates = 7: give SQL by name"),
        (SkipReportOperator, {"predicates": {"p": ""}}, r"predicates\['p'\] = '': give a string"),
        (SkipReportOperator, READ | {"columns": "id"}, "columns = 'id': give a list of strings"),
        (SkipReportOperator, READ | {"time_zone": "Europe/Berlni"}, "Europe/Berlni"),
        (OptimizeTableOperator, {"layout": {"sort_by": "id"}}, "sort_by = 'id': "),
        (OptimizeTableOperator, {"layout": SORTED, "budget": "200GB"}, "budget = '200GB' is no size"),
        (OptimizeTableOperator, {"layout": SORTED, "predicates": "id = 1"}, "predicates = 'id = 1': give a list"),
        (OptimizeTableOperator, {"layout": SORTED, "dry_run": "yes"}, "dry_run = 'yes': give True or False"),
        (MergeTableOperator, {"source": "SELECT 1 AS id", "on": ""}, "on = '': give a string"),
        (MergeTableOperator, {"source": "", "on": "t.id = s.id"}, "source = '': give a query"),
        (MergeTableOperator, {"source": "q", "on": "t.id = s.id", "when": "DELETE"}, "when = "),
        (AdviseLayoutOperator, {"workload": ["id = 1"], "latest": 0}, "latest = 0: give a whole number of at least 1"),
        (TableChangeSensor, {"table": ""}, "table = '': name a table"),
        (TableChangeSensor, {"version": "last"}, "version = 'last': give a version number"),
    ],
)
def test_a_wrong_argument_fails_the_parsing_of_the_dag(kind, wrong, said):
    with pytest.raises(WrongUse, match=said) as raised:
        kind(task_id="t", **({"table": "lake/ids"} | wrong))
    assert "\n" not in str(raised.value)


def test_a_merge_returns_its_figures(ids, context, monkeypatch, spark):
    """Only the MERGE itself is replaced: it needs delta-spark, with which the matrix runs it."""
    merged = []

    def merge(table, changes, *, on, when, session):
        merged.append((table, [row.id for row in changes.collect()], on, when, session.version))
        report = MergeReport(table, 3, 2, 0, *[FileExtent(8, 80)] * 2, *[FileExtent(1, 10)] * 2, (), None, "", 0.1)
        return MergeResult(report, 4, {}, FileExtent(1, 10), 1, 1, 0, 0.5)

    monkeypatch.setattr(run_merge, "merge", merge)
    task = MergeTableOperator(task_id="m", table=ids, source="SELECT id FROM range(2)", on="t.id = s.id")
    figures = task.execute(context)
    assert merged == [(str(ids), [0, 1], "t.id = s.id", ["MATCHED UPDATE", "NOT MATCHED INSERT"], spark.version)]
    assert (figures["files_as_written"], figures["files_opened"], figures["rows_inserted"]) == (8, 1, 1)


def test_so_does_one_in_a_layout_file(tmp_path):
    (tmp_path / "layout.yaml").write_text("sort_on: [id]")
    with pytest.raises(WrongUse, match=r"layout\.yaml: unknown key 'sort_on'"):
        CheckLayoutOperator(task_id="t", table="lake/ids", layout=tmp_path / "layout.yaml")


def test_so_does_one_of_a_decorated_function():
    from airflow.sdk import DAG, task

    with DAG("d", schedule=None):

        @task.pruned_table(table="lake/ids", layout={"sort_on": ["id"]}, mode="overwrite")
        def ids(spark):
            return spark.range(5)

        with pytest.raises(WrongUse, match="unknown key 'sort_on'"):
            ids()


@pytest.mark.parametrize("least", [0.5, "0.5", "50%", "{{ params.least }}"])
def test_a_share_is_written_as_on_the_command_line(least, ids, context):
    report = SkipReportOperator(task_id="r", table=ids, predicates=["id < 150"], min_skipped=least)
    report.render_template_fields(context | {"params": {"least": "50 %"}})
    assert report.execute(context)["predicates"]["1"]["kept_rows"] == 200


@pytest.mark.parametrize("place", ["file", "link"])
@pytest.mark.parametrize("kind", ["report", "advice", "workload"])
def test_a_place_that_cannot_be_written_is_one_line_and_not_tried_again(kind, place, ids, context, tmp_path):
    if place == "file":
        (tmp_path / "place").write_text("")
    else:
        (tmp_path / "place").symlink_to(tmp_path / "place")
    taken = tmp_path / "place" / "out"
    operator = {
        "report": lambda: SkipReportOperator(task_id="t", table=ids, predicates=["id < 5"], report_dir=taken),
        "advice": lambda: AdviseLayoutOperator(task_id="t", table=ids, workload=["id = 5"], page=taken / "p.html"),
        "workload": lambda: ReadWorkloadOperator(task_id="t", event_logs=str(tmp_path / "logs"), out=taken / "w.json"),
    }[kind]()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "q.sql").write_text("SELECT * FROM ids WHERE id = 5;")
    with pytest.raises(AirflowFailException, match=str(tmp_path)) as raised:
        operator.execute(context)
    assert "\n" not in str(raised.value)


def test_optimize_keeps_to_a_budget_and_rewrites_all_where_it_is_told(broken, ids, context):
    of_all = OptimizeTableOperator(task_id="o", table=ids, layout=SORTED, dry_run=True, full=True)
    assert of_all.execute(context)["picked_files"] == 1
    none = OptimizeTableOperator(task_id="o", table=broken, layout=SORTED, dry_run=True, budget="1KiB")
    assert (none.execute(context)["picked_files"], none.execute(context)["left"]) == (0, 2)


@pytest.mark.parametrize(("kind", "arguments"), ALL[1:], ids=lambda each: getattr(each, "__name__", ""))
def test_a_table_that_is_not_there_is_named(kind, arguments, tmp_path, context):
    with pytest.raises(AirflowFailException, match=re.escape(str(tmp_path / "gone"))):
        kind(task_id="t", table=tmp_path / "gone", **arguments).execute(context)


@pytest.mark.parametrize("error", [StorageFailure("s3://b/t: 503"), UnfinishedWrite("t: another write")])
def test_what_may_pass_is_tried_again(error):
    with pytest.raises(TableNotReached) as raised, failing_in_one_line():
        raise error
    assert not isinstance(raised.value, AirflowFailException)
    assert isinstance(raised.value, AirflowException)


@pytest.mark.parametrize(("kind", "arguments"), ALL, ids=lambda each: getattr(each, "__name__", ""))
def test_what_is_text_is_a_template(kind, arguments):
    operator = kind(task_id="t", table="lake/{{ ds }}", **arguments)
    operator.render_template_fields({"ds": "2026-01-01"})
    assert operator.table == "lake/2026-01-01"
    texts = {name for name in vars(operator) if name in {*arguments, "where", "conn_id", "report_dir", "reports_url"}}
    assert texts <= set(operator.template_fields)


def test_a_layout_and_predicates_are_templates_through_and_through(ids, context):
    context["ds"] = 150
    report = SkipReportOperator(task_id="r", table=ids, predicates={"first": "id < {{ ds }}"})
    report.render_template_fields(context)
    assert report.execute(context)["predicates"]["first"]["kept_rows"] == 200


@pytest.mark.parametrize(("kind", "arguments"), ALL, ids=lambda each: getattr(each, "__name__", ""))
def test_tasks_are_tried_again_twice_unless_told_otherwise(kind, arguments):
    from airflow.sdk import DAG

    assert kind(task_id="t", table="t", **arguments).retries == 2
    assert kind(task_id="t", table="t", retries=0, **arguments).retries == 0
    with DAG("d", schedule=None, default_args={"retries": 5}):
        assert kind(task_id="t", table="t", **arguments).retries == 5


def test_the_event_of_an_outlet_has_the_numbers_and_the_partition(ids, context):
    asset = Asset(name="ids", uri=ids.as_uri())
    context["dag_run"] = SimpleNamespace(partition_key="2026-01-01")
    CheckLayoutOperator(task_id="c", table=ids, layout=SORTED, outlets=[asset]).execute(context)
    assert context["outlet_events"][asset].extra == {
        "table": str(ids),
        "errors": 0,
        "warnings": 0,
        "partition": "2026-01-01",
    }


@pytest.mark.parametrize(
    ("connection", "options"),
    [
        ({"host": "local[2]"}, {"spark.master": "local[2]"}),
        ({"host": "spark://head", "port": 7077}, {"spark.master": "spark://head:7077"}),
        ({"host": "sc://head", "port": 15002}, {"spark.remote": "sc://head:15002"}),
        ({"host": "sc://head", "password": "secret"}, {"spark.remote": "sc://head/;token=secret"}),
        (
            {"host": "local[2]", "extra": '{"spark.sql.shuffle.partitions": 4}'},
            {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "4"},
        ),
    ],
)
def test_a_connection_is_a_server_or_a_master(connection, options):
    assert options_of(Connection(conn_id="spark", conn_type="generic", **connection)) == options


def test_the_connection_of_the_guide_is_one(monkeypatch):
    guide = (Path(__file__).parents[3] / "docs" / "airflow.md").read_text()
    (text,) = re.findall(r"export AIRFLOW_CONN_SPARK='(.*?)'", guide, re.DOTALL)
    options = options_of(Connection.from_json(text, conn_id="spark"))
    assert options["spark.master"] == "local[4]"
    assert options["spark.jars.packages"] == "org.apache.hadoop:hadoop-aws:HADOOP_VERSION"


def test_a_connection_that_is_not_there_is_named(context, tmp_path):
    write = WriteTableOperator(
        task_id="w",
        table=tmp_path / "t",
        source="SELECT 1 AS id",
        layout=SORTED,
        conn_id="no_such_spark",
        mode="overwrite",
    )
    with pytest.raises(TableTaskError, match="conn_id = 'no_such_spark': no such connection"):
        write.execute(context)


def test_a_table_of_another_format_is_refused_before_spark_starts(context, tmp_path, monkeypatch):
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    monkeypatch.setattr("prune_assets.spark.spark_session.spark_session", lambda **_: pytest.fail("Spark was started"))
    write = WriteTableOperator(
        task_id="w", table=tmp_path / "t", source="x", layout=SORTED, format="parquet", mode="overwrite"
    )
    with pytest.raises(TableTaskError, match="Delta"):
        write.execute(context)


def test_plain_files_are_not_written_beside_as_delta(context, ids, monkeypatch):
    monkeypatch.setattr("prune_assets.spark.spark_session.spark_session", lambda **_: pytest.fail("Spark was started"))
    write = WriteTableOperator(task_id="w", table=ids, source="x", layout=SORTED, format="delta", mode="overwrite")
    with pytest.raises(TableTaskError, match=r"Parquet files? that no Delta log references"):
        write.execute(context)


def test_the_log_counts_one_file_as_one(context, monkeypatch):
    lines = []
    log = SimpleNamespace(info=lambda text, *values: lines.append(text % values))
    done = WriteResult("t", ("a.parquet",), 33_352, 1_234, 1, (), 7)
    monkeypatch.setattr(WriteTableOperator, "log", log)
    monkeypatch.setattr(WriteTableOperator, "_write", lambda *_: done)
    WriteTableOperator(task_id="w", table="t", source="SELECT 1 AS id", layout=SORTED, mode="overwrite").run_on_table(
        context
    )
    assert lines == ["t: version 7, 33,352 rows in 1 file, 1,234 bytes"]


@pytest.mark.spark
def test_a_function_that_returns_a_dataframe_becomes_a_table(spark, context, tmp_path):
    from airflow.sdk import DAG, task

    with DAG("d", schedule=None):

        @task.pruned_table(table=tmp_path / "t", layout=SORTED, format="delta", mode="overwrite")
        def ids(spark, rows, ds):
            return spark.range(int(rows)).selectExpr("id", f"DATE '{ds}' AS day")

        written = ids(rows="{{ params.rows }}").operator
    context |= {"ds": "2026-01-01", "params": {"rows": 50}}
    written.render_template_fields(context)
    assert written.execute(context)["rows"] == 50
    assert pr.read(tmp_path / "t", where="day = DATE '2026-01-01'", session=spark).count() == 50
    assert written.retries == 2
