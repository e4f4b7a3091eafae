from __future__ import annotations

import datetime as dt
import importlib
import json

import pytest
from log_lines import HEAD, LOGS, end, head, metrics, query, start

import prune_assets as pr
from parquet_core.errors import WrongUse

DAY = 86_400_000
FIRST = 1_704_067_200_000  # 2024-01-01


def runs(*arguments, **options):
    return sum(shape.runs for shape in pr.Workload.read(*arguments, **options).shapes)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "app-1"
    path.write_bytes(HEAD + b"".join(query(number, at=FIRST + number * DAY) for number in range(4)))
    return path


@pytest.mark.parametrize(
    ("since", "until", "count"),
    [
        (None, None, 4),
        ("2024-01-02", None, 3),
        (None, "2024-01-02", 1),
        (dt.date(2024, 1, 2), dt.datetime(2024, 1, 4, tzinfo=dt.UTC), 2),
        ("2024-01-02T00:00:01", None, 2),
        ("2024-01-02T00:30:00+01:00", None, 3),
        ("2025-01-01", None, 0),
    ],
)
def test_only_queries_of_a_time(log, since, until, count):
    found = pr.Workload.read(log, since=since, until=until)
    assert sum(shape.runs for shape in found.shapes) == count
    if count == 4:
        assert (found.since, found.until) == ("2024-01-01T00:00:00+00:00", "2024-01-04T00:00:00+00:00")


def test_a_time_that_is_none_is_refused(log):
    with pytest.raises(WrongUse, match="since: 'yesterday' is not a date or time"):
        pr.Workload.read(log, since="yesterday")


@pytest.mark.parametrize(
    ("table", "count"),
    [
        ("/tables/orders", 13),
        ("/tables/orders/", 13),
        ("file:/tables/customers", 2),
        ("spark_catalog.sales.orders", 1),
        ("/tables", 0),
    ],
)
def test_one_table_by_its_path_or_its_name(table, count):
    assert runs(LOGS / "spark-3.5.zstd", table=table) == count


def test_several_logs_are_one_workload(log):
    assert runs([log, LOGS / "spark-3.5.zstd"]) == 24
    assert pr.Workload.read(log).shapes[0].totals.rows_read == 400


def test_a_cursor_goes_on_where_it_was(tmp_path):
    cursor, logs = tmp_path / "cursor.json", tmp_path / "logs"
    logs.mkdir()
    ended = logs / "app-1"
    ended.write_bytes(HEAD + query(0))
    growing = logs / "app-2.inprogress"
    growing.write_bytes(HEAD + query(0) + start(1) + metrics(1))
    assert runs(logs, cursor=cursor) == 2
    assert runs(logs, cursor=cursor) == 0
    # The query that was running is counted when it has ended, and no other again.
    growing.write_bytes(growing.read_bytes() + end(1) + query(2))
    assert runs(logs, cursor=cursor) == 2
    assert json.loads(cursor.read_text())["logs"][str(logs / "app-2")]["counted"] == [[0, 3]]
    growing.rename(logs / "app-2")
    assert runs(logs, cursor=cursor) == 0
    assert runs(logs) == 4


@pytest.mark.parametrize("text", ["", "[]", '{"schema":"other/1"}'])
def test_another_file_is_no_cursor(tmp_path, log, text):
    cursor = tmp_path / "cursor.json"
    cursor.write_text(text)
    with pytest.raises(WrongUse, match=r"cursor\.json: .*give another file"):
        pr.Workload.read(log, cursor=cursor)


def test_progress_ends_at_the_size_of_all_logs(log):
    seen = []
    pr.Workload.read([log, LOGS / "spark-4.3.zstd"], progress=lambda read, total: seen.append((read, total)))
    size = log.stat().st_size + (LOGS / "spark-4.3.zstd").stat().st_size
    assert seen[-1] == (size, size)


OWN = ["spark-session-1", "prune-assets"]
OF_CONNECT = ["SparkConnect_SessionTag_User__Session_0b85b37a-3fa4-4e4b_Tag_prune-assets"]


@pytest.mark.parametrize("tags", [OWN, OF_CONNECT])
def test_queries_of_prune_assets_itself_are_counted_apart(tmp_path, tags):
    log = HEAD + query(0, tags=["nightly"]) + query(1, tags=tags) + query(2, text="== Physical Plan ==", tags=tags)
    (tmp_path / "app-1").write_bytes(log)
    found = pr.Workload.read(tmp_path)
    assert [(shape.shape, shape.runs) for shape in found.shapes] == [("k = ?", 1.0)]
    # Unreadable parts of own queries are not counted either.
    assert (found.own_queries, found.not_understood) == (1, {})
    assert importlib.import_module("prune_assets.advisor.workload.load").merged([found, found]).own_queries == 2


def test_queries_of_prune_assets_are_not_counted_again_with_a_cursor(tmp_path):
    (tmp_path / "app-1.inprogress").write_bytes(HEAD + query(0, tags=OWN))
    cursor = tmp_path / "cursor"
    found = [pr.Workload.read(tmp_path / "app-1.inprogress", cursor=cursor).own_queries for _ in range(2)]
    assert found == [1, 0]


@pytest.fixture
def apps(tmp_path):
    started = [("nightly load", "etl", "app-1"), ("adhoc", "ann", "app-2"), ("nightly report", "ann", "app-3")]
    for name, user, identifier in started:
        (tmp_path / identifier).write_bytes(head(name, user, identifier) + query())
    return tmp_path


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"app": "nightly*"}, ("nightly load", "nightly report")),
        ({"app": "app-2"}, ("adhoc",)),
        ({"app": ["adhoc", "nightly load"]}, ("adhoc", "nightly load")),
        ({"user": "ann"}, ("adhoc", "nightly report")),
        ({"app": "nightly*", "user": ["ann", "bob"]}, ("nightly report",)),
        ({}, ("adhoc", "nightly load", "nightly report")),
    ],
)
def test_only_applications_of_a_name_or_a_user(apps, options, names):
    seen = []
    found = pr.Workload.read(apps, **options, progress=lambda read, total: seen.append((read, total)))
    (shape,) = found.shapes
    assert (shape.applications, found.other_applications) == (names, 3 - len(names))
    assert found.problems == ()
    assert seen[-1][0] == seen[-1][1]


def test_an_application_that_did_not_run_is_answered_by_those_that_did(apps):
    found = pr.Workload.read(apps, app="nightly")
    assert found.shapes == ()
    assert found.problems == (
        "no application has this name or user; the logs have adhoc, nightly load, nightly report",
    )
