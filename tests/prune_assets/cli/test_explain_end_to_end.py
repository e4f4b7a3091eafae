"""`prune explain` and `prune check` as a user runs them, on real tables and on bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from prune_assets.cli import main

PRUNE = Path(sys.executable).with_name("prune")


def in_own_process(*arguments):
    return subprocess.run([PRUNE, *arguments], capture_output=True, text=True, timeout=120, check=False)


def prune(*arguments):
    """Run the command in this process, which is faster than a new process."""
    return CliRunner().invoke(main, [*arguments])


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """The working directory, with the table `t`: 1,000 rows in 10 row groups of 10 pages, sorted by `day`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").mkdir()
    table = pa.table({"day": list(range(1000)), "Name": [f"n{i}" for i in range(1000)]})
    options = {"row_group_size": 100, "max_rows_per_page": 10, "write_batch_size": 1, "write_page_index": True}
    # Without a dictionary, the values of `day` are unknown.
    options |= {"use_dictionary": ["Name"]}
    pq.write_table(table, tmp_path / "t/0.parquet", **options)
    return tmp_path


@pytest.mark.usefixtures("lake")
def test_a_plan_as_json():
    done = in_own_process("explain", "t", "--where", "day = 123 AND concat(name, day) = 'n1'", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report["schema"] == "skip-report/1"
    assert report["total"]["rows"] == 1000
    assert (report["kept"]["files"], report["kept"]["row_groups"], report["kept"]["rows"]) == (1, 1, 10)
    assert {level["level"]: level["status"] for level in report["levels"]} == {
        "partition_values": "not_applicable",
        "row_group_statistics": "consulted",
        "bloom_filter": "absent",
        "dictionary": "absent",
        "page_index": "consulted",
    }
    assert [part["sql"] for part in report["unsupported"]] == ["concat(name, day) = 'n1'"]
    groups = report["files"][0]["row_groups"]
    assert [group["verdict"] for group in groups] == ["skip", "selection", *["skip"] * 8]
    assert groups[1]["ranges"] == [[20, 30]]
    assert "day in [0, 99]" in groups[0]["reason"]


def test_a_plan_as_text_and_as_a_page(lake):
    done = prune("explain", "t", "--where", "day = 123")
    assert done.exit_code == 0
    assert "Row-group statistics" in done.stdout
    done = prune("explain", "t", "--where", "day = 123", "--html", "r.html")
    assert done.exit_code == 0
    assert "day = 123" in (lake / "r.html").read_text()


def test_every_form_tells_which_leaf_kept_a_row_group_and_what_to_write_instead(lake):
    where = "cast(day as string) = '123' AND name <> 'N1'"
    report = json.loads(prune("explain", "t", "--where", where, "--json").stdout)
    assert [leaf["open_row_groups"] for leaf in report["leaves"]] == [10, 10]
    assert report["files"][0]["row_groups"][1]["kept_by"] == [0, 1]
    assert [part["remedy"] for part in report["unsupported"]] == ["write day = 123"]
    text = " ".join(prune("explain", "t", "--where", where).stdout.split())
    assert "remedy: write day = 123" in text
    assert "may match: cast(day as string) = '123': does not prune: strings do not sort like the values" in text
    assert prune("explain", "t", "--where", where, "--html", "r.html").exit_code == 0
    assert "write day = 123" in (lake / "r.html").read_text()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("least", "code", "form"),
    [("0.9", 0, []), ("0.9", 0, ["--json"]), ("0.9999", 1, ["--json"]), ("0.9999", 1, ["--html", "r.html"])],
    ids=["met, text", "met, json", "not met, json", "not met, html"],
)
@pytest.mark.usefixtures("lake")
def test_the_gate(least, code, form):
    done = prune("explain", "t", "--where", "day = 123", "--min-skipped", least, *form)
    assert done.exit_code == code
    assert done.stdout, "the report is there either way"
    assert bool(done.stderr) == bool(code)


def cut_off(lake):
    path = lake / "t/0.parquet"
    path.write_bytes(path.read_bytes()[:-200])


def not_parquet(lake):
    (lake / "t/1.csv").write_text("day,name\n1,a\n" * 10)


def emptied(lake):
    (lake / "t/0.parquet").unlink()


BAD = [
    (None, "t", "day = ", "predicate"),
    (None, "t", "day = 1 AND (name = 'a'", "bracket"),
    (None, "t", "dya = 1", "did you mean day"),
    (None, "t", "day = DATE '2024-01-01'", "cannot be compared"),
    (None, "nowhere", "day = 1", "nowhere: no such file or directory"),
    (emptied, "t", "day = 1", "no data file"),
    (cut_off, "t", "day = 1", "t/0.parquet: does not end in PAR1"),
    (not_parquet, "t", "day = 1", "t/1.csv: is not a Parquet file but CSV, by its name"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("spoil", "table", "where", "message"), BAD, ids=[message for *_, message in BAD])
def test_bad_input_ends_in_one_line_and_exit_code_2(lake, spoil, table, where, message):
    if spoil is not None:
        spoil(lake)
    before = sorted(lake.rglob("*"))
    done = prune("explain", table, "--where", where, "--html", "r.html")
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(lake.rglob("*")) == before, "nothing is written"


@pytest.mark.usefixtures("lake")
def test_a_process_ends_with_the_exit_code_and_one_line():
    done = in_own_process("explain", "t", "--where", "dya = 1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean day" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_layout_is_checked(lake):
    (lake / "layout.yaml").write_text("sort_by: [day]\nrow_group_rows: 100\n")
    assert prune("check", "t", "--layout", "layout.yaml").exit_code == 0
    (lake / "layout.yaml").write_text("sort_by: [name]\n")
    done = prune("check", "t", "--layout", "layout.yaml", "--json")
    assert done.exit_code == 1
    assert "order.rows" in {finding["code"] for finding in json.loads(done.stdout)["findings"]}
