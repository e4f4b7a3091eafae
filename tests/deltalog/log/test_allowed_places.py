"""A log may name files below its table; other locations must be allowed by an argument or PRUNE_DELTA_ALLOW."""

from __future__ import annotations

import json
import os
import time

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checkpoint_writer import write_checkpoint
from log_answers import refreshed
from log_writer import PROTOCOL, Log, add

import prune_assets as pr
from deltalog.errors import MalformedLog, OutsideTable
from deltalog.log.allowed_locations import opened_place
from deltalog.log.paths import canonical_path, resolve
from deltalog.snapshot import write_cache
from deltalog.snapshot.history import snapshot_time
from deltalog.snapshot.opening import open_snapshot
from deltalog.transaction.live_files import live_files
from parquet_core.dataset.metadata_cache import MetadataCache
from parquet_core.errors import UnsupportedFeature, WrongUse
from parquet_core.storage import find_file
from prune_assets.dagster import LayoutTable
from prune_assets.planner.explain.plan import plan

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


def aged(directory, *more):
    """Set old file times, so that the files count as settled."""
    for path in [*directory.iterdir(), *more]:
        os.utime(path, (time.time() - 3_600,) * 2)


def opened(table, path, allow=()):
    return opened_place(table, resolve(table, canonical_path(path)), allow)


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
    assert opened("gs://b/t", path, allowed.split(", ")) == place
    monkeypatch.setenv("PRUNE_DELTA_ALLOW", allowed)
    assert opened("gs://b/t", path) == place
    assert opened("gs://b/t", path, ["/elsewhere"]) == place


@pytest.mark.parametrize("path", ["s3://source2/t/x.parquet", "s3://source/../x/y.parquet", "file:///etc/passwd"])
def test_nothing_beside_what_the_user_allows_is_opened(monkeypatch, path):
    with pytest.raises(OutsideTable, match="outside of the table's folder"):
        opened("gs://b/t", path, ["s3://source/t", "https://h"])
    monkeypatch.setenv("PRUNE_DELTA_ALLOW", "s3://source/t,https://h")
    with pytest.raises(OutsideTable, match="outside of the table's folder"):
        opened("gs://b/t", path)


@pytest.mark.parametrize("allow", ["s3://source/t", b"/lake", [""], [" "], [1], [None]])
def test_what_is_no_list_of_addresses_is_refused(tmp_path, allow):
    log = Log(tmp_path / "t")
    log.create([("x", "long")])
    for ask in (open_snapshot, lambda table, **options: plan(table, where="x = 1", **options)):
        with pytest.raises(WrongUse, match=r"^allow=.*give .*allow=\["):
            ask(str(log), allow=allow)


def test_what_is_no_name_of_a_file_is_refused():
    with pytest.raises(MalformedLog, match="is not the name of a file"):
        opened("/lake/t", "a%00b.parquet")


def test_a_table_reached_by_a_link_has_its_own_absolute_paths(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "t")
    for table, other in (("t", "link"), ("link", "t")):
        path = str(tmp_path / other / "x.parquet")
        assert opened(str(tmp_path / table), path) == path


@pytest.fixture
def clone(tmp_path):
    """Create a table that refers to a file and a deletion vector of another file in the directory of its source."""
    pq.write_table(pa.table({"x": [1]}), tmp_path / "source.parquet")
    pq.write_table(pa.table({"x": [2, 2]}), tmp_path / "t.parquet")
    log = Log(tmp_path / "t")
    log.create([("x", "long")], add(f"file://{tmp_path}/source.parquet"))
    return log


def planned(log, **options):
    return pr.plan(str(log), where="x = 1", **options)


def address_in(refused, mark):
    return str(refused.value).partition(mark)[2].partition(" ")[0].strip("[],'")


def test_a_plan_opens_files_elsewhere_only_where_they_are_allowed(clone, monkeypatch):
    with pytest.raises(OutsideTable, match=r"PRUNE_DELTA_ALLOW=") as refused:
        planned(clone)
    assert address_in(refused, "allow=") == address_in(refused, "ALLOW=")
    assert [file.verdict for file in planned(clone, allow=[address_in(refused, "allow=")]).files] == ["scan"]
    with pytest.raises(OutsideTable):
        planned(clone)
    monkeypatch.setenv("PRUNE_DELTA_ALLOW", address_in(refused, "ALLOW="))
    assert [file.verdict for file in planned(clone).files] == ["scan"]


def test_checks_open_files_elsewhere_only_where_they_are_allowed(clone, tmp_path):
    layout = pr.LayoutSpec(sort_by=("x",))
    with pytest.raises(OutsideTable):
        pr.check(str(clone), layout=layout)
    found = pr.check(str(clone), layout=layout, allow=[str(tmp_path)])
    assert {"order.rows"} <= {finding.code for finding in found}


def test_checks_of_dagster_open_files_elsewhere_only_where_they_are_allowed(clone, tmp_path):
    def errors(**options):
        checks = LayoutTable("t", str(clone), layout=pr.LayoutSpec(sort_by=("x",)), **options).checks()
        return {result.metadata.get("error_type") for result in checks(dg.build_asset_check_context())}

    assert {said.value for said in errors()} == {"OutsideTable"}
    assert errors(allow=[str(tmp_path)]) == {None}


def sidecar_elsewhere(tmp_path, spelled):
    """Create a table whose checkpoint has a sidecar outside of the table."""
    log = Log(tmp_path / "t")
    log.create([("x", "long")], protocol=PROTOCOL | V2)
    created = [*map(json.loads, (log.place / f"{0:020d}.json").read_text().splitlines())]
    sidecar = tmp_path / "elsewhere.parquet"
    write_checkpoint(sidecar, [add("f")], names=["add"])
    named = {"sidecar": {"path": spelled.format(sidecar), "sizeInBytes": 1, "modificationTime": 1}}
    log.write(f"{0:020d}.checkpoint.{UUID}.json", {"checkpointMetadata": {"version": 0}}, *created, named)
    (log.place / f"{0:020d}.json").unlink()
    log.commit(add("g"))
    return log


@pytest.mark.parametrize("spelled", ["file://{}", "{}", "../../{}"])
def test_sidecars_elsewhere_are_opened_only_where_they_are_allowed(tmp_path, monkeypatch, spelled):
    log = sidecar_elsewhere(tmp_path, spelled)
    if spelled.startswith(".."):
        with pytest.raises(pr.PruneError, match="is not the name of a file"):
            open_snapshot(str(log))
        return
    with pytest.raises(OutsideTable, match="PRUNE_DELTA_ALLOW="):
        open_snapshot(str(log))
    held = open_snapshot(str(log), allow=[tmp_path])
    assert held.paths() == ["f", "g"]
    assert [file.path for file in live_files(held, ["f"])] == ["f"]
    assert open_snapshot(str(log), allow=[tmp_path], timestamp=snapshot_time(held)).version == 1
    monkeypatch.setenv("PRUNE_DELTA_ALLOW", str(tmp_path))
    assert open_snapshot(str(log)).file_count == 2


def test_what_one_snapshot_may_open_is_not_open_to_another(tmp_path, monkeypatch):
    monkeypatch.setattr(write_cache, "_LEAST_BYTES", 0)
    log = sidecar_elsewhere(tmp_path, "{}")
    aged(log.place, tmp_path / "elsewhere.parquet")
    cache = MetadataCache(tmp_path / "cache")
    held = open_snapshot(str(log), cache=cache, allow=[str(tmp_path)])
    held.save()
    again = open_snapshot(str(log), cache=cache, allow=[str(tmp_path)])
    assert again.opened == (), "it was kept on disk"
    assert again.allow == (str(tmp_path),)
    with pytest.raises(OutsideTable):
        open_snapshot(str(log), cache=cache)
    log.commit(add("h"))
    assert refreshed(again).file_count == 3
    (log.place / f"{1:020d}.json").write_text(json.dumps(add("i")) + "\n")
    # The log is read again, because a commit that created the version was replaced.
    anew = refreshed(again)
    assert "i" in anew.paths()
    assert anew.allow == again.allow


@pytest.mark.parametrize("uri", ["zip://x::file:///etc/passwd", "simplecache::s3://b/t", "memory://a::file:///etc"])
def test_chained_uris_are_refused_wherever_they_stand(uri, monkeypatch):
    monkeypatch.setenv("PRUNE_DELTA_ALLOW", "zip://x::file:, zip://, memory://")
    for ask in (find_file, pr.plan):
        with pytest.raises(UnsupportedFeature, match="chained URIs are not read"):
            ask(uri) if ask is find_file else ask(uri, where="x = 1")
