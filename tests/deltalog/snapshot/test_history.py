from __future__ import annotations

import datetime as dt
import os

import pytest
from checkpoint_writer import head, write_checkpoint
from log_writer import add

from deltalog.errors import NoSuchVersion
from deltalog.snapshot.history import history, snapshot_time
from deltalog.snapshot.opening import open_snapshot, version_at

DAY = 86_400_000


def touched(file, milliseconds):
    os.utime(file, ns=(milliseconds * 1_000_000,) * 2)


def info(operation, **more):
    return {"commitInfo": {"operation": operation} | more}


@pytest.fixture
def days(log):
    """Versions of three successive days, by the times of their files."""
    touched(log.create([("x", "long")], info("CREATE TABLE")), DAY)
    touched(log.commit(add("a"), info("WRITE", operationParameters={"mode": ["a", 1]})), 2 * DAY)
    touched(log.commit(add("b"), info("WRITE")), 3 * DAY)
    return log


def test_the_newest_commits_come_first(days):
    found = history(open_snapshot(days.path))
    assert [(commit.version, commit.timestamp, commit.info["operation"]) for commit in found] == [
        (2, 3 * DAY, "WRITE"),
        (1, 2 * DAY, "WRITE"),
        (0, DAY, "CREATE TABLE"),
    ]
    assert history(open_snapshot(days.path, version=1), limit=1)[0].info["operationParameters"] == {"mode": ["a", 1]}


@pytest.mark.parametrize(("moment", "version"), [(DAY, 0), (2 * DAY - 1, 0), (2 * DAY, 1), (3 * DAY, 2)])
def test_the_version_at_a_time_is_the_last_one_before_it(days, moment, version):
    assert version_at(str(days), moment) == version
    when = dt.datetime.fromtimestamp(moment / 1000, dt.UTC)
    assert open_snapshot(days.path, timestamp=when).version == version


@pytest.mark.parametrize("moment", [DAY - 1, 3 * DAY + 1, -(1 << 62), 1 << 62])
def test_times_outside_of_the_history_are_wrong_use(days, moment):
    with pytest.raises(NoSuchVersion, match="1970"):
        version_at(str(days), moment)


def test_a_time_needs_a_zone(days):
    with pytest.raises(NoSuchVersion, match="no zone"):
        open_snapshot(days.path, timestamp=dt.datetime(1970, 1, 2))  # noqa: DTZ001 - that is the mistake


def test_version_and_time_exclude_each_other(days):
    with pytest.raises(NoSuchVersion, match="not both"):
        open_snapshot(days.path, version=1, timestamp=DAY)


def test_times_of_files_that_run_backwards_are_put_in_order(log):
    touched(log.create([("x", "long")]), 5 * DAY)
    touched(log.commit(add("a")), DAY)
    assert [commit.timestamp for commit in history(open_snapshot(log.path))] == [5 * DAY + 1, 5 * DAY]
    assert version_at(str(log), 5 * DAY) == 0


def test_in_commit_timestamps_count_from_the_version_that_began_them(log):
    configuration = {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "1",
        "delta.inCommitTimestampEnablementTimestamp": str(10 * DAY),
    }
    touched(log.create([("x", "long")], info("CREATE", inCommitTimestamp=99 * DAY), **configuration), DAY)
    touched(log.commit(info("WRITE", inCommitTimestamp=10 * DAY), add("a")), 2 * DAY)
    touched(log.commit(info("WRITE", inCommitTimestamp=11 * DAY), add("b")), 2 * DAY)
    snapshot = open_snapshot(log.path)
    assert [commit.timestamp for commit in history(snapshot)] == [11 * DAY, 10 * DAY, DAY]
    assert snapshot_time(snapshot) == 11 * DAY
    assert [version_at(str(log), at) for at in (DAY, 10 * DAY - 1, 10 * DAY, 11 * DAY)] == [0, 0, 1, 2]


def test_a_version_without_its_commit_has_no_time(days):
    snapshot = open_snapshot(days.path)
    del snapshot.listing.commits[2]
    assert snapshot_time(snapshot) is None


def test_a_version_stands_on_a_checkpoint_whose_commit_is_gone(days):
    write_checkpoint(days.place / f"{1:020d}.checkpoint.parquet", [*head(days), add("a")])
    for version in (0, 1):
        (days.place / f"{version:020d}.json").unlink()
    assert version_at(str(days), 3 * DAY) == 2
    (days.place / f"{2:020d}.json").unlink()
    with pytest.raises(NoSuchVersion, match="no commit left"):
        version_at(str(days), 3 * DAY)
