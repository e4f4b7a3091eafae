"""Writes that are killed, or that fail, at every file system operation."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import prune_assets as pr
from parquet_core.errors import PruneError, TableNotFound, UnfinishedWrite
from parquet_core.storage import JOURNAL, list_data_files, list_table
from prune_assets.cli import main
from prune_assets.reading import reader
from prune_assets.tables.parquet.writing import write_files
from prune_assets.tables.table import Opening
from prune_assets.tables.writes.commit import leftovers, recover

# Audit events that Python raises before file system changes, and before other operations that can fail.
CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate"}
STEPS = {*CHANGES, "os.listdir", "os.scandir", "open"}
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
    return FIRST


def with_checksums(table):
    two_files(table)
    for path in [*table.glob("*.parquet")]:
        (table / f".{path.name}.crc").write_bytes(b"of Hadoop")
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
    "overwrite": (with_checksums, "overwrite"),
    "overwrite, of summaries too": (with_summaries, "overwrite"),
    "overwrite of partitions": (partitions, "overwrite"),
    "append to a partition": (partitions, "append in day=2"),
    "append a new partition": (partitions, "append in day=3"),
    "replace a partition": (partitions, "replace_partitions in day=1"),
}
every_case = pytest.mark.parametrize(("make", "mode"), CASES.values(), ids=CASES)


def after(old, mode):
    """Return the rows after a complete write."""
    kept = {"append": old, "replace_partitions": FIRST[2:], "overwrite": (), "error": ()}[mode.split()[0]]
    return tuple(sorted((*kept, *SECOND)))


class Stage:
    """New files, created once; forked processes copy them."""

    def __init__(self, place, values=SECOND, name="new"):
        self.place, self.values = place, values
        for i, value in enumerate(values):
            put(place / f"part-{i:05}-{name}.parquet", [value])

    def write(self, table, mode):
        mode, _, below = mode.partition(" in ")

        def fill(stage, old):
            shutil.copytree(self.place, stage / below)
            return len(self.values)

        return write_files(table, fill, mode=mode)


@pytest.fixture
def new(tmp_path):
    return Stage(tmp_path / "new")


def is_change(event, arguments):
    return event in CHANGES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) != 0)


def is_step(event, _):
    return event in STEPS


def is_rename(event, _):
    return event == "os.rename"


def in_process(work, at=None, act=None, counts=is_step, *, on=False):
    """Run a function in a forked process and call `act` before step `at`; return the step count and the output.

    None if the process was killed. `counts`: predicate for events that are steps; `on`: call `act` before all later
    steps too.
    """
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forked while threads of Spark and pyarrow run
        pid = os.fork()
    if not pid:
        steps = 0

        def step(event, arguments):
            nonlocal steps
            if counts(event, arguments):
                steps += 1
                if at is not None and (steps - 1 == at or (on and steps > at)):
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
    """Return the rows of a plan, read file by file."""
    try:
        files = pr.plan(str(table), where="x >= 0").files
    except TableNotFound:
        return ()
    return tuple(sorted(x for file in files for x in pq.ParquetFile(file.path).read()["x"].to_pylist()))


def states(table, make, work):
    """Kill a process at every step, and yield each distinct state of the directory that this leaves."""
    known = set()
    at = 0
    while True:
        shutil.rmtree(table, ignore_errors=True)
        make(table)
        done = in_process(work, at, kill, is_change)
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
    # These files have no column index; before the first commit there is no table.
    assert result.exit_code == (1 if seen(table) else 2), result.output
    return ()


def by_write(table):
    Stage(table.parent / "third", (20,), "third").write(table, "append")
    return (20,)


def not_settled(table):
    """Return leftovers of writes, including checksum files of removed files."""
    if not table.exists():
        return []
    hidden = [path for path in table.rglob(".*.crc") if not (path.parent / path.name[1:-4]).exists()]
    return [*leftovers(table), *hidden]


@pytest.mark.sampled(38)
@every_case
@pytest.mark.parametrize("mend", [by_doctor, by_check, by_write])
def test_a_killed_write_is_seen_as_a_whole_or_not_at_all_and_finished(tmp_path, new, make, mode, mend):
    table = tmp_path / "t"
    old = make(tmp_path / "like")
    whole = after(old, mode)
    found = []
    for at in states(table, make, lambda: new.write(table, mode)):
        before = seen(table)
        assert before in {old, whole}, at
        if mend is by_write and make is partitions and (before == old or " in " in mode):
            continue  # files outside of partitions are not written in this mode
        added = mend(table)
        assert seen(table) == tuple(sorted((*before, *added))), at
        assert not_settled(table) == [], at
        found.append(before)
    assert found == sorted(found, key=[old, whole].index), "what counts goes on counting"
    assert {*found} == {old, whole} or mend is by_write


@pytest.mark.deep
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


DISK = OSError(28, "No space left on device")


@pytest.mark.sampled(40)
@every_case
@pytest.mark.parametrize(
    "failure",
    [(DISK, is_step, False), (DISK, is_rename, True), (KeyboardInterrupt(), is_step, False)],
    ids=["disk", "no more renames", "stop"],
)
def test_an_error_at_any_step_leaves_the_old_table_or_says_that_the_new_one_counts(tmp_path, new, make, mode, failure):
    error, counts, on = failure

    def fail():
        raise error

    table = tmp_path / "t"
    old = make(table)
    whole = after(old, mode)
    steps, _ = in_process(lambda: new.write(table, mode), counts=counts)
    for at in range(steps):
        shutil.rmtree(table, ignore_errors=True)
        make(table)
        _, said = in_process(lambda: new.write(table, mode), at, fail, counts, on=on)
        before = seen(table)
        assert before in {old, whole}, (at, said)
        if (table / JOURNAL).exists():
            assert before == whole
            assert "is committed" in said or said == "interrupted", (at, said)
        elif "is unchanged" in said:
            assert before == old, at
        if table.exists():
            recover(table)
        assert seen(table) == before, at
        assert not_settled(table) == [], at


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_every_way_to_name_a_part_of_a_table_sees_the_same_or_says_why_not(tmp_path, new, mode):
    table = tmp_path / "t"
    make = two_files if mode == "append" else partitions
    inside = 0
    for at in states(table, make, lambda: new.write(table, mode)):
        counts = (table / JOURNAL).exists()
        inside += counts
        for part, rows in (("day=1", FIRST[:2]), ("day=2", FIRST[2:])) if make is partitions else ():
            if (table / part).is_dir():
                assert seen(table / part) in ({()} if counts else {rows, ()}), at
        if counts:
            with pytest.raises(UnfinishedWrite, match=f"a write of {table} is running or was interrupted"):
                list_data_files(f"{table}/*")
        for old in table.rglob("*-old.parquet") if mode == "append" else ():
            assert [file.path for file in list_data_files(old)] == [str(old)]
        for old in table.rglob("day=*/*.parquet") if counts else ():
            with pytest.raises(UnfinishedWrite, match=f"{old}: a write"):
                list_data_files([str(old)])
    assert inside >= 4


@pytest.mark.sampled(4)
@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_partition_directory_that_is_a_table_of_its_own_is_seen_whole_from_above(
    tmp_path, new, mode, relative, monkeypatch
):
    table = tmp_path / "lake"
    monkeypatch.chdir(tmp_path)
    named = "lake" if relative else str(table)
    whole = tuple(sorted((*FIRST[:2], *SECOND))) if mode == "append" else SECOND
    found = set()
    for at in states(table, partitions, lambda: new.write(table / "day=1", mode)):
        first = pr.plan(named, where="day = 1")
        rows = sorted(x for file in first.surviving_files for x in pq.ParquetFile(file.path).read()["x"].to_pylist())
        assert tuple(rows) in {FIRST[:2], whole}, at
        assert len(pr.plan(named, where="day = 2").surviving_files) == 1, at
        listed = list_table(named)
        assert listed.is_unfinished == (table / "day=1" / JOURNAL).exists()
        found.add(tuple(rows))
        recover(table / "day=1")
        assert list_table(named).is_unfinished is False
    assert found == {FIRST[:2], whole}


def test_a_directory_with_an_unfinished_write_below_is_not_written_to(tmp_path, new):
    table = tmp_path / "lake"
    for _ in states(table, partitions, lambda: new.write(table / "day=1", "append")):
        if (table / "day=1" / JOURNAL).exists():
            break
    with pytest.raises(UnfinishedWrite, match=f"{table}/day=1: a write of it was interrupted; finish it first with"):
        new.write(table, "overwrite")
    recover(table / "day=1")
    new.write(table, "overwrite")
    assert seen(table) == SECOND


def test_a_check_looks_past_a_write_that_is_under_way_and_leaves_it_alone(tmp_path, new):
    table = tmp_path / "t"
    two_files(table)

    def fill(stage, old):
        shutil.copytree(new.place, stage)
        before = sorted(path.name for path in table.rglob("*"))
        assert by_check(table) == ()
        refused = CliRunner().invoke(main, ["doctor", str(table)])
        assert (refused.exit_code, refused.stdout) == (3, "")
        assert "another write is running" in refused.stderr
        assert sorted(path.name for path in table.rglob("*")) == before
        return len(SECOND)

    write_files(table, fill, mode="overwrite")
    assert seen(table) == SECOND


def test_a_folder_that_an_orphan_still_writes_into_is_removed_when_it_stops(tmp_path, monkeypatch):
    table, delete = tmp_path / "t", shutil.rmtree
    stage = table / f"_staging-{'0' * 32}"
    stage.mkdir(parents=True)
    left = [2]

    def rmtree(folder, **options):
        delete(folder, **options)
        if left[0]:
            left[0] -= 1
            folder.mkdir()

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    assert recover(table).leftovers == (str(stage),)
    assert leftovers(table) == []


def test_a_reader_that_may_not_write_sees_the_new_rows(tmp_path, new):
    table = tmp_path / "t"
    for _ in states(table, two_files, lambda: new.write(table, "overwrite")):
        if (table / JOURNAL).exists():
            break
    before = snapshot(table)
    assert seen(table) == SECOND
    assert snapshot(table) == before, "to read changes nothing"


def test_overwriting_takes_summaries_with_the_old_data(tmp_path, new):
    table = tmp_path / "t"
    with_summaries(table)
    put(table / "day=1" / "part-0.parquet", [1])
    (table / "_metadata").rename(table / "day=1" / "_metadata")
    assert len(new.write(table, "overwrite").removed) == 5
    assert list_table(table).schema_file is None
    assert sorted(path.name for path in table.rglob("_*")) == ["_SUCCESS"]


def test_appending_leaves_summaries_but_those_of_a_table_without_data(tmp_path, new):
    with_summaries(tmp_path / "t")
    assert new.write(tmp_path / "t", "append").removed == ()
    with_summaries(tmp_path / "u")
    for file in list_data_files(tmp_path / "u"):
        Path(file.path).unlink()
    assert len(new.write(tmp_path / "u", "append").removed) == 2
    assert list_table(tmp_path / "u").schema_file is None


@pytest.mark.parametrize("kills", [0, 4])
def test_writers_in_a_crowd_lose_and_double_nothing(tmp_path, kills):
    """Five processes append distinct rows one after another; some are killed at a random step."""
    table = tmp_path / "t"
    stages = [Stage(tmp_path / f"new{i}", (i,), f"of{i}") for i in range(5)]

    def write_in_turn(stage):
        written = None
        while written is None:
            with suppress(UnfinishedWrite):
                written = stage.write(table, "append")

    def die_after(changes):
        left = iter(range(changes))
        sys.addaudithook(lambda event, _: event in CHANGES and next(left, None) is None and kill())

    running = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for i, stage in enumerate(stages):
            pid = os.fork()
            if not pid:
                code = 1
                try:
                    if i < kills:
                        die_after(10 * i + 3)
                    write_in_turn(stage)
                    code = 0
                finally:
                    os._exit(code)
            running[pid] = i
    ended = {running[pid]: os.waitpid(pid, 0)[1] for pid in running}
    assert all(status in {0, signal.SIGKILL} for status in ended.values())
    assert [ended[i] for i in range(kills, 5)] == [0] * (5 - kills)
    rows = seen(table)
    assert len(set(rows)) == len(rows)
    assert {i for i, status in ended.items() if status == 0} <= set(rows)
    recover(table)
    assert (seen(table), not_settled(table)) == (rows, [])


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("case", ["append", "overwrite, of summaries too", "overwrite of partitions"])
def test_spark_is_handed_the_rows_that_count(spark, tmp_path, new, case):
    make, mode = CASES[case]
    table = tmp_path / "t"
    old = make(tmp_path / "like")
    whole = after(old, mode)
    found = []
    for at in states(table, make, lambda: new.write(table, mode)):
        if not (table / JOURNAL).exists() and found and found[-1] == seen(table):
            continue
        rows = tuple(sorted(row.x for row in pr.read(str(table), where="x >= 0", session=spark).collect()))
        assert rows == seen(table), at
        assert rows in {old, whole}
        found.append(rows)
        few = pr.read(str(table), where="x = 11", session=spark, columns=["x"]).collect()
        assert [row.x for row in few] == [11] * (rows == whole)
    assert found == sorted(found, key=[old, whole].index)
    assert {*found} == {old, whole}


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_spark_reads_partitions_of_which_one_is_written_to(spark, tmp_path, new, mode):
    table = tmp_path / "lake"
    whole = {*SECOND, *(FIRST[:2] if mode == "append" else ())}
    for at in states(table, partitions, lambda: new.write(table / "day=1", mode)):
        if (table / "day=1" / JOURNAL).exists():
            rows = {(row.x, row.day) for row in pr.read(str(table), where="x >= 0", session=spark).collect()}
            assert rows == {*((x, 1) for x in whole), *((x, 2) for x in FIRST[2:])}, at
            assert pr.read(str(table), where="day = 1", session=spark).count() == len(whole)
            with pytest.raises(UnfinishedWrite, match="only Spark knows the partition columns"):
                pr.read([str(table)], where="x >= 0", session=spark)
            listed = pr.read([f"{table}/day=1", f"{table}/day=2"], where="x >= 0", session=spark)
            assert {row.x for row in listed.collect()} == {*whole, *FIRST[2:]}


@pytest.mark.spark
@pytest.mark.parametrize("case", ["append", "overwrite, of summaries too", "overwrite of partitions"])
def test_spark_sees_no_part_of_a_write_that_begins_after_the_plan(spark, tmp_path, new, case, monkeypatch):
    make, mode = CASES[case]
    table, killed = tmp_path / "t", tmp_path / "killed"
    for _ in states(killed, make, lambda: new.write(killed, mode)):
        if (killed / JOURNAL).exists() and (killed / "part-00000-new.parquet").exists():
            break
    make(table)
    opened, real = [], reader._open

    def open_later(spark, spark_read, where):
        if not opened:
            shutil.rmtree(table)
            killed.rename(table)
        opened.append(spark_read.scan.opening)
        return real(spark, spark_read, where)

    monkeypatch.setattr(reader, "_open", open_later)
    rows = [row.x for row in pr.read(str(table), where="x >= 0", session=spark).collect()]
    assert tuple(sorted(rows)) == seen(table)
    assert opened == [Opening.TABLE, Opening.PATHS]
