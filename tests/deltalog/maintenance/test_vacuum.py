"""Vacuum removes files that no version within the retention period needs, and no other files."""

from __future__ import annotations

import datetime as dt
import os
import time

import pytest
from log_writer import add, remove

from deltalog.errors import NotADeltaTable, UnsupportedTable
from deltalog.log.actions import DeletionVector
from deltalog.log.deletion_vectors import vector_path
from deltalog.maintenance.vacuum import orphans, vacuum
from deltalog.maintenance.write_checkpoint import write_checkpoint
from parquet_core.errors import UnsupportedFeature, WrongUse

NOW = time.time_ns() // 1_000_000
DAY = 86_400_000
FEATURES = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, **FEATURES}
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}
OLD_VECTOR = VECTOR | {"pathOrInlineDv": "^-aqEH.-t@S}K{vb[*k^"}
IN_FILE = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
OLD_IN_FILE = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


def put(log, path, *, days=30, size=3):
    """Write a file that is dated `days` days ago."""
    file = log.path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x" * size)
    at = (NOW - days * DAY) / 1000
    os.utime(file, (at, at))
    return file


def below(log, files):
    return {os.path.relpath(file.path, log.path) for file in files}


def there(log):
    return {
        str(file.relative_to(log.path))
        for file in log.path.rglob("*")
        if file.is_file() and "_delta_log" not in file.parts
    }


def checkpointed(log):
    return not (log.place / f"{0:020d}.json").exists()


@pytest.fixture(params=["commits", "checkpoint"])
def table(log, request):
    """A table with files of every kind; `kept` and `gone` list the expected results."""
    vectors = {"deletionVector": VECTOR}
    log.create(
        [("p", "string"), ("x", "long")],
        add("live.parquet"),
        add("p=a%2520b/x%20y.parquet", partition={"p": "a%20b"}),
        add("_p=1/hidden.parquet"),
        add("with_vector.parquet", **vectors),
        add("./dotted//path.parquet"),
        add(f"file:{log.path}/absolute.parquet"),
        add("s3://elsewhere/clone/part-7.parquet"),
        protocol=PROTOCOL,
        partitioned=["p"],
    )
    log.commit(remove("young.parquet", at=NOW - DAY), remove("old.parquet", at=NOW - 20 * DAY))
    log.commit(remove("young_vector.parquet", at=NOW - DAY, vector=OLD_VECTOR), {"remove": {"path": "ageless.parquet"}})
    if request.param == "checkpoint":
        write_checkpoint(str(log), clean=False)
        for version in range(3):
            (log.place / f"{version:020d}.json").unlink()
    log.kept = ["live.parquet", "p=a%20b/x y.parquet", "_p=1/hidden.parquet", "with_vector.parquet", IN_FILE]
    log.kept += ["dotted/path.parquet", "absolute.parquet", "young.parquet", "young_vector.parquet", OLD_IN_FILE]
    log.kept += ["_hidden/x.parquet", ".hidden/x.parquet", "p=1/_temporary/x.parquet", "_SUCCESS"]
    log.gone = ["old.parquet", "ageless.parquet", "never.parquet", "_q=1/never.parquet", "_change_data/p=1/cdc.parquet"]
    log.gone += ["ab/deletion_vector_never.bin"]
    for path in log.kept + log.gone:
        put(log, path)
    put(log, "uncommitted.parquet", days=1)
    put(log, "_change_data/young.parquet", days=1)
    log.kept += ["uncommitted.parquet", "_change_data/young.parquet"]
    return log


def test_what_goes_is_told_first_and_then_gone(table):
    everything = there(table)
    dry = vacuum(str(table), now=NOW)
    assert dry.dry_run
    assert there(table) == everything
    assert below(table, dry.files) == set(table.gone)
    assert dry.bytes == 3 * len(table.gone)
    done = vacuum(str(table), dry_run=False, now=NOW)
    assert below(table, done.files) == set(table.gone)
    assert done.failed == ()
    assert there(table) == set(table.kept)
    assert done.young == 2
    assert vacuum(str(table), now=NOW).files == ()


def test_waiting_files_go_when_their_time_has_come(table):
    """This covers removed files and files that no commit names; files of the latest version are never removed."""
    removed = {"young.parquet", "young_vector.parquet", OLD_IN_FILE}
    unreferenced = {"uncommitted.parquet", "_change_data/young.parquet"}
    found = vacuum(str(table), now=NOW)
    assert below(table, [one.file for one in found.waiting]) == removed | unreferenced
    assert found.waiting_bytes == 3 * len(found.waiting)
    assert below(table, [one.file for one in found.waiting if one.removed]) == removed
    times = [one.removable_from for one in found.waiting]
    first, last = min(times), max(times)
    assert NOW + 6 * DAY - 1000 <= first <= last <= NOW + 6 * DAY + 1000
    assert below(table, vacuum(str(table), now=first - 1).files) == set(table.gone)
    later = vacuum(str(table), now=last)
    assert below(table, later.files) == set(table.gone) | removed | unreferenced
    assert later.waiting == ()


def test_a_file_without_a_time_waits_for_ever(log, monkeypatch):
    from deltalog.maintenance import vacuum as module

    log.create([("x", "long")])
    put(log, "x.parquet")
    files = {path: file._replace(modified_ns=0) for path, file in module.table_files(str(log)).items()}
    monkeypatch.setattr(module, "table_files", lambda *_, **__: files)
    found = vacuum(str(log), now=NOW)
    assert found.files == ()
    assert [one.removable_from for one in found.waiting] == [None]


def test_the_fixture_s_vectors_are_where_the_log_says(table):
    for said, path in ((VECTOR, IN_FILE), (OLD_VECTOR, OLD_IN_FILE)):
        assert vector_path(DeletionVector("u", said["pathOrInlineDv"], 40, 6, 4), "t") == f"t/{path}"


def test_orphans_are_what_neither_the_log_nor_its_tombstones_name(table):
    expected = {"never.parquet", "_q=1/never.parquet", "ab/deletion_vector_never.bin", "uncommitted.parquet"}
    # A checkpoint drops expired tombstones.
    expected |= {"old.parquet", "ageless.parquet"} if checkpointed(table) else set()
    found = orphans(str(table))
    assert below(table, found) == expected
    assert sum(file.size for file in found) == 3 * len(expected)


def test_a_shorter_retention_needs_to_be_insisted_on(table):
    with pytest.raises(WrongUse, match=r"shorter than the 'interval 1 week'.*allow_shorter=True"):
        vacuum(str(table), retention=dt.timedelta(0), now=NOW)
    with pytest.raises(WrongUse, match="give one that is not negative"):
        vacuum(str(table), retention=dt.timedelta(-1), allow_shorter=True, now=NOW)
    found = below(table, vacuum(str(table), retention=dt.timedelta(0), allow_shorter=True, now=NOW).files)
    more = {"young.parquet", "young_vector.parquet", OLD_IN_FILE, "uncommitted.parquet", "_change_data/young.parquet"}
    assert found == set(table.gone) | more


def test_a_longer_retention_keeps_more(table):
    found = below(table, vacuum(str(table), retention=dt.timedelta(25), now=NOW).files)
    # Limited by the tombstones that the log still has: a checkpoint drops them by the table property.
    known = set() if checkpointed(table) else {"old.parquet"}
    assert found == set(table.gone) - known


def test_the_property_says_how_long(log):
    log.create([("x", "long")], **{"delta.deletedFileRetentionDuration": "interval 10 days"})
    log.commit(remove("x.parquet", at=NOW - 8 * DAY))
    put(log, "x.parquet")
    assert vacuum(str(log), now=NOW).files == ()
    assert len(vacuum(str(log), now=NOW + 3 * DAY).files) == 1


def test_links_lead_nowhere_and_tables_inside_are_left_alone(log, tmp_path):
    log.create([("x", "long")])
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious.parquet").write_bytes(b"x")
    os.utime(outside / "precious.parquet", (1, 1))
    (log.path / "link").symlink_to(outside)
    (log.path / "link.parquet").symlink_to(outside / "precious.parquet")
    put(log, "inner/_delta_log/00000000000000000000.json")
    put(log, "inner/x.parquet")
    put(log, "gone.parquet")
    done = vacuum(str(log), dry_run=False, now=NOW)
    assert below(log, done.files) == {"gone.parquet"}
    assert (outside / "precious.parquet").exists()
    assert (log.path / "inner" / "x.parquet").exists()


def test_a_file_that_changed_since_it_was_listed_is_left(log, monkeypatch):
    log.create([("x", "long")])
    file = put(log, "x.parquet")
    from deltalog.maintenance import vacuum as module

    monkeypatch.setattr(module, "open_state", _after(lambda: file.write_bytes(b"new"), module.open_state))
    done = vacuum(str(log), dry_run=False, now=NOW)
    assert done.files == ()
    ((_, why),) = done.failed
    assert "changed since it was listed" in why
    assert file.read_bytes() == b"new"


def _after(first, then):
    def called(*args):
        first()
        return then(*args)

    return called


def test_a_file_that_is_committed_meanwhile_is_kept(log, monkeypatch):
    """The files are listed before the log is read."""
    log.create([("x", "long")])
    put(log, "x.parquet")
    from deltalog.maintenance import vacuum as module

    monkeypatch.setattr(module, "open_state", _after(lambda: log.commit(add("x.parquet")), module.open_state))
    assert vacuum(str(log), dry_run=False, now=NOW).files == ()


def test_what_cannot_be_deleted_is_told_and_does_not_keep_the_rest(log, monkeypatch):
    log.create([("x", "long")], add("live.parquet"))
    for name in ("a.parquet", "b.parquet", "live.parquet"):
        put(log, name)
    unlink = os.unlink

    def refuse(path, **options):
        if str(path).endswith("a.parquet"):
            raise PermissionError(13, "Permission denied", str(path))
        unlink(path, **options)

    monkeypatch.setattr(os, "unlink", refuse)
    done = vacuum(str(log), dry_run=False, now=NOW)
    assert below(log, done.files) == {"b.parquet"}
    ((file, why),) = done.failed
    assert file.size == 3
    assert "Permission denied" in why
    assert there(log) == {"a.parquet", "live.parquet"}


def test_features_that_are_not_known_are_refused_and_the_vacuum_check_is_known(log, tmp_path):
    both = {"readerFeatures": ["vacuumProtocolCheck"], "writerFeatures": ["vacuumProtocolCheck"]}
    log.create([("x", "long")], protocol=PROTOCOL | both)
    put(log, "x.parquet")
    assert len(vacuum(str(log), now=NOW).files) == 1
    log.commit({"protocol": PROTOCOL | {"writerFeatures": ["deletionVectors", "futureThing"]}})
    with pytest.raises(UnsupportedTable, match="futureThing"):
        vacuum(str(log), dry_run=False, now=NOW)
    assert there(log) == {"x.parquet"}


def test_a_directory_without_a_log_is_no_table(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"x")
    with pytest.raises(NotADeltaTable):
        vacuum(str(tmp_path), dry_run=False, now=NOW)
    assert (tmp_path / "x.parquet").exists()


def test_other_stores_are_refused():
    with pytest.raises(UnsupportedFeature, match="is not deleted from"):
        vacuum("memory://t", dry_run=False)


def test_old_retention_times_of_tombstones_without_one(log):
    """A tombstone without a time counts as old."""
    log.create([("x", "long")], {"remove": {"path": "x.parquet"}})
    put(log, "x.parquet")
    assert len(vacuum(str(log), now=NOW).files) == 1
