"""`prune head` and `prune count` on a table: their output, and errors in one line."""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from prune_assets.cli import main


@pytest.fixture
def table(tmp_path):
    rows = pa.table(
        {
            "id": pa.array([3, 1, 2], pa.int64()),
            "at": pa.array([dt.datetime(2024, 7, 1, 12, tzinfo=dt.UTC)] * 2 + [None], pa.timestamp("us", "UTC")),
            "x": [float("nan"), 0.5, None],
            "price": pa.array([Decimal("1.50"), None, Decimal("-2.25")]),
            "raw": [b"\x00\xff", None, b""],
            "name": ["a\x1b[31m", "b" * 100, None],
            "tags": [[1, 2], [], None],
        }
    )
    pq.write_table(rows, tmp_path / "part.parquet", write_page_index=True)
    return str(tmp_path)


def _run(*arguments, **environment):
    result = CliRunner(env=environment).invoke(main, list(arguments), standalone_mode=False)
    assert result.exception is None, result.exception
    return result.stdout


def test_head_prints_a_table_in_order(table):
    shown = _run("head", table, "--order-by", "id", "--columns", "id, price", "-n", "2")
    assert [line.split() for line in shown.splitlines()] == [
        ["id", "price"],
        ["1", "NULL"],
        ["2", "-2.25"],
        ["2", "rows"],
    ]


def test_head_prints_every_type_as_json(table):
    (line,) = _run("head", table, "--where", "id = 3", "--json", "--time-zone", "Europe/Berlin").splitlines()
    assert json.loads(line) == {
        "id": 3,
        "at": "2024-07-01 14:00:00+02:00",
        "x": "nan",
        "price": "1.50",
        "raw": "00ff",
        "name": "a\x1b[31m",
        "tags": [1, 2],
    }
    assert "\x1b" not in line


def test_values_do_not_reach_the_terminal_as_commands(table):
    shown = _run("head", table, "--columns", "name")
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) < 60


def test_columns_that_do_not_fit_are_counted(table):
    shown = _run("head", table, "--where", "id = 1", COLUMNS="50")
    assert shown.splitlines()[-1] == "1 row"
    assert "left out: " in shown


def test_count(table):
    assert _run("count", table, "--where", "id > 1 AND x IS NOT NULL") == "1\n"
    assert _run("count", table, "--json") == '{"rows":3}\n'


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["head", "--columns", "id,,x"], "--columns 'id,,x': an empty name"),
        (["head", "--order-by", "nix"], "unknown column nix"),
        (["head", "--order-by", "id DOWN"], "unknown column id DOWN: write 'id DESC' for descending order"),
        (["head", "--order-by", "id DESC FIRST"], "order_by = 'id DESC FIRST'"),
        (["count", "--where", "soundex(name) = 'A100'"], "soundex"),
        (["count", "--where", "id = 'abc'"], "'abc' is a string, which Spark casts to bigint"),
        (["count", "--where", "at > '2025-13-45'"], "write TIMESTAMP 'yyyy-MM-dd HH:mm:ss', or let Spark evaluate it"),
        (["count", "--where", "foo(name) = 1"], "foo() is not a built-in function of Spark"),
        (["count", "--where", "size(tags) = 1"], "size(tags) = 1: lists and maps are not supported; let Spark"),
        (["count", "--where", "at > '2024-07-01 12:00:00'"], "pass session=, semantics= or --time-zone"),
        (["head", "--columns", "tags.list.element"], "parts of a column cannot be selected; give tags"),
        (["count", "--version", "1", "--timestamp", "2024-01-01T00:00:00Z"], "cannot be combined"),
    ],
)
def test_wrong_use_ends_in_one_line(table, arguments, text):
    result = CliRunner().invoke(main, [arguments[0], table, *arguments[1:]])
    assert result.exit_code == 2
    assert text in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("command", ["count", "head"])
def test_stats_are_said_on_stderr(command, table):
    result = CliRunner().invoke(main, [command, table, "--where", "id < 3", "--stats"], standalone_mode=False)
    assert re.fullmatch(
        r"read \d+ B of \d+ B \(expected \d+ B\) and [\d.]+ (Ki)?B of metadata in \d+ requests?; kept 1 of 1 file\n",
        result.stderr,
    )
    assert "metadata" not in result.stdout


@pytest.mark.parametrize(
    ("options", "said"), [([], "PRUNE_TIME_ZONE: time zone"), (["--time-zone", "X/Y"], "time zone")]
)
def test_a_time_zone_that_is_not_known_is_told_with_the_variable_that_holds_it(table, monkeypatch, options, said):
    monkeypatch.setenv("PRUNE_TIME_ZONE", "X/Y")
    result = CliRunner().invoke(main, ["count", table, *options])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {said} 'X/Y' is not known: ")
