from __future__ import annotations

import json
import os
import re

import fsspec
import pytest

from parquet_core.errors import MalformedFile, StorageFailure
from parquet_core.storage import JOURNAL, Journal, list_data_files, list_table, listing, local, read_journal

STAGING = "_staging-" + 32 * "0"
WRITE = {"schema": "write-journal/1", "staging": STAGING, "added": ["b"], "removed": ["a", "day=1/c"]}


def put(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")


@pytest.fixture(params=["compiled", "plain"])
def table(tmp_path, request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(local, "system_calls", None)
    for name in ("a", "z", f"{STAGING}/b"):
        put(tmp_path / "t" / name)
    (tmp_path / "t" / JOURNAL).write_text(json.dumps(WRITE))
    return tmp_path / "t"


def names(table):
    return [file.path.removeprefix(f"{table}/") for file in list_data_files(str(table))]


def test_a_journal_is_read_as_it_was_written(tmp_path):
    journal = Journal(staging=STAGING, added=("b",), removed=("a", "day=1/c"))
    (tmp_path / JOURNAL).write_bytes(journal.encode())
    assert json.loads(journal.encode()) == WRITE
    assert read_journal(str(tmp_path / JOURNAL)) == journal
    assert read_journal(str(tmp_path / "none")) is None


def test_added_files_count_and_removed_ones_do_not(table):
    assert names(table) == [f"{STAGING}/b", "z"]
    assert list_table(table).is_unfinished
    (table / STAGING / "b").rename(table / "b")
    assert names(table) == ["b", "z"]
    (table / "a").unlink()
    assert names(table) == ["b", "z"]
    (table / JOURNAL).unlink()
    assert names(table) == ["b", "z"]
    assert not list_table(table).is_unfinished


def test_a_journal_is_heeded_wherever_it_was_copied_to(table):
    there = fsspec.filesystem("memory")
    there.put(str(table), "/copied/t", recursive=True)
    try:
        assert names("memory://copied/t") == [f"{STAGING}/b", "z"]
    finally:
        there.rm("/copied", recursive=True)


def test_files_that_are_nowhere_are_named(table):
    (table / STAGING / "b").unlink()
    with pytest.raises(
        StorageFailure,
        match=r"_prune_journal.json: names \S+/t/b, which is neither in the table nor "
        r"staged",
    ):
        names(table)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        json.dumps({**WRITE, "schema": "write-journal/2"}),
        json.dumps({**WRITE, "staging": ".."}),
        json.dumps({**WRITE, "staging": f"../{STAGING}"}),
        json.dumps({**WRITE, "added": ["../b"]}),
        json.dumps({**WRITE, "added": [""]}),
        json.dumps({**WRITE, "removed": ["../u/a"]}),
        json.dumps({**WRITE, "removed": ["day=1/../../a"]}),
        json.dumps({**WRITE, "removed": ["/etc/a"]}),
        json.dumps({**WRITE, "removed": ["a\0"]}),
        json.dumps({"staging": STAGING}),
    ],
)
def test_what_leads_out_of_the_table_or_is_no_journal_is_refused(table, text):
    (table / JOURNAL).write_text(text)
    with pytest.raises(MalformedFile, match=f"^{re.escape(str(table))}/{JOURNAL}: not a valid journal of a write"):
        names(table)


def test_a_write_that_ends_after_it_was_listed_is_listed_again(table, monkeypatch):
    walk = local.walk
    walked = []

    def ended_then(root):
        found = walk(root)
        walked.append(root)
        if len(walked) == 1:
            (table / STAGING / "b").rename(table / "b")
            (table / "a").unlink()
            (table / JOURNAL).unlink()
        return found

    monkeypatch.setattr(local, "walk", ended_then)
    assert names(table) == ["b", "z"]


def test_a_write_that_begins_while_it_is_listed_is_seen_whole(table, monkeypatch):
    (table / JOURNAL).rename(table.parent / "later")
    walk = local.walk
    walked = []

    def begun_then(root):
        found = walk(root)
        walked.append(root)
        if len(walked) == 1:
            (table.parent / "later").rename(table / JOURNAL)
            (table / STAGING / "b").rename(table / "b")
        return found

    monkeypatch.setattr(local, "walk", begun_then)
    assert names(table) == ["b", "z"]
    assert len(walked) == 2


def test_what_changes_all_the_time_is_listed_as_it_is_at_last(table, monkeypatch):
    (table / JOURNAL).unlink()
    walk = local.walk

    def always_changed(root):
        found = walk(root)
        put(table / f"{len(found.files[root])}.new")
        return found

    monkeypatch.setattr(local, "walk", always_changed)
    assert len(names(table)) == 2 + listing._ATTEMPTS


def test_without_a_journal_no_file_costs_a_call_more(tmp_path, monkeypatch):
    calls = []

    def watched(real):
        return lambda *given, **more: calls.append(given) or real(*given, **more)

    for name in ("stat", "lstat"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))

    def counted(work):
        calls.clear()
        work()
        return len(calls)

    few, many = tmp_path / "few", tmp_path / "many"
    for directory, count in ((few, 2), (many, 200)):
        for i in range(count):
            put(directory / str(i))
    assert counted(lambda: list_data_files(few)) == counted(lambda: list_data_files(many)) < 30
    one, all_files = [str(few / "0")], [str(many / str(i)) for i in range(200)]
    assert counted(lambda: list_data_files(all_files)) - counted(lambda: list_data_files(one)) == 199
