"""`prune explain` and `prune inspect` of Delta tables, as a user runs them."""

from __future__ import annotations

import datetime as dt
import json
import os
import re

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from prune_assets.cli import main
from prune_assets.report.inspection.json_form import json_schema

deltalake = pytest.importorskip("deltalake")


def prune(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Three commits of a hundred rows; statistics of `x` and `flag` alone."""
    path = tmp_path_factory.mktemp("lake") / "t"
    for i in range(3):
        numbers = list(range(i * 100, i * 100 + 100))
        columns = {
            "x": numbers,
            "name": [f"n{n}" for n in numbers],
            "flag": [n > 5 for n in numbers],
            "day": [str(i)] * 100,
        }
        properties = {"delta.dataSkippingStatsColumns": "x,`flag`"} if i == 0 else None
        deltalake.write_deltalake(
            str(path),
            pa.table(columns),
            mode="append",
            partition_by=["day"] if i == 0 else None,
            configuration=properties,
        )
    return path


def test_explain_plans_the_version_that_is_asked_for(table):
    last = json.loads(prune("explain", table, "--where", "x >= 50", "--json").stdout)
    first = json.loads(prune("explain", table, "--where", "x >= 50", "--json", "--version", 0).stdout)
    assert (last["table_snapshot"]["version"], last["total"]["files"]) == (2, 3)
    assert (first["table_snapshot"]["version"], first["total"]["files"]) == (0, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--version", "9"], "version 9"),
        (["--version", "-1"], "--version"),
        (["--timestamp", "soon"], "not a valid time"),
        (["--version", "0", "--timestamp", "2024-01-01T00:00:00Z"], "cannot be combined"),
        (["--timestamp", "2001-01-01T00:00:00Z"], "no version at"),
    ],
)
def test_a_version_that_is_not_there_is_wrong_use(table, options, message):
    result = prune("explain", table, "--where", "x = 1", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize("options", [["--version", "0"], ["--timestamp", "2024-01-01T00:00:00Z"]])
def test_a_version_of_a_plain_table_is_wrong_use(tmp_path, options):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    result = prune("explain", tmp_path, "--where", "x = 1", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "not a Delta table" in result.stderr


def test_inspect_shows_version_features_coverage_and_log(table):
    text = " ".join(prune("inspect", table).stdout.split())
    assert "Delta table" in text
    assert "Version 2, committed at" in text
    assert "Rows 300" in text
    assert "Partitioned by day" in text
    assert "Checkpoint none" in text
    assert "Commits since 3" in text


def test_inspect_says_in_how_many_files_a_column_has_statistics_and_why_not(table):
    found = json.loads(prune("inspect", table, "--json").stdout)
    jsonschema.validate(found, json_schema())
    columns = {column["name"]: column for column in found["columns"]}
    assert (columns["x"]["bounds"], columns["x"]["null_counts"], columns["x"]["why"]) == (3, 3, "")
    assert columns["name"]["why"] == "no minimum or maximum: delta.dataSkippingStatsColumns does not name the column"
    assert columns["flag"]["why"] == "type boolean has only null counts"
    assert columns["day"]["why"] == "partition column: the log has its values"
    assert next(size["files"] for size in found["sizes"]) == found["files"] == 3
    assert [
        column["name"] for column in json.loads(prune("inspect", table, "--json", "--columns", "X").stdout)["columns"]
    ] == ["x"]


@pytest.fixture
def demanding(tmp_path):
    """A table with all kinds of constraints, clustered by a column with another physical name."""
    mapped = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c1"}
    generated = {"delta.generationExpression": "x * 2"}
    fields = [
        {"name": "x", "type": "double", "nullable": False, "metadata": mapped},
        {"name": "twice", "type": "double", "nullable": True, "metadata": generated},
    ]
    features = ["clustering", "domainMetadata", "checkConstraints", "generatedColumns", "invariants", "columnMapping"]
    configuration = {"delta.columnMapping.mode": "name", "delta.constraints.positive": "x > 0"}
    stats = {"numRecords": 3, "minValues": {"c1": 1.5}, "maxValues": {"c1": "NaN"}, "nullCount": {"c1": 0}}
    schema = json.dumps({"type": "struct", "fields": fields})
    actions = [
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 7, "writerFeatures": features}},
        {"metaData": {"id": "t", "schemaString": schema, "partitionColumns": [], "configuration": configuration}},
        {"domainMetadata": {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["c1"]]}'}},
        {"add": {"path": "a", "partitionValues": {}, "size": 1, "modificationTime": 1, "stats": json.dumps(stats)}},
    ]
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{0:020d}.json").write_text("\n".join(map(json.dumps, actions)))
    return tmp_path


def test_inspect_shows_clustering_columns_and_what_is_demanded_of_rows(demanding):
    found = json.loads(prune("inspect", demanding, "--json").stdout)
    jsonschema.validate(found, json_schema())
    assert (found["clustered_by"], found["not_null"]) == (["x"], ["x"])
    assert [tuple(demand.values()) for demand in found["constraints"]] == [
        ("checkConstraints", "positive", "x > 0"),
        ("generatedColumns", "twice", "x * 2"),
    ]
    text = " ".join(prune("inspect", demanding).stdout.split())
    for words in ("Clustered by x", "Not null x", "Check positive: x > 0", "Generated twice: x * 2"):
        assert words in text


def test_inspect_says_of_a_float_column_that_its_least_value_is_trusted_where_nan_is_open(demanding):
    columns = {column["name"]: column for column in json.loads(prune("inspect", demanding, "--json").stdout)["columns"]}
    why = "the maximum is NaN: the minimum alone is used"
    assert (columns["x"]["bounds"], columns["x"]["why"]) == (0, why)


def test_inspect_refuses_what_only_files_have(table):
    for option in (["--pages"], ["--columns", "x", "--bloom", "1"], ["--columns", "y"], ["--version", "7"]):
        assert prune("inspect", table, *option).exit_code == 2


def test_inspect_shows_the_version_at_a_time(table):
    found = json.loads(prune("inspect", table, "--json", "--version", 1).stdout)
    at = dt.datetime.fromtimestamp(found["time"] / 1000, dt.UTC).isoformat()
    again = json.loads(prune("inspect", table, "--json", "--timestamp", at).stdout)
    assert again["version"] == found["version"] == 1
    assert again["orphans"] is None
    both = prune("inspect", table, "--version", 1, "--timestamp", at)
    assert (both.exit_code, both.stdout) == (2, "")
    assert "cannot be combined" in both.stderr


def test_inspect_finds_files_that_no_version_names(tmp_path):
    path = tmp_path / "t"
    rows = pa.table({"x": [1, 2], "_p": ["a", "b"]})
    deltalake.write_deltalake(str(path), rows, partition_by=["_p"])
    deltalake.write_deltalake(str(path), rows, mode="overwrite")
    clean = json.loads(prune("inspect", path, "--orphans", "--json").stdout)
    jsonschema.validate(clean, json_schema())
    assert clean["orphans"] == {"files": 0, "bytes": 0, "first": []}
    (path / "_p=c").mkdir()
    (path / "_hidden").mkdir()
    names = ["left.parquet", "_p=c/left.parquet", "_p=a/notes.txt", "_hidden/passed-over.parquet", ".crc"]
    for name in names:
        (path / name).write_bytes(b"1234")
    found = json.loads(prune("inspect", path, "--orphans", "--json").stdout)["orphans"]
    assert (found["files"], found["bytes"]) == (3, 12)
    assert sorted(found["first"]) == sorted(str(path / name) for name in names[:3])
    text = " ".join(prune("inspect", path, "--orphans").stdout.split())
    assert "Orphans 3 files, 12 B" in text
    assert "Files that no version references" not in prune("inspect", path).stdout


def test_orphans_of_a_plain_table_are_wrong_use(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    result = prune("inspect", tmp_path, "--orphans")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "not a Delta table" in result.stderr


@pytest.mark.parametrize("command", ["explain", "check", "count"])
def test_a_file_that_is_gone_is_told_from_a_table_that_is_not_there(tmp_path, command):
    deltalake.write_deltalake(str(tmp_path), pa.table({"x": [1, 2]}))
    (file,) = tmp_path.glob("*.parquet")
    file.unlink()
    options = [] if command == "check" else ["--where", "x = 1"]
    result = prune(command, tmp_path, *options)
    assert result.exit_code == 2
    assert (
        f"{file.name}: the log references this file (version 0), but it is gone; restore it, or open" in result.stderr
    )


def test_vacuum_says_what_waits_and_until_when(tmp_path):
    """Two overwrites remove a file each, and one file is left over from a write that was never committed."""
    for number in range(3):
        deltalake.write_deltalake(str(tmp_path), pa.table({"x": [number]}), mode="overwrite")
    result = prune("vacuum", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert re.fullmatch(
        r"0 files, 0 B would be deleted: pass --delete to delete; 2 files, [\d.]+ \S+, wait for the end of the "
        r"retention period \(2 removed by commits\) and can be deleted from \d{4}-\d\d-\d\d \d\d:\d\d UTC"
        r"(, all of them from \d{4}-\d\d-\d\d \d\d:\d\d UTC)?\n",
        result.stderr,
    )
    (tmp_path / "left-behind.parquet").write_bytes(b"PAR1")
    assert "3 files, " in (text := prune("vacuum", tmp_path).stderr)
    assert "(2 removed by commits, 1 that no commit names)" in text


def test_vacuum_names_the_minute_from_which_a_file_goes(tmp_path):
    deltalake.write_deltalake(str(tmp_path), pa.table({"x": [1]}))
    left = tmp_path / "left-behind.parquet"
    left.write_bytes(b"PAR1")
    written = dt.datetime.now(dt.UTC).replace(second=30, microsecond=0) - dt.timedelta(days=3)
    os.utime(left, (written.timestamp(), written.timestamp()))
    goes = (written + dt.timedelta(days=7)).replace(second=0) + dt.timedelta(minutes=1)
    text = prune("vacuum", tmp_path).stderr
    assert text.endswith(
        f"1 file, 4 B, waits for the end of the retention period (1 that no commit names) and can be deleted from "
        f"{goes:%Y-%m-%d %H:%M} UTC\n"
    )
    assert "no file waits" in prune("vacuum", tmp_path, "--retain-hours", 24, "--allow-shorter").stderr


def test_vacuum_of_a_table_that_keeps_files_for_ever(tmp_path):
    forever = {"delta.deletedFileRetentionDuration": "interval 100000000 days"}
    deltalake.write_deltalake(str(tmp_path), pa.table({"x": [1]}), configuration=forever)
    (tmp_path / "left-behind.parquet").write_bytes(b"PAR1")
    assert "can be deleted from 9999-12-31" in prune("vacuum", tmp_path).stderr
