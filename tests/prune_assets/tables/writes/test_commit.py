from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.errors import StorageFailure, TableNotFound, UnfinishedWrite, WrongUse
from parquet_core.storage import JOURNAL, Journal
from prune_assets.tables.writes.commit import Recovered, commit, finish, recover
from prune_assets.tables.writes.staging import prove, staging_directory
from prune_assets.tables.writes.write_lock import LOCK, write_lock

STAGING = "_staging-" + 32 * "0"


def put(path, rows=3):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"x": range(rows)}), path)
    return path


def visible(table):
    return sorted(path.name for path in table.iterdir())


def test_commit_never_replaces(tmp_path):
    stage = tmp_path / "t" / STAGING
    staged = [put(stage / name, 1) for name in ("a.parquet", "b.parquet")]
    old = put(tmp_path / "t" / "b.parquet", 9)
    with pytest.raises(StorageFailure, match="the file exists already"):
        commit(staged, stage, replaced=[])
    assert pq.read_metadata(old).num_rows == 9
    assert visible(tmp_path / "t") == [STAGING, "b.parquet"]


def test_old_files_go_after_all_new_ones_are_there_and_the_journal_last(tmp_path, monkeypatch):
    table = tmp_path / "t"
    old = [put(table / name) for name in ("x.parquet", "y.parquet")]
    staged = [put(table / STAGING / "a.parquet")]
    seen = []
    unlink = type(old[0]).unlink

    def watched(self, **kwargs):
        if not self.name.endswith(".crc"):
            seen.append(sorted(path.name for path in table.iterdir() if path.name != STAGING))
        unlink(self, **kwargs)

    monkeypatch.setattr(type(old[0]), "unlink", watched)
    commit(staged, table / STAGING, replaced=[str(path) for path in old])
    assert seen == [
        [JOURNAL, "a.parquet", "x.parquet", "y.parquet"],
        [JOURNAL, "a.parquet", "y.parquet"],
        [JOURNAL, "a.parquet"],
    ]


def test_nothing_to_change_leaves_no_journal(tmp_path):
    assert commit([], tmp_path / STAGING, replaced=[]) == ()
    assert visible(tmp_path) == []


def test_another_writer_is_told_who_is_at_work(tmp_path):
    put(tmp_path / "t" / "old.parquet")
    with staging_directory(tmp_path / "t") as stage:
        put(stage / "new.parquet")
        there = visible(tmp_path / "t")
        message = r"t: another write is running \(process \d+ on \S+ since \S+\); "
        waited = (
            message + "waited 0 s for it; try again when it has ended, or wait longer: lock_timeout= or PRUNE_LOCK_TI"
        )
        with pytest.raises(UnfinishedWrite, match=waited), staging_directory(tmp_path / "t", lock_timeout=0):
            pass
        with pytest.raises(UnfinishedWrite, match=message + "try again when it has ended"):
            recover(tmp_path / "t")
        assert visible(tmp_path / "t") == there
        assert stage.exists()
    assert visible(tmp_path / "t") == ["old.parquet"]


def test_a_lock_that_its_owner_removes_in_between_keeps_nobody_out(tmp_path, monkeypatch):
    import fcntl

    path = tmp_path / LOCK
    path.touch()
    flock = fcntl.flock

    def removed_meanwhile(lock, how):
        flock(lock, how)
        if not taken:
            path.unlink()
        taken.append(lock)

    taken = []
    monkeypatch.setattr(fcntl, "flock", removed_meanwhile)
    with write_lock(tmp_path):
        assert len(taken) == 2
        monkeypatch.undo()
        with pytest.raises(UnfinishedWrite), write_lock(tmp_path):
            pass
    assert visible(tmp_path) == []


def test_a_staging_folder_whose_writer_has_died_is_removed_and_others_stay(tmp_path):
    put(tmp_path / STAGING / "new.parquet")
    put(tmp_path / "_staging-of-mine" / "x.parquet")
    (tmp_path / LOCK).write_text("process 1 on gone since long ago")
    assert recover(tmp_path) == Recovered(leftovers=(str(tmp_path / STAGING),))
    assert visible(tmp_path) == ["_staging-of-mine"]
    assert recover(tmp_path) == Recovered()


def test_recovering_needs_a_directory(tmp_path):
    with pytest.raises(TableNotFound, match="no such directory"):
        recover(tmp_path / "no")
    put(tmp_path / "x.parquet")
    with pytest.raises(WrongUse, match="is a file; name the directory of a table"):
        recover(tmp_path / "x.parquet")


def test_a_staged_file_that_somebody_removed_is_named(tmp_path):
    put(tmp_path / "old.parquet")
    journal = Journal(staging=STAGING, added=("new.parquet",), removed=("old.parquet",))
    (tmp_path / JOURNAL).write_bytes(journal.encode())
    with pytest.raises(StorageFailure, match=r"new\.parquet: No such file or directory"):
        finish(tmp_path)
    assert visible(tmp_path) == [JOURNAL, "old.parquet"]


def test_files_that_are_staged_are_proven_where_they_lie(tmp_path):
    staged = prove(put(tmp_path / STAGING / "a.parquet").parent, rows=3)
    assert commit([file.path for file in staged], tmp_path / STAGING, replaced=[]) == (str(tmp_path / "a.parquet"),)
    assert Path(tmp_path / "a.parquet").exists()
