"""A large log file that is read in blocks gives the same actions as one that is read at once."""

from __future__ import annotations

import json
import os

import pytest
from checkpoint_writer import head
from history_machine import bounds
from log_writer import PROTOCOL, add, remove
from state_facts import action_facts, snapshot_facts

from deltalog.errors import MalformedLog
from deltalog.log import commit_file
from deltalog.snapshot.history import history
from deltalog.snapshot.opening import open_snapshot
from deltalog.transaction.live_files import live_files
from parquet_core.storage import Traffic, find_file

UUID = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"
V2 = PROTOCOL | {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["v2Checkpoint"],
    "writerFeatures": ["v2Checkpoint"],
}
LINE = json.dumps(add("f")) + "\n"


@pytest.fixture
def grown(log):
    """A table with a JSON checkpoint, a commit of many lines, and small commits."""
    log.create([("x", "long")], add("a", stats=bounds(1)), add("b", stats=bounds(2)), protocol=V2)
    actions = [{"checkpointMetadata": {"version": 0}}, *head(log), add("a"), add("b", stats=bounds(2)), remove("z")]
    log.write(f"{0:020d}.checkpoint.{UUID}.json", *actions)
    log.commit({"commitInfo": {"operation": "WRITE"}}, *(add(f"f{i}", stats=bounds(i)) for i in range(40)))
    log.commit(remove("f7"), remove("a"), {"txn": {"appId": "app", "version": 3}})
    log.commit({"commitInfo": {"operation": "TINY"}})
    (log.place / f"{0:020d}.json").unlink()
    return log


def said(log):
    snapshot = open_snapshot(log.path)
    infos = [commit.info for commit in history(snapshot)]
    return snapshot_facts(log.path), action_facts(log.path), infos, live_files(snapshot, ["b", "f3", "f39"])


@pytest.mark.parametrize("block", [1, 97, 500, 4_000])
def test_blocks_say_what_a_file_says_at_once(grown, monkeypatch, block):
    at_once = said(grown)
    assert len(at_once[0]["files"]) == 40
    monkeypatch.setattr(commit_file, "_BLOCK_BYTES", block)
    assert said(grown) == at_once


def test_lines_of_a_large_file_are_not_read_at_once(log, monkeypatch):
    log.create([("x", "long")], *(add(f"f{i}") for i in range(100)))
    read = []

    def noted(file, start, length, **options):
        read.append(length)
        return real(file, start, length, **options)

    real = commit_file.read_range
    monkeypatch.setattr(commit_file, "read_range", noted)
    monkeypatch.setattr(commit_file, "_BLOCK_BYTES", 1_000)
    assert open_snapshot(log.path).file_count == 100
    assert max(read) <= 1_000
    read.clear()
    assert history(open_snapshot(log.path, version=0))[0].info == {}
    assert len(read) > 20
    log.commit({"commitInfo": {"operation": "WRITE"}}, *(add(f"f{i}") for i in range(100)))
    held = open_snapshot(log.path)
    read.clear()
    assert history(held, limit=1)[0].info == {"operation": "WRITE"}
    assert len(read) == 1, "what a commit says of itself stands in its first line"


@pytest.mark.parametrize("block", [1, 60, 200, 1 << 20])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LINE * 9 + '{"add":{"path":"c","si', "line 10: the file ends in the middle"),
        (LINE * 4 + '{"add":{"path":"c","si\n' + LINE, "line 5: Input data was truncated"),
        (LINE * 5 + "\n \r\n" + '{"add":[]}\n' + LINE, "line 8: Expected"),
        (LINE * 5 + "\n \r\n" + '{"add":{"path":"","size":1}}\n' + LINE, "line 8: Expected `str` of length >= 1"),
        (LINE * 5 + "\n\n\n" + LINE + '{"add":{"path":"b","size":-1}}', "line 10: Expected `int` >= 0"),
    ],
)
def test_a_damaged_line_is_named_by_its_number_in_the_file(tmp_path, monkeypatch, block, text, words):
    (tmp_path / "0.json").write_text(text)
    monkeypatch.setattr(commit_file, "_BLOCK_BYTES", block)
    read = commit_file.read_commits([find_file(str(tmp_path / "0.json"))], commit_file.LINES, traffic=Traffic())
    with pytest.raises(MalformedLog, match=f"0.json, {words}"):
        list(map(list, read))


def test_a_commit_is_read_after_its_writer_removed_the_temporary_name(tmp_path):
    """Writers name a commit by a hard link. Removing the other name changes the status of the file, not its bytes."""
    (tmp_path / "staged").write_text(LINE)
    os.link(tmp_path / "staged", tmp_path / "0.json")
    listed = find_file(str(tmp_path / "0.json"))
    (tmp_path / "staged").unlink()
    assert listed != find_file(listed.path)
    (lines,) = commit_file.read_commits([listed], commit_file.LINES, traffic=Traffic())
    assert len(list(lines)) == 1


@pytest.fixture
def bytes_read(monkeypatch):
    """The bytes of each read of a large file, in blocks of 1,000 bytes."""
    read, real = [], commit_file.read_range

    def noted(file, start, length, **options):
        read.append(length)
        return real(file, start, length, **options)

    monkeypatch.setattr(commit_file, "read_range", noted)
    monkeypatch.setattr(commit_file, "_BLOCK_BYTES", 1_000)
    return read


@pytest.fixture
def short_lines(monkeypatch):
    monkeypatch.setattr(commit_file, "_LINE_BYTES", 5_000)


@pytest.mark.parametrize(
    ("begin", "problem", "most"),
    [
        ("", r"line 1: no action begins with b'\\x00'", 1_000),
        (LINE * 3, r"line 4: no action begins with b'\\x00'", 2_000),
        ('{"add":{"path":"', "line 1: a line of more than 5,000 bytes", 7_000),
        (LINE * 3 + '{"add":{"path":"', "line 4: a line of more than 5,000 bytes", 8_000),
        (" " * 9_000, "line 1: a line of more than 5,000 bytes", 7_000),
    ],
    ids=["nothing else", "after actions", "in an action", "in a later action", "after blanks"],
)
@pytest.mark.usefixtures("short_lines")
def test_a_line_without_end_is_refused_after_a_bounded_read(tmp_path, bytes_read, begin, problem, most):
    path = tmp_path / "0.json"
    with path.open("wb") as file:
        file.write(begin.encode())
        file.truncate(50 << 20)
    read = commit_file.read_commits([find_file(str(path))], commit_file.LINES, traffic=Traffic())
    with pytest.raises(MalformedLog, match=f"0.json, {problem}; restore the file from a copy"):
        list(map(list, read))
    assert sum(bytes_read) <= most


def test_each_byte_of_a_long_line_is_read_once(tmp_path, bytes_read):
    path = tmp_path / "0.json"
    path.write_text(LINE + json.dumps(add("f" * 40_000)) + "\n" + LINE)
    ((*lines,),) = commit_file.read_commits([find_file(str(path))], commit_file.LINES, traffic=Traffic())
    assert [len(line.add.path) for line in lines] == [1, 40_000, 1]
    assert sum(bytes_read) == path.stat().st_size
