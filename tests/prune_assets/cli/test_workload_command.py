"""`prune workload`, from the command line to its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from prune_assets.advisor.workload.json_form import from_json
from prune_assets.cli import main

LOG = Path(__file__).parents[1] / "advisor" / "workload" / "logs" / "spark-4.3.zstd"


NOTHING_THERE = "no event log in this folder or below; give a file or the directory of spark.eventLog.dir"


def run(*arguments):
    return CliRunner().invoke(main, ["workload", *map(str, arguments)])


def test_tables_then_shapes_each_with_an_example():
    result = run(LOG)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert " ".join(lines[0].split()) == "table queries shapes bytes of files opened without need a day"
    assert lines[1].startswith("/tables/orders ")
    assert "/tables/warehouse/sales.db/orders (spark_catalog.sales.orders)" in result.stdout
    assert "  day = ? AND price > ?\n" in result.stdout
    assert "KiB of files opened, 41.1 KiB (97%) without need, reads day, id, price\n" in result.stdout
    assert "    such as day = DATE '2024-01-05' AND price > 100.50\n" in result.stdout
    assert "      1  ambiguous text\n" in result.stdout


def test_json_is_also_written_to_a_file(tmp_path):
    result = run(LOG, "--json", "--save", tmp_path / "w.json", "--price-per-tib", 5)
    assert result.exit_code == 0
    assert from_json(result.stdout) == from_json((tmp_path / "w.json").read_text())
    assert json.loads(result.stdout)["tables"][0]["price_a_day"] > 0


def test_a_price_is_a_column():
    assert "price a day" in run(LOG, "--price-per-tib", 5).stdout


def test_redacted_constants_are_nowhere():
    assert "New York" in run(LOG, "--json").stdout
    assert "New York" not in run(LOG, "--json", "--redact").stdout


def test_one_table_and_one_time():
    document = json.loads(run(LOG, "--table", "/tables/days", "--since", "2020-01-01", "--json").stdout)
    assert [table["table"] for table in document["tables"]] == ["/tables/days"]
    assert "no query read a table" in run(LOG, "--until", "2020-01-01").stdout


def test_what_is_damaged_is_noted_and_the_rest_is_shown(tmp_path):
    (tmp_path / "a").write_bytes(LOG.read_bytes()[:20_000])
    result = run(tmp_path)
    assert result.exit_code == 0
    assert result.stderr == f"note: {tmp_path}/a: the file is truncated; the events before the end were read\n"
    assert "/tables/orders" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent"], f"error: absent: {NOTHING_THERE}\n"),
        ([__file__], f"error: {__file__}: not a Spark event log; leave it out, or rename a file of SQL to *.sql\n"),
        (
            [LOG, "--since", "x"],
            "error: since: 'x' is not a date or time; write one like 2024-01-31 or 2024-01-31T12:00\n",
        ),
    ],
)
def test_wrong_use_is_a_line_and_exit_code_2(arguments, message):
    result = run(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", message)


def test_a_cursor_shows_what_is_new(tmp_path):
    cursor = tmp_path / "cursor.json"
    assert "/tables/orders" in run(LOG, "--cursor", cursor).stdout
    assert "no query read a table" in run(LOG, "--cursor", cursor).stdout


def test_a_table_that_no_query_read_is_answered_by_those_that_were(tmp_path):
    done = run(LOG, "--table", "order", "--json")
    assert done.exit_code == 0
    assert "note: no query read order; queries read " in done.stderr
    assert "/tables/orders" in done.stderr
    assert run(LOG, "--table", "/tables/orders").stderr == ""


def test_a_file_of_sql_shows_all_columns_and_what_is_not_understood(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("q.sql").write_text("SELECT * FROM tickets WHERE plate = 'BA-7919'\nSELECT * FROM a JOIN b\n")
    done = run("q.sql")
    assert done.exit_code == 0
    assert "  plate = ?\n    1 x, reads all columns\n" in done.stdout
    assert "      1  q.sql, line 2: a JOIN; " in done.stdout
    Path("q.sql").write_text("SELECT * FROM a JOIN b\n")
    done = run("q.sql")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: q.sql, line 1: a JOIN; ")
    assert done.stderr.count("\n") == 1


def test_folders_of_folders_are_searched(tmp_path):
    (tmp_path / "cluster-1" / "eventlog").mkdir(parents=True)
    assert run(tmp_path).stderr == f"error: {tmp_path}: {NOTHING_THERE}\n"
    (tmp_path / "cluster-1" / "eventlog" / "app-1").write_bytes(LOG.read_bytes())
    assert "/tables/orders" in run(tmp_path).stdout


def test_one_application_of_one_user(tmp_path):
    names = json.loads(run(LOG, "--app", "nightly *", "--json").stdout)["shapes"][0]["applications"]
    assert names == ["nightly report"]
    done = run(LOG, "--user", "nobody")
    assert done.exit_code == 0
    assert done.stdout == "no query read a table; left out: 1 application of other names or users\n"
    assert done.stderr == "note: no application has this name or user; the logs have nightly report\n"
    assert "/tables/orders" in run(LOG, "--user", "nobody", "--user", "some*").stdout


def test_queries_of_prune_assets_itself_are_said(tmp_path):
    text = pa.CompressedInputStream(pa.OSFile(str(LOG)), "zstd").read()
    lines = [json.loads(line) for line in text.splitlines()]
    for event in lines:
        if event.get("executionId") == 13 and "sparkPlanInfo" in event:
            event["jobTags"] = ["prune-assets"]
    (tmp_path / "app-1").write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in lines))
    done = run(tmp_path)
    assert "\nleft out: 1 query of prune-assets itself (skip reports, optimize, verify)\n" in done.stdout
    assert json.loads(run(tmp_path, "--json").stdout)["own_queries"] == 1
