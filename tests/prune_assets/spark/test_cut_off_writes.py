"""Writes that are killed, or that fail, at every step they take in the file system."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import prune_assets as pr
from parquet_core.errors import MalformedFile, PruneError, StorageFailure, TableNotFound, UnfinishedWrite
from parquet_core.storage import JOURNAL, list_data_files, list_table, local
from prune_assets.cli import main
from prune_assets.spark.commit import leftovers, recover
from prune_assets.spark.writer import write_files

# What a process does to a file system, as Python tells before it does it; whatever is opened, too.
STEPS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.listdir", "os.scandir"}
FIRST, SECOND = (0, 1, 2, 3), (10, 11, 12)


def put(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"x": pa.array(values, pa.int64())}), path)


def nothing(table):
    return ()


def two_files(table):
    put(table / "part-00000-old.parquet", FIRST[:2])
    put(table / "part-00001-old.parquet", FIRST[2:])
    (table / "_SUCCESS").touch()
    (table / ".part-00000-old.parquet.crc").write_bytes(b"crc")
    return FIRST


def with_summaries(table):
    two_files(table)
    schema = pa.schema([("x", pa.int64())])
    pq.write_metadata(schema, table / "_common_metadata")
    pq.write_metadata(schema, table / "_metadata")
    return FIRST


def partitions(table):
    put(table / "day=1" / "part-00000.parquet", FIRST[:2])
    put(table / "day=2" / "part-00000.parquet", FIRST[2:])
    return FIRST


CASES = {
    "a new table": (nothing, "error"),
    "the first append": (nothing, "append"),
    "append": (two_files, "append"),
    "overwrite": (two_files, "overwrite"),
    "overwrite, of summaries too": (with_summaries, "overwrite"),
    "overwrite of partitions": (partitions, "overwrite"),
}
every_case = pytest.mark.parametrize(("make", "mode"), CASES.values(), ids=CASES)


class Stage:
    """New files, made once: a process that was forked copies them."""

    def __init__(self, place, values=SECOND, name="new"):
        self.place, self.values = place, values
        for i, value in enumerate(values):
            put(place / f"part-{i:05}-{name}.parquet", [value])

    def write(self, table, mode):
        def fill(stage, old):
            shutil.copytree(self.place, stage)
            return len(self.values)

        return write_files(table, fill, mode=mode)


@pytest.fixture
def new(tmp_path):
    return Stage(tmp_path / "new")


def in_process(work, at=None, act=None):
    """Do something in a process of its own; before its step `at`, `act`. Returns the steps, or None if it was killed."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forked beside threads of Spark and pyarrow
        pid = os.fork()
    if not pid:
        steps = 0

        def step(event, _):
            nonlocal steps
            if event in STEPS:
                steps += 1
                if steps - 1 == at:
                    act()

        said = "fails otherwise"
        try:
            sys.addaudithook(step)
            work()
            said = "done"
        except PruneError as error:
            said = str(error)
        except KeyboardInterrupt:
            said = "interrupted"
        finally:
            os.write(write, f"{steps} {said}".encode())
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        told = answer.read().decode()
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        return None
    steps, _, said = told.partition(" ")
    return int(steps), said


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def snapshot(table):
    names = sorted(str(path.relative_to(table)) for path in table.rglob("*")) if table.exists() else None
    return re.sub("_staging-[0-9a-f]+", "_staging", repr(names))


def seen(table):
    """The rows that a plan has, read from its files one by one."""
    try:
        files = pr.plan(str(table), where="x >= 0").files
    except TableNotFound:
        return ()
    return tuple(sorted(x for file in files for x in pq.ParquetFile(file.path).read()["x"].to_pylist()))


def states(table, make, work):
    """Have a process killed at every step, and give every state of the directory that this can leave, once."""
    known = set()
    at = 0
    while True:
        shutil.rmtree(table, ignore_errors=True)
        make(table)
        done = in_process(work, at, kill)
        if (state := snapshot(table)) not in known:
            known.add(state)
            yield at
        if done is not None:
            assert done[1] == "done"
            return
        at += 1


def by_doctor(table):
    if table.exists():
        result = CliRunner().invoke(main, ["doctor", str(table)])
        assert result.exit_code == 0, result.output
    return ()


def by_check(table):
    layout = table.parent / "layout.yaml"
    layout.write_text("sort_by: [x]")
    result = CliRunner().invoke(main, ["check", str(table), "--layout", str(layout)])
    # These files have no column index; where no file counts yet, there is no table.
    assert result.exit_code == (1 if seen(table) else 2), result.output
    return ()


def by_write(table):
    Stage(table.parent / "third", (20,), "third").write(table, "append")
    return (20,)


def not_settled(table):
    """What is left of writes, checksums of files that are gone included."""
    if not table.exists():
        return []
    hidden = [path for path in table.rglob(".*.crc") if not (path.parent / path.name[1:-4]).exists()]
    return [*leftovers(table), *hidden]


@every_case
@pytest.mark.parametrize("mend", [by_doctor, by_check, by_write])
def test_a_killed_write_is_seen_as_a_whole_or_not_at_all_and_finished(tmp_path, new, make, mode, mend):
    table = tmp_path / "t"
    old = make(tmp_path / "like")
    whole = tuple(sorted((*old, *SECOND))) if mode == "append" else SECOND
    found = []
    for at in states(table, make, lambda: new.write(table, mode)):
        before = seen(table)
        assert before in {old, whole}, at
        if mend is by_write and make is partitions and before == old:
            continue  # appending to partitions is refused before anything of it is looked at
        added = mend(table)
        assert seen(table) == tuple(sorted((*before, *added))), at
        assert not_settled(table) == [], at
        found.append(before)
    assert found == sorted(found, key=[old, whole].index), "what counts goes on counting"
    assert {*found} == {old, whole} or mend is by_write


@every_case
def test_what_finishes_a_write_can_be_killed_at_every_step_too(tmp_path, new, make, mode):
    table, first = tmp_path / "t", tmp_path / "first"
    again = 0
    for at in states(table, make, lambda: new.write(table, mode)):
        if not table.exists():
            continue
        before = seen(table)
        shutil.rmtree(first, ignore_errors=True)
        table.rename(first)
        for further in states(table, lambda table: shutil.copytree(first, table), lambda: recover(table)):
            assert seen(table) == before, (at, further)
            recover(table)
            assert (seen(table), not_settled(table)) == (before, []), (at, further)
            again += 1
    assert again > 20


@every_case
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["disk", "stop"])
def test_an_error_at_any_step_leaves_the_old_table_or_says_that_the_new_one_counts(tmp_path, new, make, mode, error):
    def fail():
        raise error

    table = tmp_path / "t"
    old = make(table)
    whole = tuple(sorted((*old, *SECOND))) if mode == "append" else SECOND
    steps, _ = in_process(lambda: new.write(table, mode))
    for at in range(steps):
        shutil.rmtree(table, ignore_errors=True)
        make(table)
        _, said = in_process(lambda: new.write(table, mode), at, fail)
        before = seen(table)
        assert before in {old, whole}, (at, said)
        if (table / JOURNAL).exists():
            assert before == whole
            assert "count" in said or said == "interrupted", (at, said)
        elif "as it was" in said:
            assert before == old, at
        if table.exists():
            recover(table)
        assert seen(table) == before, at
        assert not_settled(table) == [], at


def cut_off(table, make, new, mode, *, names):
    """Leave a table whose write was killed when these were the names in it."""
    for _ in states(table, make, lambda: new.write(table, mode)):
        visible = {path.name for path in table.iterdir()} if table.exists() else set()
        if JOURNAL in visible and names <= visible:
            return
    raise AssertionError(names)
