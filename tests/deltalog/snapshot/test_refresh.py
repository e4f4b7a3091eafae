"""A refreshed snapshot equals a snapshot that is opened again, but only the new commits are read."""

from __future__ import annotations

import random
import shutil
from unittest.mock import patch

import pyarrow as pa
import pytest
from checkpoint_writer import head, write_checkpoint
from history_machine import History, bounds, state
from hypothesis import given, settings
from hypothesis import strategies as st
from log_answers import refreshed
from log_writer import add, remove

from deltalog.errors import NotADeltaTable
from deltalog.log import commit_file
from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files
from parquet_core.pruning.predicate import Compare, Op


@pytest.mark.deep
@settings(max_examples=2 * settings().max_examples // 5)
@given(seed=st.integers(0, 1 << 32))
def test_histories_at_random_end_in_what_a_full_load_says(seed, tmp_path_factory):
    source = random.Random(seed)
    history = History(tmp_path_factory.mktemp("history") / "t", source)
    if source.random() < 0.5:
        history.checkpoint()
    held = open_snapshot(history.log.path)
    for _ in range(12):
        for _ in range(source.choice([0, 1, 1, 1, 3])):
            history.commit()
        held = refreshed(held)
        assert state(held) == state(open_snapshot(history.log.path))


def grown(log, commits, *, first=1):
    for i in range(first, first + commits):
        log.commit(add(f"f{i}", stats=bounds(i)))


@pytest.fixture
def held(log):
    log.create([("x", "long")], *(add(f"old{i}", stats=bounds(i)) for i in range(5)))
    grown(log, 3)
    return open_snapshot(log.path)


def opened(snapshot):
    """Return the files that a refresh reads, and the refreshed snapshot."""
    read = []

    def noted(files, **options):
        read.extend(file.path.rpartition("/")[2] for file in files)
        return whole(files, **options)

    whole = commit_file.read_whole
    with patch.object(commit_file, "read_whole", noted):
        return read, refreshed(snapshot)


def test_new_commits_alone_are_read(log, held):
    grown(log, 2, first=4)
    read, later = opened(held)
    assert sorted(read) == [f"{4:020d}.json", f"{5:020d}.json"]
    assert later.version == 5
    assert len(later.opened) == len(held.opened) + 2
    assert held.version == 3, "the one that was held stays what it is"
    assert held.file_count + 2 == later.file_count


def test_nothing_new_reads_nothing(held):
    read, later = opened(held)
    assert read == []
    assert state(later) == state(held)


def test_a_newer_checkpoint_is_not_read(log, held):
    grown(log, 1, first=4)
    adds = [add(path) for path in open_snapshot(log.path).paths()]
    write_checkpoint(log.place / f"{4:020d}.checkpoint.parquet", [*head(log), *adds])
    read, later = opened(held)
    assert read == [f"{4:020d}.json"]
    assert sorted(later.paths()) == sorted(open_snapshot(log.path).paths())


def test_commits_that_were_cleaned_up_are_gone_around_by_a_checkpoint(log, held):
    grown(log, 2, first=4)
    adds = [add(path) for path in open_snapshot(log.path).paths()]
    write_checkpoint(log.place / f"{4:020d}.checkpoint.parquet", [*head(log), *adds])
    for version in range(5):
        (log.place / f"{version:020d}.json").unlink()
    later = refreshed(held)
    assert later.segment.checkpoint.version == 4
    assert later.file_count == 10


def test_a_log_that_was_cut_is_read_anew(log, held):
    (log.place / f"{3:020d}.json").unlink()
    assert refreshed(held).version == 2
    shutil.rmtree(log.path)
    with pytest.raises(NotADeltaTable):
        refreshed(held)


@pytest.mark.parametrize("commits", [2, 3, 6])
def test_a_table_that_was_made_anew_is_read_anew(log, held, commits):
    shutil.rmtree(log.place)
    log.place.mkdir()
    log.version = -1
    log.create([("x", "long")], add("new"))
    grown(log, commits, first=50)
    later = refreshed(held)
    assert state(later) == state(open_snapshot(log.path))
    assert "old0" not in later.paths()


def test_a_commit_that_was_written_again_is_read_again(log, held):
    grown(log, 1, first=4)
    log.write(f"{2:020d}.json", add("other"))
    assert "other" in refreshed(held).paths()


def test_a_checkpoint_that_is_gone_is_not_built_upon(log):
    log.create([("x", "long")], add("a"))
    grown(log, 2)
    file = log.place / f"{1:020d}.checkpoint.parquet"
    write_checkpoint(file, [*head(log), add("a"), add("f1")])
    held = open_snapshot(log.path)
    assert held.segment.checkpoint.version == 1
    file.unlink()
    assert refreshed(held).segment.checkpoint is None


def test_a_damaged_commit_says_what_a_full_load_says(log, held):
    grown(log, 1, first=4)
    (log.place / f"{4:020d}.json").write_text('{"add":')
    with pytest.raises(Exception, match="ends in the middle") as full:
        open_snapshot(log.path)
    with pytest.raises(type(full.value), match="ends in the middle"):
        refreshed(held)


def test_many_refreshes_make_few_blocks_and_ask_alike(log, held):
    for i in range(80):
        log.commit(add(f"g{i}", stats=bounds(i), partition={"q": str(i % 3)} if i % 2 else {}), remove(f"g{i - 7}"))
        held = refreshed(held)
        held.paths()
    assert len(held.blocks) <= 17
    full = open_snapshot(log.path)
    assert state(held) == state(full)
    predicate = Compare(("x",), Op.GT, pa.scalar(70))
    kept = [sorted(each.paths(skip_files(each, predicate).kept)) for each in (held, full)]
    assert kept[0] == kept[1]
    assert len(kept[0]) < full.file_count
