"""Log cleanup removes only expired files that no remaining version needs, in a safe order."""

from __future__ import annotations

import os
import time

import pytest
from log_writer import add
from state_facts import snapshot_facts

from deltalog.errors import NoSuchVersion, UnsupportedTable
from deltalog.maintenance.clean_log import clean_log
from deltalog.maintenance.write_checkpoint import write_checkpoint
from deltalog.snapshot.history import versions
from deltalog.snapshot.opening import open_snapshot
from parquet_core.errors import WrongUse

DAY = 86_400_000
# Noon of a day.
NOW = 1_800_000_000_000 // DAY * DAY + DAY // 2
V2 = ["v2Checkpoint"]
V2_PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": V2, "writerFeatures": V2}


def made(log, version, days):
    """Set the file times of a version to `days` days before NOW."""
    at = (NOW - days * DAY) / 1000
    for file in log.place.glob(f"*{version:020d}.*"):
        os.utime(file, (at, at))
    return at


def history_of(log, days, *, checkpoints=(), protocol=None, **configuration):
    """Create a log with one commit per entry of `days`, dated that many days ago."""
    for version, ago in enumerate(days):
        if version == 0:
            options = {} if protocol is None else {"protocol": protocol}
            log.create([("x", "long")], add("f0"), **options, **configuration)
        else:
            log.commit(add(f"f{version}"))
        if version in checkpoints:
            write_checkpoint(str(log), version, clean=False)
        made(log, version, ago)
    return log


def left(log):
    return sorted(file.name for file in log.place.iterdir() if file.is_file())


def test_everything_before_the_last_checkpoint_that_has_expired_goes(log):
    history_of(log, [50, 40, 35, 33, 31, 20, 1], checkpoints=(1, 3, 5))
    facts = {version: snapshot_facts(log.path, version=version) for version in range(3, 7)}
    dry = clean_log(str(log), dry_run=True, now=NOW)
    assert len(left(log)) == 11
    done = clean_log(str(log), now=NOW)
    assert done.checkpoint == dry.checkpoint == 3
    assert [file.path for file in dry.files] == [file.path for file in done.files]
    assert done.bytes > 0
    assert left(log) == [
        f"{3:020d}.checkpoint.parquet",
        f"{3:020d}.json",
        f"{4:020d}.json",
        f"{5:020d}.checkpoint.parquet",
        f"{5:020d}.json",
        f"{6:020d}.json",
        "_last_checkpoint",
    ]
    assert {version: snapshot_facts(log.path, version=version) for version in range(3, 7)} == facts
    assert versions(str(log)) == [3, 4, 5, 6]
    with pytest.raises(NoSuchVersion, match="no version at"):
        open_snapshot(log.path, timestamp=NOW - 60 * DAY)


def test_the_cut_is_at_midnight(log):
    # Thirty days before noon; the whole day that begins in that night is still kept.
    history_of(log, [50, 30.4, 30.6, 1], checkpoints=(0, 1, 2))
    made(log, 1, 30.6)
    made(log, 2, 30.4)
    assert clean_log(str(log), now=NOW).checkpoint == 1


def test_nothing_goes_without_a_checkpoint_that_can_be_read(log):
    history_of(log, [50, 40, 35, 1], checkpoints=(1,))
    (log.place / f"{1:020d}.checkpoint.parquet").write_bytes(b"PAR1PAR1")
    made(log, 1, 40)
    before = left(log)
    done = clean_log(str(log), now=NOW)
    assert done.checkpoint is None
    assert "write one" in done.reason
    assert left(log) == before


def test_a_damaged_checkpoint_is_not_what_the_rest_stands_on(log):
    history_of(log, [50, 40, 35, 1], checkpoints=(1, 2))
    (log.place / f"{2:020d}.checkpoint.parquet").write_bytes(b"PAR1PAR1")
    made(log, 2, 35)
    facts = snapshot_facts(log.path)
    assert clean_log(str(log), now=NOW).checkpoint == 1
    assert snapshot_facts(log.path) == facts


def test_young_logs_stay_whole(log):
    history_of(log, [29, 10, 1], checkpoints=(1,))
    done = clean_log(str(log), now=NOW)
    assert (done.checkpoint, done.files, done.reason) == (None, (), "no commit has expired")


def test_the_property_says_how_long(log):
    history_of(log, [29, 10, 1], checkpoints=(1,), **{"delta.logRetentionDuration": "interval 5 days"})
    assert clean_log(str(log), now=NOW).checkpoint == 1
    assert versions(str(log)) == [1, 2]


def test_a_retention_that_is_none_is_refused_with_the_property(log):
    history_of(log, [50, 1], checkpoints=(1,), **{"delta.logRetentionDuration": "interval 2 months"})
    with pytest.raises(WrongUse, match=r"delta\.logRetentionDuration is 'interval 2 months'.*set it to one like"):
        clean_log(str(log), now=NOW)


def test_checksums_compactions_and_files_of_hadoop_go_with_their_versions(log):
    history_of(log, [50, 40, 35, 1], checkpoints=(2,))
    gone = [
        f"{0:020d}.crc",
        f".{1:020d}.json.crc",
        f"{0:020d}.{1:020d}.compacted.json",
        f"{2:020d}.{3:020d}.compacted.json",
    ]
    kept = [f"{2:020d}.crc", "notes.txt", f"{0:020d}.json.backup", f"{3:020d}.crc"]
    for name in gone + kept:
        (log.place / name).write_text("{}")
    made(log, 2, 35)
    clean_log(str(log), now=NOW)
    assert not set(gone) & set(left(log))
    assert set(kept) <= set(left(log))


def test_in_commit_times_decide_where_a_table_has_them(log):
    history_of(log, [50, 40, 35, 1], checkpoints=(1, 2), **{"delta.enableInCommitTimestamps": "true"})
    for version, days in enumerate([50, 40, 29, 1]):
        file = log.place / f"{version:020d}.json"
        file.write_text(f'{{"commitInfo":{{"inCommitTimestamp":{NOW - days * DAY}}}}}\n' + file.read_text())
        made(log, version, [50, 40, 35, 1][version])
    assert clean_log(str(log), now=NOW).checkpoint == 1


def test_a_store_that_tells_no_times_has_nothing_old(log):
    history_of(log, [50, 40, 1], checkpoints=(1,))
    os.utime(log.place / f"{0:020d}.json", (0, 0))
    assert clean_log(str(log), now=NOW).checkpoint is None


def test_unreferenced_sidecars_go_when_they_are_a_day_old(log):
    history_of(log, [50, 40, 35, 1], checkpoints=(1, 2), protocol=V2_PROTOCOL, **{"delta.checkpointPolicy": "v2"})
    sidecars = log.place / "_sidecars"
    first, second = sorted(sidecars.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    for name, days in {"old.parquet": 5, "young.parquet": 0.2}.items():
        (sidecars / name).write_bytes(b"x")
        os.utime(sidecars / name, ((NOW - days * DAY) / 1000,) * 2)
    for file in (first, second):
        os.utime(file, ((NOW - 35 * DAY) / 1000,) * 2)
    facts = snapshot_facts(log.path)
    clean_log(str(log), now=NOW)
    kept = {file.name for file in sidecars.iterdir()}
    assert kept & {"old.parquet", "young.parquet"} == {"young.parquet"}
    assert len(kept) == 2
    assert snapshot_facts(log.path) == facts


def test_sidecars_stay_when_a_manifest_cannot_be_read(log):
    history_of(log, [50, 40, 35, 1], checkpoints=(1, 2), protocol=V2_PROTOCOL, **{"delta.checkpointPolicy": "v2"})
    sidecars = log.place / "_sidecars"
    for file in sidecars.iterdir():
        os.utime(file, ((NOW - 35 * DAY) / 1000,) * 2)
    (log.place / f"{3:020d}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json").write_text("{")
    clean_log(str(log), now=NOW)
    assert len(list(sidecars.iterdir())) == 2


def test_a_hint_to_what_goes_is_moved_first(log):
    history_of(log, [50, 40, 35, 1], checkpoints=(1,))
    hint = (log.place / "_last_checkpoint").read_text()
    write_checkpoint(str(log), 2, clean=False)
    made(log, 2, 35)
    (log.place / "_last_checkpoint").write_text(hint)
    clean_log(str(log), now=NOW)
    assert '"version":2' in (log.place / "_last_checkpoint").read_text()


def test_features_that_are_not_known_and_protected_versions_are_left_alone(log, tmp_path):
    unknown = V2_PROTOCOL | {"writerFeatures": [*V2, "futureThing"]}
    history_of(log, [50, 40], protocol=unknown)
    with pytest.raises(UnsupportedTable, match="futureThing"):
        clean_log(str(log), now=NOW)
    other = type(log)(tmp_path / "other")
    protected = V2_PROTOCOL | {"writerFeatures": [*V2, "checkpointProtection"]}
    properties = {"delta.requireCheckpointProtectionBeforeVersion": "1"}
    history_of(other, [50, 40, 35, 1], checkpoints=(2,), protocol=protected, **properties)
    assert "before 1 to be kept" in clean_log(str(other), now=NOW).reason
    assert versions(str(other)) == [0, 1, 2, 3]


def test_a_checkpoint_cleans_up_unless_the_table_forbids_it(log):
    now = time.time_ns() // 1_000_000
    for version in range(4):
        log.create([("x", "long")], add("a")) if version == 0 else log.commit(add(f"f{version}"))
        at = now / 1000 - (40 - version) * 86_400
        os.utime(log.place / f"{version:020d}.json", (at, at))
    write_checkpoint(str(log), 2, clean=False)
    log.commit(add("new"))
    assert write_checkpoint(str(log)).notes == ()
    assert versions(str(log)) == [2, 3, 4]


def test_cleaning_up_after_a_checkpoint_can_be_switched_off(log):
    history_of(log, [50, 40], checkpoints=(1,), **{"delta.enableExpiredLogCleanup": "false"})
    log.commit(add("new"))
    assert write_checkpoint(str(log)).notes == ()
    assert versions(str(log)) == [0, 1, 2]


def test_what_cannot_be_deleted_is_told_and_does_not_keep_the_rest(log, monkeypatch):
    history_of(log, [50, 40, 35, 1], checkpoints=(2,))
    unlink = os.unlink

    def refuse(path, **options):
        if str(path).endswith(f"{0:020d}.json"):
            raise PermissionError(13, "Permission denied", str(path))
        unlink(path, **options)

    monkeypatch.setattr(os, "unlink", refuse)
    done = clean_log(str(log), now=NOW)
    ((file, why),) = done.failed
    assert file.path.endswith(f"{0:020d}.json")
    assert "not deleted (Permission denied); check the permissions" in why
    assert f"{1:020d}.json" not in left(log)
