from __future__ import annotations

import json
import re
import sys
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from delta_tables import write_table

import prune_assets as pr
from parquet_core.errors import LayoutError
from parquet_core.fix import Fix, Step
from parquet_core.layout.spec import Finding, LayoutSpec, Severity
from prune_assets.cli.check import check

INFO = Finding("compression", Severity.INFO, "part-0", "snappy where zstd was asked for")
WARN = Finding("page-rows", Severity.WARN, "part-0, row group 1, id", "a page of 50,000 rows", "write again")
ERROR = Finding(
    "unsorted", Severity.ERROR, "part-1, row group 0, day", "page 3 begins below page 2", "sort before writing"
)


class Layout(ModuleType):
    """Stands for the proof of layout: these tests are about options, forms and exit codes."""

    def __init__(self):
        super().__init__("prune_assets.checks.layout_proof")
        self.findings, self.calls = [], []

    def check(self, table, *, layout, where):
        self.calls.append((table, layout, where))
        return self.findings


@pytest.fixture
def layout(monkeypatch):
    layout = Layout()
    monkeypatch.setitem(sys.modules, layout.__name__, layout)
    return layout


@pytest.fixture
def prune(tmp_path):
    path = tmp_path / "layout.yaml"
    path.write_text("sort_by: [day]")

    def run(*arguments):
        return CliRunner().invoke(check, ["t", "--layout", str(path), *arguments])

    return run


def test_the_layout_of_the_file_is_checked(layout, prune):
    result = prune("--where", "day = 1")
    assert layout.calls == [("t", LayoutSpec(sort_by=("day",)), "day = 1")]
    assert (result.exit_code, result.stdout) == (0, "t: the files match the layout, no warnings and no errors\n")


@pytest.mark.parametrize(
    ("findings", "fail_on", "code"),
    [
        ([], "warn", 0),
        ([INFO], "warn", 0),
        ([INFO, WARN], "warn", 1),
        ([INFO, WARN], "error", 0),
        ([ERROR], "warn", 1),
        ([INFO, WARN, ERROR], "error", 1),
    ],
)
def test_exit_code_follows_the_gravest_finding(layout, prune, findings, fail_on, code):
    layout.findings = findings
    assert prune("--fail-on", fail_on).exit_code == code
    assert prune("--fail-on", fail_on, "--json").exit_code == code


def test_errors_alone_fail_by_default(layout, prune):
    layout.findings = [WARN]
    assert prune().exit_code == 0
    layout.findings = [ERROR]
    assert prune().exit_code == 1


def test_findings_are_grouped_by_severity_the_gravest_first(layout, prune):
    layout.findings = [INFO, WARN, ERROR, WARN]
    text = prune("--verbose").stdout
    assert re.findall(r"^(\w+) \((\d)\)$", text, re.MULTILINE) == [("error", "1"), ("warn", "2"), ("info", "1")]
    for finding in layout.findings:
        for part in (finding.code, finding.location, finding.message, finding.remedy):
            assert part in text


def test_the_commands_of_remedies_name_the_table_and_the_layout_in_json_too(layout, prune, tmp_path):
    layout.findings = [ERROR.with_fix(Fix("merge them: ", Step.OPTIMIZE))]
    (found,) = json.loads(prune("--json").stdout)["findings"]
    assert found["remedy"] == f"merge them: prune optimize t --layout {tmp_path / 'layout.yaml'}"


def test_json_holds_every_finding_in_the_same_order(layout, prune, tmp_path):
    layout.findings = [INFO, WARN, ERROR]
    found = json.loads(prune("--json").stdout)
    assert found["schema"] == "layout-check/1"
    assert (found["table"], found["layout"]) == ("t", str(tmp_path / "layout.yaml"))
    assert [finding["severity"] for finding in found["findings"]] == ["error", "warn", "info"]
    assert found["findings"][0] == {
        "code": "unsorted",
        "severity": "error",
        "location": ERROR.location,
        "message": ERROR.message,
        "remedy": ERROR.remedy,
        "columns": [],
    }


def test_figures_of_what_is_fine_wait_for_verbose(layout, prune):
    layout.findings = [INFO, WARN]
    text = prune().stdout
    assert INFO.message not in text
    assert "1 note not shown: pass --verbose" in text
    assert INFO.message in prune("--verbose").stdout
    layout.findings = [INFO, INFO]
    assert prune().stdout.splitlines() == [
        "t: the files match the layout, no warnings and no errors",
        "2 notes not shown: pass --verbose",
    ]


def test_a_remedy_is_the_command_for_this_table(tmp_path):
    (tmp_path / "my layout.yaml").write_text("sort_by: [day]")
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"day": [2, 1]}), tmp_path / "t" / "0.parquet", write_page_index=True)
    arguments = [str(tmp_path / "t"), "--layout", str(tmp_path / "my layout.yaml")]
    text = " ".join(CliRunner().invoke(check, arguments, env={"COLUMNS": "900"}).stdout.split())
    assert f"prune optimize {tmp_path / 't'} --layout '{tmp_path / 'my layout.yaml'}'" in text


def test_without_a_layout_the_health_of_the_table_is_checked(tmp_path):
    for i in range(60):
        pq.write_table(pa.table({"id": [i], "x": [i], "y": [i]}), tmp_path / f"{i}.parquet", write_statistics=["id"])
    result = CliRunner().invoke(check, [str(tmp_path), "--json"])
    found = json.loads(result.stdout)
    assert (result.exit_code, found["layout"]) == (1, None)
    assert {(each["code"], tuple(each["columns"])) for each in found["findings"] if each["severity"] != "info"} == {
        ("statistics.missing", ("x", "y")),
        ("files.small", ()),
    }
    text = CliRunner().invoke(check, [str(tmp_path)]).stdout
    assert text.count("statistics.missing") == 1
    assert "column_index" not in text


def test_a_healthy_table_is_said_to_be_healthy(tmp_path):
    write_table(str(tmp_path), pa.table({"id": [1, 2, 3]}))
    result = CliRunner().invoke(check, [str(tmp_path)])
    assert (result.exit_code, result.stdout) == (0, f"{tmp_path}: healthy, no warnings and no errors\n")


def test_the_log_of_a_delta_table_is_part_of_its_health(tmp_path):
    write_table(str(tmp_path), pa.table({"id": [1, 2, 3]}))
    log = tmp_path / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        action.get("add", {}).pop("stats", None)
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))
    codes = {finding.code for finding in pr.check(tmp_path) if finding.severity is not Severity.INFO}
    assert codes == {"log.statistics"}


def test_names_cannot_drive_the_terminal(layout, prune):
    layout.findings = [Finding("a", Severity.WARN, "p\x1b[2J", "[red]m\x07[/red]", "\x9b1m")]
    text = prune().stdout
    assert r"p\x1b[2J" in text
    assert r"[red]m\x07[/red]" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)


@pytest.mark.parametrize(("ids", "code"), [(range(1_000), 0), (range(1_000, 0, -1), 1)], ids=["sorted", "reversed"])
def test_a_written_table_is_proven_sorted_or_not(tmp_path, ids, code):
    (tmp_path / "layout.yaml").write_text("sort_by: [day]")
    table = tmp_path / "table"
    table.mkdir()
    pq.write_table(pa.table({"day": list(ids)}), table / "part-0.parquet", write_page_index=True, row_group_size=100)
    result = CliRunner().invoke(
        check, [str(table), "--layout", str(tmp_path / "layout.yaml"), "--json"], catch_exceptions=False
    )
    findings = json.loads(result.stdout)["findings"]
    broken = {finding["code"] for finding in findings if finding["severity"] == "error"}
    assert result.exit_code == code
    assert ("order.rows" in broken) == bool(code)


def test_a_wrong_layout_is_refused_before_the_table_is_read(layout, tmp_path):
    path = tmp_path / "layout.yaml"
    path.write_text("sortby: [day]")
    result = CliRunner().invoke(check, ["t", "--layout", str(path)])
    assert isinstance(result.exception, LayoutError)
    assert result.stdout == ""
    assert layout.calls == []


@pytest.mark.parametrize("arguments", [["--fail-on", "info"], ["--nothing"]])
@pytest.mark.usefixtures("layout")
def test_wrong_use_is_told_from_findings(prune, arguments):
    result = prune(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
