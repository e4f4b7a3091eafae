"""`prune write`, `history`, `vacuum` and `checkpoint`, as a user runs them."""

from __future__ import annotations

import json
import os
import re
import sys
import time

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import deltalog
from parquet_core.errors import WrongUse
from prune_assets.cli import main
from prune_assets.spark import spark_session

LAYOUT = "sort_by: [id]\nfiles: 2\n"


def prune(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture
def table(tmp_path):
    rows = pa.table({"id": range(10)})
    place = tmp_path / "t"
    deltalog.create_table(place, rows.schema)
    pq.write_table(rows, place / "a.parquet")
    snapshot = deltalog.open_snapshot(place)
    deltalog.append(snapshot, deltalog.adds_of(str(place), snapshot.schema, [deltalog.NewFile("a.parquet")]))
    return place


@pytest.fixture
def layout(tmp_path):
    path = tmp_path / "layout.yaml"
    path.write_text(LAYOUT)
    return path


def test_a_write_to_iceberg_without_pyiceberg_is_refused_before_spark_starts(table, layout, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    monkeypatch.setattr(spark_session, "spark_session", lambda: pytest.fail("Spark was started"))
    done = prune("write", table, "newx", "--format", "iceberg", "--layout", layout)
    assert done.exit_code == 2
    assert done.stderr == (
        "error: newx: format iceberg needs pyiceberg; run pip install 'prune-assets[iceberg]', or "
        "choose another format\n"
    )


def test_optimize_starts_spark_where_metadata_cannot_answer_alone(tmp_path, layout, monkeypatch):
    table = tmp_path / "at=2024-01-01 00%3A00%3A00"
    table.mkdir()
    pq.write_table(pa.table({"id": range(10)}), table / "a.parquet", write_page_index=True)
    started = []

    def start(*_):
        started.append(1)
        raise WrongUse("Spark was started")

    monkeypatch.setattr("prune_assets.cli.optimize.start_session", start)
    assert "no file needs a rewrite" in prune("optimize", tmp_path, "--layout", layout).stdout
    assert "no such" in prune("optimize", tmp_path / "other", "--layout", layout).stderr
    assert not started
    # Which partitions these are depends on the time zone of the session.
    where = "at >= TIMESTAMP '2024-01-01 01:00:00Z'"
    for more in (("--where", where), ("--predicate", "id = 3"), ("--rows",)):
        assert "Spark was started" in prune("optimize", tmp_path, "--layout", layout, *more).stderr, more


def test_history_lists_versions_newest_first(table):
    lines = prune("history", table).output.splitlines()
    assert [line.split()[0] for line in lines] == ["version", "1", "0"]
    assert "WRITE" in lines[1]
    assert "numFiles=1" in lines[1]
    assert "CREATE TABLE" in lines[2]


def test_history_of_a_path_that_is_not_there_says_so(tmp_path):
    done = prune("history", tmp_path / "nothere")
    assert done.exit_code == 2
    assert done.stderr.endswith("nothere: no such file or directory; check the path\n")
    assert "not a Delta table" in prune("history", tmp_path).stderr


def test_history_as_json_has_what_commits_say(table):
    said = json.loads(prune("history", table, "--json", "--limit", "1").output)
    assert said["schema"] == "table-history/1"
    assert [one["version"] for one in said["versions"]] == [1]
    assert said["versions"][0]["info"]["operation"] == "WRITE"


@pytest.fixture
def merged(tmp_path):
    """A table of 5 files, of which two MERGEs rewrote one each, and a DELETE another."""
    place = tmp_path / "merged"
    for first in range(0, 50, 10):
        rows = pa.table({"id": range(first, first + 10), "v": ["a"] * 10})
        deltalake.write_deltalake(place, rows, mode="append")
    source = pa.table({"id": [3, 4], "v": ["b", "b"]})
    for on in ("t.id = s.id", "t.id = s.id AND t.v = s.v"):
        merge = deltalake.DeltaTable(place).merge(source, on, source_alias="s", target_alias="t")
        merge.when_matched_update_all().execute()
    deltalake.DeltaTable(place).delete("id = 28")
    return place


def test_history_ranks_statements_by_what_they_opened_without_need(merged):
    lines = [line.split() for line in prune("history", merged, "--rewrites").output.splitlines()]
    assert [" ".join(line) for line in lines[0:1]] == ["version when statement opened rewritten ratio seconds"]
    statements = [" ".join(line[3:]) for line in lines[1:]]
    assert {line[0] for line in lines[1:3]} == {"5", "6"}
    amounts = r"\d\.\d KiB \d+ B (4\.9|5\.\d)x \d\.\d"
    assert all(re.fullmatch(rf"MERGE on id(, v)? {amounts}", statement) for statement in statements[:2])
    assert (lines[3][0], statements[2].startswith("DELETE id = 28 at most ")) == ("7", True)
    assert [line[:4] for line in lines[4:]] == [["total", "1", "x", "MERGE"]] * 2
    assert prune("history", merged, "--rewrites", "--limit", "1").output.splitlines()[1].split()[0] == "7"


def test_history_as_json_has_the_totals_by_join_keys(merged):
    found = json.loads(prune("history", merged, "--rewrites", "--json").output)
    assert found["schema"] == "table-rewrites/1"
    assert sorted(one["version"] for one in found["statements"][:2]) == [5, 6]
    needless = [one["opened"]["bytes"] - one["rewritten"]["bytes"] for one in found["statements"][:2]]
    assert needless == sorted(needless, reverse=True)
    on_id = next(one for one in found["totals"] if one["join_keys"] == ["id"])
    assert (on_id["statements"], on_id["known"], on_id["opened"]["files"], on_id["rewritten"]["files"]) == (1, 1, 5, 1)
    assert 4 < on_id["ratio"] < 6
    deleted = next(one for one in found["totals"] if one["operation"] == "DELETE")
    assert (deleted["statements"], deleted["known"], deleted["ratio"]) == (1, 0, None)


def test_history_has_no_rewrites_of_other_tables(table, tmp_path):
    assert prune("history", table, "--rewrites").output == "no MERGE, UPDATE or DELETE in the last commits\n"
    pq.write_table(pa.table({"id": [1]}), tmp_path / "0.parquet")
    done = prune("history", tmp_path / "0.parquet", "--rewrites")
    assert (done.exit_code, "--rewrites reads the log of a Delta table" in done.stderr) == (2, True)


def test_vacuum_lists_and_then_deletes_what_no_version_needs(table):
    left = table / "write-0" / "part.parquet"
    left.parent.mkdir()
    left.write_bytes(b"PAR1")
    old = time.time() - 30 * 86_400
    os.utime(left, (old, old))
    listed = prune("vacuum", table)
    assert listed.stdout.splitlines() == [str(left)]
    assert "would be deleted" in listed.stderr
    assert left.exists()
    assert prune("vacuum", table, "--delete").stdout.splitlines() == [str(left)]
    assert not left.exists()
    assert (table / "a.parquet").exists()


def test_vacuum_of_fewer_hours_than_the_table_says_is_refused(table):
    done = prune("vacuum", table, "--retain-hours", "1")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1


def test_a_checkpoint_is_written_once(table):
    assert "checkpoint of version 1 written" in prune("checkpoint", table).output
    assert "checkpoint of version 1 exists already" in prune("checkpoint", table).output


@pytest.mark.parametrize("command", ["history", "vacuum", "checkpoint"])
def test_what_is_no_delta_table_is_one_line(command, tmp_path):
    done = prune(command, tmp_path)
    assert done.exit_code in {2, 3}
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.fixture
def no_spark(monkeypatch):
    def start(**_):
        raise AssertionError("Spark starts")

    monkeypatch.setattr(spark_session, "spark_session", start)


@pytest.mark.usefixtures("no_spark")
def test_a_table_that_has_rows_is_refused_before_spark_starts(table, layout, tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    pq.write_table(pa.table({"id": [1]}), plain / "a.parquet")
    done = prune("write", plain, table, "--layout", layout)
    modes = "pass --mode append, --mode overwrite or --mode replace_partitions"
    assert (done.exit_code, done.stderr) == (2, f"error: {table}: this Delta table exists already; {modes}\n")
    done = prune("write", table, plain, "--layout", layout)
    modes = "pass --mode append or --mode overwrite"
    assert (done.exit_code, done.stderr) == (2, f"error: {plain}: the table has 1 file already; {modes}\n")
    assert "Spark starts" in prune("write", table, plain, "--layout", layout, "--mode", "append").stderr
    for mode in ("error", "append", "overwrite", "replace_partitions"):
        done = prune("write", table, plain, "--layout", layout, "--format", "delta", "--mode", mode)
        assert "holds 1 Parquet file that no Delta log references" in done.stderr
        done = prune("write", plain, table, "--layout", layout, "--format", "parquet", "--mode", mode)
        assert "is a table of Delta" in done.stderr


@pytest.mark.usefixtures("no_spark")
def test_a_source_that_is_missing_or_cannot_be_copied_is_refused_before_spark_starts(layout, tmp_path):
    done = prune("write", tmp_path / "none", tmp_path / "new", "--layout", layout)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {tmp_path / 'none'}: ")
    assert "Spark starts" not in done.stderr
    nested = pa.table({"id": [1], "s": pa.array([{"at": 1}], pa.struct({"at": pa.timestamp("ns")}))})
    pq.write_table(nested, tmp_path / "nested.parquet")
    done = prune("write", tmp_path / "nested.parquet", tmp_path / "new", "--layout", layout)
    assert done.exit_code == 2
    assert "column s.at has timestamps of nanoseconds inside of a nested column" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.spark
def test_nanoseconds_are_rounded_down_to_microseconds(spark, layout, tmp_path):
    """Exactly: before 1970, at the ends of what nanoseconds reach, and in a session zone that is not UTC."""
    values = [-(2**63) + 1, -(10**18) - 1, -1001, -1000, -999, -1, 0, 1, 999, 1000, 1001, 10**18 + 1, 2**63 - 1, None]
    columns = {"a`t.": pa.timestamp("ns", "Europe/Berlin"), "local": pa.timestamp("ns")}
    ids = [*range(len(values))]
    source = pa.table(
        {"id": ids, "x": [float("nan")] * len(ids)} | {n: pa.array(values, k) for n, k in columns.items()}
    )
    pq.write_table(source, tmp_path / "ns.parquet")
    settings = ("spark.sql.legacy.parquet.nanosAsLong", "spark.sql.parquet.filterPushdown")
    before, zone = [spark.conf.get(name) for name in settings], spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        done = prune("write", tmp_path / "ns.parquet", tmp_path / "new", "--layout", layout)
        some = "id > 0 AND x > 3 AND local < TIMESTAMP_NTZ '1970-01-01 00:00:00'"
        part = prune("write", tmp_path / "ns.parquet", tmp_path / "some", "--layout", layout, "--select", some)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert (done.exit_code, part.exit_code) == (0, 0), done.output + part.output
    assert "nanoseconds are rounded down to microseconds, because Spark has no nanoseconds: a`t., local" in done.stderr
    written = pq.read_table(tmp_path / "new").sort_by("id")
    assert written.schema.names == source.schema.names
    assert (written.schema.field("a`t.").type.tz, written.schema.field("local").type.tz) == ("UTC", None)
    known = [None if value is None else value // 1000 for value in values]
    assert [written[name].cast(pa.int64()).to_pylist() for name in columns] == [known, known]
    assert sorted(pq.read_table(tmp_path / "some")["id"].to_pylist()) == [1, 2, 3, 4, 5]
    assert [spark.conf.get(name) for name in settings] == before


@pytest.mark.spark
def test_a_table_is_copied_into_a_layout(spark, table, layout, tmp_path):
    done = prune("write", table, tmp_path / "new", "--layout", layout, "--format", "delta", "--select", "id < 8")
    assert done.exit_code == 0, done.output
    assert "version 0, 8 rows in 2 files" in done.output
    assert "0 files replaced" in done.output
    again = prune("write", table, tmp_path / "new", "--layout", layout)
    assert again.exit_code == 2
    assert "this Delta table exists already" in again.stderr
    assert (
        "version 1, 10 rows" in prune("write", table, tmp_path / "new", "--layout", layout, "--mode", "append").output
    )
    plain = prune("write", table, tmp_path / "plain", "--layout", layout)
    assert plain.exit_code == 0, plain.output
    assert spark.read.parquet(str(tmp_path / "plain")).count() == 10


def test_optimize_says_that_rows_were_not_read_and_reads_them_on_request(tmp_path, layout):
    (tmp_path / "plain").mkdir()
    pq.write_table(pa.table({"id": [1, 0, 2]}), tmp_path / "plain" / "a.parquet", write_page_index=True)
    done = prune("optimize", tmp_path / "plain", "--layout", layout, "--dry-run")
    assert "no file needs a rewrite (1 file checked)" in done.stdout
    assert "the order of rows inside of files was not read: --rows" in done.stdout
    done = prune("optimize", tmp_path / "plain", "--layout", layout, "--dry-run", "--rows")
    assert "not sorted: 1" in done.stdout
    assert "not read" not in done.stdout
