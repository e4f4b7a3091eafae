"""A log may name files below its table; any other only where PRUNE_DELTA_ALLOW names the address."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checkpoint_writer import write_checkpoint
from log_writer import PROTOCOL, Log, add

import prune_assets as pr
from deltalog.allowed_places import opened_place
from deltalog.errors import MalformedLog, OutsideTable
from deltalog.paths import canonical_path, resolve
from deltalog.snapshot import open_snapshot
from parquet_core.errors import UnsupportedFeature
from parquet_core.storage import find_file

UUID = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"
V2 = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["v2Checkpoint"],
    "writerFeatures": ["v2Checkpoint"],
}


@pytest.fixture(autouse=True)
def nothing_allowed(monkeypatch):
    monkeypatch.delenv("PRUNE_DELTA_ALLOW", raising=False)


def opened(table, path):
    return opened_place(table, resolve(table, canonical_path(path)))


@pytest.mark.parametrize(
    ("table", "path", "place"),
    [
        ("/lake/t", "p=1/x.parquet", "/lake/t/p=1/x.parquet"),
        ("/lake/t", "p=a%252Fb..c/x.parquet", "/lake/t/p=a%2Fb..c/x.parquet"),
        ("/lake/t", "a/../x.parquet", "/lake/t/x.parquet"),
        ("/lake/t", "file:/lake/t/x.parquet", "/lake/t/x.parquet"),
        ("/lake/t/", "file:///lake/t/x.parquet", "/lake/t/x.parquet"),
        ("../t", "p=1/x.parquet", "../t/p=1/x.parquet"),
        ("s3://b/t", "x%20y.parquet", "s3://b/t/x y.parquet"),
        ("s3://b/t", "s3a://b/t/x.parquet", "s3a://b/t/x.parquet"),
        ("s3://b", "x.parquet", "s3://b/x.parquet"),
        ("s3://b/t", "a/%2e%2e/x.parquet", "s3://b/t/x.parquet"),
    ],
)
def test_what_lies_below_the_table_is_opened(table, path, place):
    assert opened(table, path) == place


@pytest.mark.parametrize(
    ("table", "path"),
    [
        ("/lake/t", "http://127.0.0.1:8080/x.parquet"),
        ("/lake/t", "webhdfs://h/x.parquet"),
        ("/lake/t", "zip://x::file:///etc/passwd"),
        ("/lake/t", "file:///etc/passwd"),
        ("/lake/t", "/etc/passwd"),
        ("/lake/t", "/lake/t2/x.parquet"),
        ("/lake/t", "../t2/x.parquet"),
        ("/lake/t", "%2e%2e/t2/x.parquet"),
        ("/lake/t", "%252e%252e%252ft2/x.parquet"),
        ("/lake/t", "a/../../t2/x.parquet"),
        ("/lake/t", "s3:/b/x.parquet"),
        ("s3://b/t", "s3://other/t/x.parquet"),
        ("s3://b/t", "s3://b/t/../other/x.parquet"),
        ("s3://b/t", "s3://b/t2/x.parquet"),
        ("s3://b/t", "../other/x.parquet"),
        ("s3://b/t", "/b/t/x.parquet"),
        ("abfss://c@h/t", "abfss://c@h.attacker/t/x.parquet"),
    ],
)
def test_what_lies_elsewhere_is_not_opened(table, path):
    with pytest.raises(OutsideTable, match="PRUNE_DELTA_ALLOW="):
        opened(table, path)


@pytest.mark.parametrize(
    ("allowed", "path", "place"),
    [
        ("s3://source/t", "s3://source/t/x.parquet", "s3://source/t/x.parquet"),
        ("/a, s3://source/", "s3a://source/t/x.parquet", "s3a://source/t/x.parquet"),
        ("file:///lake", "/lake/source/x.parquet", "/lake/source/x.parquet"),
        ("/", "/lake/source/x.parquet", "/lake/source/x.parquet"),
    ],
)
def test_what_the_user_allows_is_opened(monkeypatch, allowed, path, place):
    monkeypatch.setenv("PRUNE_DELTA_ALLOW", allowed)
    assert opened("gs://b/t", path) == place


@pytest.mark.parametrize("path", ["s3://source2/t/x.parquet", "s3://source/../x/y.parquet", "file:///etc/passwd"])
def test_nothing_beside_what_the_user_allows_is_opened(monkeypatch, path):
    monkeypatch.setenv("PRUNE_DELTA_ALLOW", "s3://source/t,https://h")
    with pytest.raises(OutsideTable, match="is not below the table"):
        opened("gs://b/t", path)


def test_what_is_no_name_of_a_file_is_refused():
    with pytest.raises(MalformedLog, match="no name of a file"):
        opened("/lake/t", "a%00b.parquet")


def test_a_table_reached_by_a_link_has_its_own_absolute_paths(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "t")
    for table, other in (("t", "link"), ("link", "t")):
        path = str(tmp_path / other / "x.parquet")
        assert opened(str(tmp_path / table), path) == path


def planned(log):
    return pr.plan(str(log), where="x = 1")


def test_a_plan_opens_files_elsewhere_only_where_they_are_allowed(tmp_path, monkeypatch):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "elsewhere.parquet")
    log = Log(tmp_path / "t")
    log.create([("x", "long")], add(f"file://{tmp_path}/elsewhere.parquet"))
    with pytest.raises(OutsideTable, match="PRUNE_DELTA_ALLOW=") as refused:
        planned(log)
    monkeypatch.setenv("PRUNE_DELTA_ALLOW", str(refused.value).rpartition("ALLOW=")[2].partition(" ")[0])
    assert [file.verdict for file in planned(log).files] != ["skip"]


@pytest.mark.parametrize("spelled", ["file://{}", "{}", "../../{}"])
def test_sidecars_elsewhere_are_opened_only_where_they_are_allowed(tmp_path, monkeypatch, spelled):
    log = Log(tmp_path / "t")
    log.create([("x", "long")], protocol=PROTOCOL | V2)
    created = [*map(json.loads, (log.place / f"{0:020d}.json").read_text().splitlines())]
    sidecar = tmp_path / "elsewhere.parquet"
    write_checkpoint(sidecar, [add("f")], names=["add"])
    named = {"sidecar": {"path": spelled.format(sidecar), "sizeInBytes": 1, "modificationTime": 1}}
    log.write(f"{0:020d}.checkpoint.{UUID}.json", {"checkpointMetadata": {"version": 0}}, *created, named)
    (log.place / f"{0:020d}.json").unlink()
    if spelled.startswith(".."):
        with pytest.raises(pr.PruneError, match="is no name of a file"):
            open_snapshot(str(log))
        return
    with pytest.raises(OutsideTable, match="PRUNE_DELTA_ALLOW="):
        open_snapshot(str(log))
    monkeypatch.setenv("PRUNE_DELTA_ALLOW", str(tmp_path))
    assert open_snapshot(str(log)).paths() == ["f"]


@pytest.mark.parametrize("uri", ["zip://x::file:///etc/passwd", "simplecache::s3://b/t", "memory://a::file:///etc"])
def test_chained_uris_are_refused_wherever_they_stand(uri, monkeypatch):
    monkeypatch.setenv("PRUNE_DELTA_ALLOW", "zip://x::file:, zip://, memory://")
    for ask in (find_file, pr.plan):
        with pytest.raises(UnsupportedFeature, match="chained URIs are not read"):
            ask(uri) if ask is find_file else ask(uri, where="x = 1")
