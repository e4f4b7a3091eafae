"""`prune advise`: output, written files and exit codes."""

from __future__ import annotations

import importlib.util
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import prune_assets as pr
from prune_assets.cli import main


@pytest.fixture
def table(tmp_path):
    """Shop numbers in the order of `id`, with enough rows that sorting by shop helps."""
    draw = random.Random(2)
    rows = {"id": range(100_000), "shop": [draw.randrange(500) for _ in range(100_000)]}
    (tmp_path / "t").mkdir()
    options = {"write_page_index": True, "max_rows_per_page": 20_000, "use_dictionary": ["shop"]}
    pq.write_table(pa.table(rows), tmp_path / "t" / "a.parquet", **options)
    return str(tmp_path / "t")


def run(*arguments):
    return CliRunner().invoke(main, ["advise", *arguments])


def test_the_advised_layout_and_a_page_are_written(table, tmp_path):
    layout, html = tmp_path / "layout.yaml", tmp_path / "advice.html"
    done = run(
        table, "--predicate", "shop = 7", "--predicate", "shop = 9", "--save-layout", str(layout), "--html", str(html)
    )
    assert done.exit_code == 0, done.output
    assert pr.load_layout(layout).sort_by == ("shop",)
    assert "sort by shop" in done.output
    assert "sort by shop" in html.read_text()


@pytest.mark.parametrize("option", ["--save-layout", "--html", "--save"])
def test_a_folder_that_is_missing_is_told_by_the_name_of_the_file_before_anything_is_read(option, tmp_path):
    file = tmp_path / "missing" / "l.yaml"
    done = run("no/table", "--predicate", "shop = 7", option, str(file))
    assert done.exit_code == 2
    assert (
        done.stderr == f"error: {file}: the directory {file.parent} does not exist; create it, or give another path\n"
    )


def test_json_is_all_that_is_printed(table):
    done = run(table, "--predicate", "shop = 7", "--json")
    found = json.loads(done.stdout)
    assert found["schema"] == "layout-advice/1"
    assert found["advised"]["layout"]["sort_by"] == ["shop"]
    assert found["queries"][0]["where"] == "shop = 7"


def test_nothing_is_written_where_nothing_is_advised(table, tmp_path):
    done = run(table, "--predicate", "id < 40000", "--save-layout", str(tmp_path / "layout.yaml"))
    assert done.exit_code == 0
    assert "do nothing" in done.output
    assert not (tmp_path / "layout.yaml").exists()


@pytest.mark.parametrize("options", [[], ["--predicate", "shop = 1", "--workload", "w.json"]])
def test_a_workload_is_given_in_one_way(table, options):
    done = run(table, *options)
    assert done.exit_code == 2
    assert "give the workload" in done.output


@pytest.mark.skipif(
    importlib.util.find_spec("prune_assets.advisor.workload.observe") is None, reason="what ran is not read yet"
)
def test_a_file_of_sql_is_a_workload(table, tmp_path):
    (tmp_path / "queries.sql").write_text(f"SELECT id FROM parquet.`{table}` WHERE shop = 7  -- weight: 10\n")
    done = run(table, "--workload", str(tmp_path / "queries.sql"))
    assert done.exit_code == 0, done.output
    assert "sort by shop" in done.output


def test_what_is_not_understood_of_a_workload_is_noted(table, tmp_path):
    (tmp_path / "q.sql").write_text("shop = 7\nSELECT * FROM a JOIN b\n")
    done = run(table, "--workload", str(tmp_path / "q.sql"))
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith(f"note: left out, 1 x {tmp_path / 'q.sql'}, line 2: a JOIN; ")


@pytest.mark.parametrize("option", ["--workload", "--promised"])
@pytest.mark.parametrize("name", ["nothere.json", "nothere.sql", "nothere"])
def test_a_file_that_is_not_there_is_wrong_use(table, tmp_path, option, name):
    (tmp_path / "q.sql").write_text("shop = 7\n")
    given = [] if option == "--workload" else ["--workload", str(tmp_path / "q.sql")]
    done = run(table, *given, option, str(tmp_path / name))
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {tmp_path / name}: ")


def test_conditions_of_a_file_are_on_the_table_that_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"id": range(1000)}), tmp_path / "t" / "0.parquet")
    (tmp_path / "q.sql").write_text("id = 7 -- weight: 5\n")
    assert "for 1 predicate" in CliRunner().invoke(main, ["advise", "t", "--workload", "q.sql"]).output
    shown = CliRunner().invoke(main, ["workload", "q.sql", "--table", "t"]).output
    assert "id = ?" in shown


def test_queries_of_a_path_and_of_a_name_are_refused_and_both_are_named(table, tmp_path):
    (tmp_path / "q.sql").write_text(
        "SELECT id FROM delta.`/other/t` WHERE shop = 7;\nSELECT id FROM sales.t WHERE shop = 9;\n"
    )
    done = run(table, "--workload", str(tmp_path / "q.sql"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "several tables of this name: /other/t, sales.t; select one of them with" in done.stderr
    assert done.stderr.count("\n") == 1


def test_verified_layouts_are_shown_and_nothing_is_left(table, tmp_path):
    before = sorted(tmp_path.iterdir())
    done = run(table, "--predicate", "shop = 7", "--verify", "--on-sample")
    assert done.exit_code == 0, done.output
    assert "verified by writing 100,000 rows with pyarrow" in done.output
    assert "sort by shop, pages of 2,000 rows: predicted" in done.output
    assert sorted(tmp_path.iterdir()) == before


def test_how_to_verify_is_said_with_verify_alone(table):
    done = run(table, "--predicate", "shop = 7", "--on-sample")
    assert done.exit_code == 2
    assert "give --verify too" in done.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "1GiB"], "--budget limits what --apply rewrites"),
        (
            ["--apply", "--budget", "1GB"],
            "'1GB' is no size; write a number with one of B, KiB, MiB, GiB, TiB, e.g. 200GiB",
        ),
        (["--apply", "--budget", "much"], "'much' is no size"),
    ],
)
def test_a_budget_is_a_size_of_what_is_applied(table, options, message):
    done = run(table, "--predicate", "shop = 7", *options)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


@pytest.mark.spark
def test_a_budget_that_is_too_small_is_refused_in_one_line(spark, table):  # the command finds the session
    done = run(table, "--predicate", "shop = 7", "--apply", "--budget", "100KiB")
    assert done.exit_code == 2
    assert "the budget is 100.0 KiB; give 1MiB or more" in done.output.splitlines()[-1]
    assert run(table, "--predicate", "shop = 7", "--apply", "--budget", "1 MiB").exit_code == 0
