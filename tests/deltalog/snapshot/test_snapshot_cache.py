"""Versions kept on disk: the same answers as from the log, whatever changed, broke or raced."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checkpoint_writer import add_type, head, parsed_type, write_checkpoint
from history_machine import PROTOCOL, History, bounds, state
from hypothesis import given, settings
from hypothesis import strategies as st
from log_writer import Log, add, remove

from deltalog.log import commit_file
from deltalog.snapshot import write_cache
from deltalog.snapshot.cached_version import latest_cached
from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files
from deltalog.stats.file_bounds import record_counts
from parquet_core.dataset.metadata_cache import MetadataCache
from parquet_core.pruning.predicate import And, Compare, Op

LONG_AGO = 1_600_000_000
PREDICATE = Compare(("x",), Op.GT, pa.scalar(4))
PARTITIONED = And((Compare(("p",), Op.EQ, pa.scalar("a")), PREDICATE))
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _even_short_logs():
    with patch.object(write_cache, "_LEAST_BYTES", 0):
        yield


@pytest.fixture
def cache(tmp_path):
    return MetadataCache(tmp_path / "cache")


def settle(log, at=LONG_AGO):
    """Let the files of a log be old ones."""
    for file in log.place.rglob("*"):
        os.utime(file, (at, at))


@pytest.fixture
def kept(log, cache):
    """Create a checkpoint with statistics for half of its files and two commits, and cache the last version."""
    log.create([("x", "long"), ("p", "string")], partitioned=["p"], protocol=PROTOCOL)
    parts = [add(f"f{i}", stats=bounds(i) if i % 2 else None, partition={"p": "ab"[i % 2]}) for i in range(8)]
    write_checkpoint(log.place / f"{0:020d}.checkpoint.parquet", [*parts, *head(log)], row_group_size=3)
    log.commit(add("g", stats=bounds(9), partition={"p": "a"}), remove("f3"), {"txn": {"appId": "a", "version": 1}})
    log.commit(add("h", stats=bounds(1), partition={"p": None}), add("i", partition={}))
    settle(log)
    snapshot = open_snapshot(log.path, cache=cache)
    asked(snapshot)
    snapshot.save()
    return log


def asked(snapshot):
    """Return the answers of a snapshot to test queries."""
    found = skip_files(snapshot, PREDICATE)
    kept = sorted(snapshot.paths(found.kept)), sorted(snapshot.paths(skip_files(snapshot, PARTITIONED).kept))
    counts = dict(zip(snapshot.paths(), record_counts(snapshot).tolist(), strict=True))
    return *kept, counts, found.examined_files, found.files_with_statistics


class Read:
    """Records the names of log files that are read while it is open."""

    def __enter__(self):
        self.names: list[str] = []
        self.patches = [
            patch.object(commit_file, "read_whole", self._whole),
            patch("deltalog.log.checkpoint_file.open_values", self._opened),
        ]
        from deltalog.log import checkpoint_file

        self._real, self._open = commit_file.read_whole, checkpoint_file.open_values
        for each in self.patches:
            each.start()
        return self

    def __exit__(self, *_):
        for each in self.patches:
            each.stop()

    def _whole(self, files, **options):
        self.names += [file.path.rpartition("/")[2] for file in files]
        return self._real(files, **options)

    def _opened(self, file, **options):
        self.names.append(file.path.rpartition("/")[2])
        return self._open(file, **options)


def looked(log, cache, *, expected=None, **options):
    """Compare an answer through the cache with `expected`, else with the log; return the files that were read."""
    with Read() as read:
        snapshot = open_snapshot(log.path, cache=cache, **options)
        answer, said = asked(snapshot), state(snapshot)
    assert (answer, said) == (from_log(log, **options) if expected is None else expected)
    snapshot.save()
    return sorted(set(read.names))


def from_log(log, **options):
    """Return answers and state without a cache."""
    full = open_snapshot(log.path, **options)
    return asked(full), state(full)


def test_a_version_that_is_kept_answers_without_the_log(kept, cache):
    with Read() as read:
        snapshot = open_snapshot(kept.path, cache=cache)
        answer = asked(snapshot)
    assert read.names == []
    assert snapshot.opened == ()
    assert answer == asked(open_snapshot(kept.path))
    assert looked(kept, cache) == []


def test_bounds_are_added_as_they_are_asked(kept, tmp_path):
    cache = MetadataCache(tmp_path / "other")
    first = open_snapshot(kept.path, cache=cache)
    skip_files(first, PARTITIONED)
    first.save()
    with Read() as read:
        second = open_snapshot(kept.path, cache=cache)
        skip_files(second, PARTITIONED)
        assert read.names == []
        skip_files(second, PREDICATE)
        assert set(read.names) == {f"{0:020d}.checkpoint.parquet"}
    second.save()
    with Read() as read:
        third = open_snapshot(kept.path, cache=cache)
        assert skip_files(third, PREDICATE).kept.sum() == skip_files(open_snapshot(kept.path), PREDICATE).kept.sum()
    assert f"{1:020d}.json" in read.names, "the full load alone reads commits"


def test_later_commits_are_read_on_top(kept, cache):
    kept.commit(add("new", stats=bounds(7), partition={"p": "a"}), remove("f5"), remove("h"))
    with Read() as read:
        snapshot = open_snapshot(kept.path, cache=cache)
        answer = asked(snapshot)
    assert read.names == [f"{3:020d}.json"]
    assert answer == asked(open_snapshot(kept.path))
    looked(kept, cache)
    snapshot.save()
    assert latest_cached(cache.of_table(str(kept.path))) == 2


def test_after_many_commits_the_later_version_is_kept_with_its_bounds(kept, cache):
    for i in range(40):
        kept.commit(add(f"n{i}", stats=bounds(i), partition={"p": "b"}), remove(f"n{i - 3}"), remove("f1"))
    settle(kept)
    snapshot = open_snapshot(kept.path, cache=cache)
    skip_files(snapshot, PARTITIONED)
    snapshot.save()
    assert latest_cached(cache.of_table(str(kept.path))) == 42
    asked(snapshot)
    with patch.object(write_cache, "_save_version", side_effect=AssertionError):
        snapshot.save()
    with Read() as read:
        answer = asked(open_snapshot(kept.path, cache=cache))
    assert answer == asked(open_snapshot(kept.path))
    # Bounds of later files are not cached with the earlier version.
    assert not [name for name in read.names if name.endswith("json")]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_every_version_is_kept_by_itself(kept, cache, version):
    looked(kept, cache, version=version)
    assert latest_cached(cache.of_table(str(kept.path))) == 2
    with Read() as read:
        assert open_snapshot(kept.path, version=version, cache=cache).version == version
    assert read.names == []


def test_a_time_is_a_version_too(kept, cache):
    assert open_snapshot(kept.path, timestamp=LONG_AGO * 1000 + 1, cache=cache).version == 1


def same_length(data):
    return data.replace(b'"g"', b'"k"')


@pytest.mark.parametrize("restored", [False, True])
def test_a_commit_that_was_rewritten_never_answers_from_the_cache(kept, cache, restored):
    file = kept.place / f"{1:020d}.json"
    file.write_bytes(same_length(file.read_bytes()))
    if restored:  # size and time are unchanged; only the file system's change time shows the change
        os.utime(file, (LONG_AGO, LONG_AGO))
    assert "k" in open_snapshot(kept.path, cache=cache).paths()
    assert looked(kept, cache) != []


def test_a_checkpoint_that_was_rewritten_never_answers_from_the_cache(kept, cache):
    parts = [add(f"F{i}", partition={"p": "a"}) for i in range(8)]
    write_checkpoint(kept.place / f"{0:020d}.checkpoint.parquet", [*parts, *head(kept)])
    assert "F0" in open_snapshot(kept.path, cache=cache).paths()


def test_a_log_that_was_cut_never_answers_from_the_cache(kept, cache):
    (kept.place / f"{2:020d}.json").unlink()
    assert open_snapshot(kept.path, cache=cache).version == 1
    looked(kept, cache)
    (kept.place / f"{1:020d}.json").unlink()
    assert open_snapshot(kept.path, cache=cache).version == 0
    looked(kept, cache)


def test_a_missing_commit_between_is_missed(kept, cache):
    (kept.place / f"{1:020d}.json").unlink()
    with pytest.raises(Exception, match="commit 1 is missing"):
        open_snapshot(kept.path, cache=cache)


def test_a_table_made_anew_never_answers_from_the_cache(kept, cache):
    shutil.rmtree(kept.path)
    again = Log(kept.path)
    again.create([("x", "long"), ("p", "string")], add("new"), partitioned=["p"])
    again.commit()
    again.commit()
    settle(again)
    assert looked(again, cache) != []
    assert open_snapshot(again.path, cache=cache).paths() == ["new"]


def test_a_log_that_still_changes_is_not_kept(log, cache):
    log.create([("x", "long"), ("p", "string")], add("a"), partitioned=["p"])
    open_snapshot(log.path, cache=cache).save()
    assert looked(log, cache) != []
    assert looked(log, cache) != []


def test_a_short_log_is_not_kept(kept, tmp_path):
    with patch.object(write_cache, "_LEAST_BYTES", 1 << 20):
        open_snapshot(kept.path, cache=MetadataCache(tmp_path / "other")).save()
    assert not (tmp_path / "other").exists()


def test_sidecars_are_looked_at(log, cache):
    features = ["v2Checkpoint"]
    protocol = PROTOCOL | {"readerFeatures": features, "writerFeatures": features}
    log.create([("x", "long"), ("p", "string")], partitioned=["p"], protocol=protocol)
    parts = [add(f"f{i}", stats=bounds(i)) for i in range(4)]
    sidecar = log.place / "_sidecars" / "one.parquet"
    write_checkpoint(sidecar, parts, names=["add"])
    named = {"sidecar": {"path": "one.parquet", "sizeInBytes": 1, "modificationTime": 1}}
    uuid = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"
    log.write(f"{0:020d}.checkpoint.{uuid}.json", {"checkpointMetadata": {"version": 0}}, *head(log), named)
    settle(log)
    looked(log, cache)
    looked(log, cache)
    with Read() as read:
        asked(open_snapshot(log.path, cache=cache))
    assert read.names == []
    write_checkpoint(sidecar, [add("other")], names=["add"])
    assert open_snapshot(log.path, cache=cache).paths() == ["other"]
    sidecar.unlink()
    (log.place / f"{0:020d}.checkpoint.{uuid}.json").unlink()
    assert open_snapshot(log.path, cache=cache).paths() == []


def test_parsed_statistics_are_kept_too(log, cache):
    log.create([("x", "long"), ("p", "string")], partitioned=["p"])
    parts = [add(f"f{i}", stats_parsed=bounds(i)) for i in range(6)]
    kind = add_type(parsed_type(x=pa.int64()), stats=False)
    write_checkpoint(log.place / f"{0:020d}.checkpoint.parquet", [*parts, *head(log)], add=kind)
    settle(log)
    looked(log, cache)
    looked(log, cache)
    expected = asked(open_snapshot(log.path))
    with patch.object(pq.ParquetFile, "iter_batches", side_effect=AssertionError):
        assert asked(open_snapshot(log.path, cache=cache)) == expected


def kept_files(cache):
    return sorted(path for path in cache.directory.rglob("*.arrow") if path.is_file())


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "swap", "gone"])
def test_what_is_damaged_is_rebuilt(kept, cache, damage):
    expected = from_log(kept)
    looked(kept, cache, expected=expected)
    names = [path.name for path in kept_files(cache)]
    assert len(names) >= 4
    for name in names:
        (path,) = [path for path in kept_files(cache) if path.name == name]
        data = bytearray(path.read_bytes())
        match damage:
            case "flip":
                data[len(data) // 2] ^= 1
            case "cut":
                del data[len(data) // 2 :]
            case "empty":
                data.clear()
            case "swap":
                data[:] = next(other for other in kept_files(cache) if other.name != name).read_bytes()
        path.unlink() if damage == "gone" else path.write_bytes(data)
        looked(kept, cache, expected=expected)
    looked(kept, cache, expected=expected)
    with Read() as read:
        asked(open_snapshot(kept.path, cache=cache))
    assert read.names == []


def test_what_does_not_fit_is_removed_and_read_again(kept, tmp_path):
    cache = MetadataCache(tmp_path / "small", 1)
    looked(kept, cache)
    assert kept_files(cache) == []
    looked(kept, cache)


LOOP = """
import sys, random
import pyarrow as pa
from pathlib import Path
from deltalog.snapshot import write_cache
from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files
from parquet_core.dataset.metadata_cache import MetadataCache
from parquet_core.pruning.predicate import Compare, Op
write_cache._LEAST_BYTES = 0
source = random.Random(int(sys.argv[3]))
cache = MetadataCache(Path(sys.argv[2]), source.choice([1 << 30, 20_000]))
for _ in range(25):
    snapshot = open_snapshot(sys.argv[1], cache=cache, version=source.choice([None, 0, 1, 2]))
    found = skip_files(snapshot, Compare(("x",), Op.GT, pa.scalar(source.randrange(9))))
    snapshot.save()
    print(snapshot.version, snapshot.file_count)
"""


def test_processes_share_a_cache(kept, cache):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", LOOP, str(kept.path), str(cache.directory)]
    started = [
        subprocess.Popen([*command, str(i)], env=environment, stdout=subprocess.PIPE, text=True) for i in range(3)
    ]
    said = [process.communicate()[0].splitlines() for process in started]
    assert [process.returncode for process in started] == [0, 0, 0]
    assert {line for lines in said for line in lines} <= {"0 8", "1 8", "2 10"}
    looked(kept, cache)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_histories_at_random_are_what_the_log_says(seed, tmp_path_factory):
    source = random.Random(seed)
    folder = tmp_path_factory.mktemp("history")
    history, cache = History(folder / "t", source), MetadataCache(folder / "cache")
    with patch.object(write_cache, "_MOST_COMMITS", 3):
        for step in range(10):
            for _ in range(source.choice([0, 1, 2])):
                history.commit()
            if source.random() < 0.2:
                history.checkpoint()
            for file in history.log.place.iterdir():
                os.utime(file, (LONG_AGO, LONG_AGO))
            snapshot = open_snapshot(history.log.path, cache=cache)
            full = open_snapshot(history.log.path)
            said, expected = state(snapshot), state(full)
            if snapshot.segment.checkpoint != full.segment.checkpoint:
                # Statistics read with an older checkpoint are still known for rows that came back.
                for each in (said, expected):
                    each["files"] = [file[:4] for file in each["files"]]
            assert said == expected, step
            if source.random() < 0.7:
                skip_files(snapshot, PREDICATE)
                snapshot.save()
            assert np.array_equal(record_counts(snapshot), record_counts(snapshot))
