from __future__ import annotations

import json
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest
from click.testing import CliRunner

from parquet_core.errors import UnknownColumn
from prune_assets.cli.explain import explain
from prune_assets.report.console import to_text
from prune_assets.report.skip_report import Engine, Extent, Reading, SkipReport
from prune_assets.sql.semantics import SparkSemantics

ALL, SOME, NONE = Extent(2, 8, None, 800, 1_000), Extent(1, 2, None, 200, 250), Extent(0, 0, None, 0, 0)
LONG = "a = 1" + " OR a = 1" * 20
REPORT = SkipReport("t", LONG, "a = 1", (), (), ALL, SOME, (), (), (), 3, 4_000, 0, 0, 0.1, estimated=False)
LAST = {"version": None, "timestamp": None}


class Planner(ModuleType):
    """Stands for the planner: these tests are about options, forms and exit codes, not about plans."""

    def __init__(self):
        super().__init__("prune_assets.planner.explain.plan")
        self.report, self.calls, self.error = REPORT, [], None

    def plan(self, table, **options):
        self.calls.append((table, options))
        if self.error is not None:
            raise self.error
        return SimpleNamespace(report=self.report)


@pytest.fixture
def planner(monkeypatch):
    planner = Planner()
    monkeypatch.setitem(sys.modules, planner.__name__, planner)
    return planner


def prune(*arguments):
    return CliRunner().invoke(explain, ["t", "--where", "a = 1", *arguments])


@pytest.mark.usefixtures("planner")
def test_prints_the_console_form():
    result = prune()
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{REPORT}\n", "")


@pytest.mark.usefixtures("planner")
def test_json_is_the_whole_report_and_nothing_else():
    result = prune("--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads(REPORT.to_json())
    assert result.stdout.count("\n") == 1


@pytest.mark.usefixtures("planner")
def test_html_is_written_and_its_path_printed(tmp_path):
    page = tmp_path / "report.html"
    page.write_text("old")
    result = prune("--html", str(page))
    assert (result.exit_code, result.stdout) == (0, f"{page}\n")
    assert page.read_text("utf-8") == REPORT.to_html()
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.usefixtures("planner")
def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    page = tmp_path / "report.html"
    page.write_text("old")
    monkeypatch.setattr("prune_assets.report.html.to_html", lambda _: "half a page \udcff")
    result = prune("--html", str(page))
    assert isinstance(result.exception, UnicodeEncodeError)
    assert page.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.usefixtures("planner")
def test_a_new_page_has_the_rights_of_any_new_file(tmp_path):
    (tmp_path / "other").touch()
    prune("--html", str(tmp_path / "report.html"))
    assert (tmp_path / "report.html").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_options_reach_the_planner(planner):
    prune("--columns", "b, c.d", "--time-zone", "UTC", "--case-sensitive", "--no-ansi")
    semantics = SparkSemantics(time_zone="UTC", ansi=False, case_sensitive=True)
    assert planner.calls == [("t", {"where": "a = 1", "columns": ["b", "c.d"], "semantics": semantics, **LAST})]


def test_defaults_are_those_of_spark_with_no_zone_and_all_columns(planner):
    prune()
    assert planner.calls == [("t", {"where": "a = 1", "columns": None, "semantics": SparkSemantics(), **LAST})]


@pytest.mark.parametrize(("wanted", "code"), [("0", 0), ("0.75", 0), ("0.7500001", 1), ("1", 1)])
@pytest.mark.usefixtures("planner")
def test_gate_compares_the_part_of_the_bytes_that_is_skipped(wanted, code):
    result = prune("--min-skipped", wanted, "--json")
    assert result.exit_code == code
    assert json.loads(result.stdout)["kept"]["bytes"] == 250
    if code:
        required = f"{100 * float(wanted):g} %"
        assert f"--min-skipped {float(wanted):g}: 75 % of bytes skipped, below the required {required}" in result.stderr
        assert "(750 B of 1.0 KiB)" in result.stderr


@pytest.mark.usefixtures("planner")
def test_gate_judges_what_spark_with_this_plan_skips(planner):
    engine = Engine("Spark 4.3 with this plan", ALL, why="nothing is pushed down", reading=Reading.WITH_PLAN)
    planner.report = replace(REPORT, engines=(engine,))
    result = prune("--min-skipped", "0.5")
    assert result.exit_code == 1
    assert "--min-skipped 0.5: 0 % of bytes skipped by Spark with this plan (best possible 75.0 %)" in result.stderr
    assert "(0 B of 1.0 KiB)" in result.stderr


@pytest.mark.parametrize("total", [ALL, NONE], ids=["everything is skipped", "there is nothing to skip"])
def test_gate_is_met_when_nothing_is_read(planner, total):
    planner.report = replace(REPORT, total=total, kept=NONE)
    assert prune("--min-skipped", "1").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--json", "--html", "x.html"], "cannot be combined"),
        (["--html", "/no/such/directory/x.html"], "/no/such/directory does not exist"),
        (["--html", "."], "is a directory"),
        (["--columns", "a,,b"], "an empty name"),
        (["--columns", ""], "an empty name"),
        (["--min-skipped", "90"], "for 90 % write 0.9 or 90%"),
        (["--min-skipped", "much"], "--min-skipped"),
    ],
)
def test_wrong_use_prints_no_report_and_plans_nothing(planner, arguments, said):
    result = prune(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert planner.calls == []


def test_a_failed_plan_prints_no_report(planner):
    planner.error = UnknownColumn("t: no column 'b'; did you mean 'a'?")
    result = prune("--json")
    assert result.exception is planner.error
    assert result.stdout == ""


@pytest.mark.usefixtures("planner")
@pytest.mark.parametrize(("columns", "width"), [("60", 60), ("200", 200), ("", 100), ("0", 100), ("wide", 100)])
def test_a_pipe_is_as_wide_as_columns_says(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert prune().stdout == f"{to_text(REPORT, width=width)}\n"
