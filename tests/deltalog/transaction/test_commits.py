"""Commits are written exactly once, describe their operation, and are distinguished from similar foreign commits."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pyarrow as pa
import pytest
from committed_files import SCHEMA, by, lines, named, partitioned, versions, written
from delta_tables import alter

import deltalog.transaction.commit as module
from deltalog.errors import CommitConflict, MalformedLog, RefusedCommit, TableExists, UncertainCommit
from deltalog.log.actions import Metadata
from deltalog.snapshot.history import history
from deltalog.snapshot.opening import open_snapshot, version_at
from deltalog.transaction.change import Change, Reads
from deltalog.transaction.commit import commit
from deltalog.transaction.create import create_table
from deltalog.transaction.live_files import live_files
from deltalog.transaction.operations import append, compact, overwrite, replace_partitions, rewrite
from parquet_core.errors import StorageFailure, UncertainWrite
from parquet_core.pruning.predicate import Compare, In, IsNull, Not, Op

ONE, TWO = "2024-01-01", "2024-01-02"


@pytest.fixture
def place(tmp_path):
    return str(tmp_path / "table")


@pytest.fixture
def table(place):
    """Return a snapshot of a table without files."""
    return partitioned(place)


def paths(place):
    return sorted(open_snapshot(place).paths())


def wrote(place, *adds):
    """Write version 1 as another writer."""
    text = "".join(f'{{"add":{json.dumps(msgspec.to_builtins(add))}}}\n' for add in adds)
    (Path(place) / "_delta_log" / f"{1:020d}.json").write_text(text)


# Content of commits


def test_the_first_line_says_what_was_done(place, table):
    done = append(table, [named("a", day=ONE), named("b", day=ONE)], txn=by("app", 7))
    first, *others = lines(place, 1)
    info = first["commitInfo"]
    assert info.pop("timestamp") > 1_700_000_000_000
    assert re.fullmatch(r"prune-assets.*", info.pop("engineInfo"))
    assert info.pop("txnId") == done.txn_id
    assert info == {
        "operation": "WRITE",
        "operationParameters": {"mode": "Append"},
        "readVersion": 0,
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "operationMetrics": {"numFiles": "2", "numOutputBytes": "2"},
    }
    assert [next(iter(line)) for line in others] == ["txn", "add", "add"]
    assert others[0]["txn"]["lastUpdated"] > 1_700_000_000_000
    assert others[1]["add"] == {
        "path": "a",
        "partitionValues": {"day": ONE},
        "size": 1,
        "modificationTime": 1,
        "dataChange": True,
        "stats": '{"maxValues": {"id": 1}, "minValues": {"id": 0}, "nullCount": {"id": 0}, "numRecords": 1}',
    }


def test_a_removal_repeats_what_the_add_said(place, table):
    append(table, [named("day=a%20b/x", rows=5, day="a b"), named("n", day=None)])
    rewrite(open_snapshot(place), removes=["day=a b/x", "n"])
    removes = {line["remove"]["path"]: line["remove"] for line in lines(place, 2) if "remove" in line}
    assert removes.keys() == {"day=a%20b/x", "n"}
    one = removes["day=a%20b/x"]
    assert one.pop("deletionTimestamp") > 1_700_000_000_000
    assert one == {
        "path": "day=a%20b/x",
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": {"day": "a b"},
        "size": 5,
    }
    assert removes["n"]["partitionValues"] == {"day": None}


def test_compaction_changes_no_data(place, table):
    append(table, [named("a", day=ONE), named("b", day=ONE)])
    compact(open_snapshot(place), removes=["a", "b"], adds=[named("c", rows=2, day=ONE)])
    actions = [action for line in lines(place, 2) for action in line.values() if "path" in action]
    assert [action["dataChange"] for action in actions] == [False, False, False]
    assert lines(place, 2)[0]["commitInfo"]["isBlindAppend"] is False


def test_who_read_something_appends_not_blindly(place, table):
    append(table, [named("a", day=ONE)], reads=Reads(everything=True))
    assert lines(place, 1)[0]["commitInfo"]["isBlindAppend"] is False


def test_every_commit_has_an_id_of_its_own(place, table):
    for i in range(3):
        append(open_snapshot(place), [named(f"{i}", day=ONE)])
    assert len({lines(place, version)[0]["commitInfo"]["txnId"] for version in range(4)}) == 4


# Frequent operations


def test_overwrite_replaces_everything(place, table):
    append(table, [named("a", day=ONE), named("b", day=TWO)])
    overwrite(open_snapshot(place), [named("c", day=ONE)])
    assert paths(place) == ["c"]


def test_overwrite_with_a_predicate_replaces_partitions(place, table):
    append(table, [named("a", day=ONE), named("b", day=TWO), named("n", day=None)])
    where = Compare(("day",), Op.LT, pa.scalar(TWO))
    overwrite(open_snapshot(place), [named("c", day=ONE)], where=where)
    assert paths(place) == ["b", "c", "n"]
    overwrite(open_snapshot(place), [], where=IsNull(("day",)), shown="day IS NULL")
    assert lines(place, 3)[0]["commitInfo"]["operationParameters"]["predicate"] == "day IS NULL"
    assert paths(place) == ["b", "c"]
    overwrite(open_snapshot(place), [], where=Not(In(("day",), pa.array([ONE]))))
    assert paths(place) == ["c"]


def test_overwrite_refuses_to_put_files_elsewhere(place, table):
    where = Compare(("day",), Op.EQ, pa.scalar(ONE))
    for day, said in ((TWO, "partition day=2024-01-02"), (None, "partition day=null")):
        with pytest.raises(RefusedCommit, match=f"{said} is written, but is not among"):
            overwrite(table, [named("c", day=day)], where=where)


def test_overwrite_refuses_a_predicate_that_does_not_tell(place, table):
    append(table, [named("a", day=ONE)])
    where = Compare(("id",), Op.EQ, pa.scalar(1))
    with pytest.raises(
        RefusedCommit, match=r"partition values of a do not decide whether it is overwritten .*`rewrite`"
    ):
        overwrite(open_snapshot(place), [], where=where)


def test_dynamic_overwrite_replaces_the_partitions_of_its_files(place, table):
    append(table, [named("a", day=ONE), named("b", day=TWO), named("n", day=None)])
    replace_partitions(open_snapshot(place), [named("c", day=ONE), named("m", day=None)])
    assert paths(place) == ["b", "c", "m"]
    replace_partitions(open_snapshot(place), [])
    assert paths(place) == ["b", "c", "m"]


def test_partitions_are_compared_as_what_they_mean(place):
    create_table(place, pa.schema([("id", pa.int64()), ("d", pa.decimal128(5, 2))]), partition_by=["d"])
    # Other writers use any scale for decimal partition values.
    wrote(place, named("a", d="1.1"), named("b", d="1.11"), named("c", d="2"))
    replace_partitions(open_snapshot(place), [named("new", d="1.10")])
    assert paths(place) == ["b", "c", "new"]


def test_two_partition_columns_are_one_partition(place):
    schema = pa.schema([("id", pa.int64()), ("p", pa.string()), ("q", pa.int32())])
    create_table(place, schema, partition_by=["p", "q"])
    files = {"a1": ("a", "1"), "a2": ("a", "2"), "b1": ("b", "1"), "b2": ("b", "2")}
    wrote(place, *(named(name, p=p, q=f"0{q}") for name, (p, q) in files.items()))
    replace_partitions(open_snapshot(place), [named("x", p="a", q="1"), named("y", p="b", q="2")])
    assert paths(place) == ["a2", "b1", "x", "y"]


def test_without_partitions_dynamic_overwrite_replaces_all(place):
    create_table(place, pa.schema([("id", pa.int64())]))
    append(open_snapshot(place), [named("a")])
    replace_partitions(open_snapshot(place), [named("b")])
    assert paths(place) == ["b"]


def test_a_file_that_is_not_live_is_not_removed(place, table):
    append(table, [named("a", day=ONE)])
    with pytest.raises(RefusedCommit, match="a is not a live file of version 0"):
        rewrite(table, removes=["a"])
    with pytest.raises(RefusedCommit, match=r"zzz is not a live file of version 1 \(1 such\)"):
        rewrite(open_snapshot(place), removes=["a", "zzz"])


def test_overwrite_may_change_the_schema(place, table):
    append(table, [named("a", day=ONE)])
    text = table.schema.text.replace('"id"', '"number"')
    add = named("b", day=ONE)
    overwrite(open_snapshot(place), [type(add)("b", 1, {"day": ONE})], schema=text)
    assert [leaf.path for leaf in open_snapshot(place).schema.leaves] == [("number",), ("day",)]


# Creating and altering


def test_a_table_is_created_once(place, table):
    with pytest.raises(TableExists, match="the table already exists; append to it, overwrite it"):
        create_table(place, SCHEMA)
    assert open_snapshot(place).metadata.id == table.metadata.id


def test_of_two_who_create_a_table_one_succeeds(place, monkeypatch):
    put = module.put_if_absent

    def overtaken(path, data):
        monkeypatch.setattr(module, "put_if_absent", put)
        create_table(place, SCHEMA, name="first")
        return put(path, data)

    monkeypatch.setattr(module, "put_if_absent", overtaken)
    with pytest.raises(TableExists, match="CREATE TABLE created the table meanwhile"):
        create_table(place, SCHEMA, name="second")
    assert open_snapshot(place).metadata.name == "first"


def test_a_table_may_begin_with_files(place):
    create_table(place, SCHEMA, partition_by=["day"], adds=[named("a", day=ONE)], txn=by("app", 3), description="d")
    snapshot = open_snapshot(place)
    assert (snapshot.version, snapshot.paths(), snapshot.metadata.description) == (0, ["a"], "d")
    assert snapshot.transactions["app"].version == 3


def test_a_path_object_and_a_file_uri_are_places(tmp_path):
    create_table(tmp_path / "a b", SCHEMA)
    assert open_snapshot(tmp_path / "a b").version == 0
    create_table(f"file://{tmp_path}/c%20d", SCHEMA)
    assert open_snapshot(tmp_path / "c d").version == 0


def test_properties_are_set_and_unset(place, table):
    alter(table, properties={"a": "1", "b": "2"})
    alter(open_snapshot(place), properties={"a": None, "c": "3"})
    assert open_snapshot(place).properties == {"b": "2", "c": "3"}
    assert open_snapshot(place).metadata.id == table.metadata.id
    assert open_snapshot(place).metadata.created_time == table.metadata.created_time


def test_a_property_brings_the_feature_that_it_needs(place, table):
    alter(table, properties={"delta.enableDeletionVectors": "true"})
    protocol = open_snapshot(place).protocol
    assert (protocol.min_reader_version, protocol.min_writer_version) == (3, 7)
    assert protocol.reader_features == ["deletionVectors"]
    assert protocol.writer_features == ["appendOnly", "deletionVectors", "invariants"]
    alter(open_snapshot(place), properties={"delta.enableDeletionVectors": None})
    assert open_snapshot(place).protocol == protocol


# In-commit timestamps


def times(place):
    return [(info.version, info.timestamp) for info in history(open_snapshot(place))][::-1]


def test_in_commit_timestamps_only_grow(place, monkeypatch):
    snapshot = partitioned(place, **{"delta.enableInCommitTimestamps": "true"})
    assert "delta.inCommitTimestampEnablementVersion" not in snapshot.properties
    start = 1_800_000_000_000
    for i, now in enumerate([50, 40, 60, 60, 10]):
        monkeypatch.setattr(module.time, "time_ns", lambda now=now: (start + now) * 1_000_000)
        # Every second append starts from version 0 and follows commits that it has not seen.
        append(snapshot if i % 2 else open_snapshot(place), [named(f"{i}", day=ONE)])
    monkeypatch.undo()
    assert [at - 1_800_000_000_000 for _, at in times(place)[1:]] == [50, 51, 60, 61, 62]
    first = lines(place, 3)[0]["commitInfo"]
    assert first["inCommitTimestamp"] == 1_800_000_000_060


def test_in_commit_timestamps_begin_with_the_version_that_enables_them(place, table):
    append(table, [named("a", day=ONE)])
    append(table, [named("b", day=ONE)])
    # The change starts from version 0 and becomes version 3.
    alter(table, properties={"delta.enableInCommitTimestamps": "true"})
    snapshot = open_snapshot(place)
    at = lines(place, 3)[0]["commitInfo"]["inCommitTimestamp"]
    assert snapshot.properties["delta.inCommitTimestampEnablementVersion"] == "3"
    assert snapshot.properties["delta.inCommitTimestampEnablementTimestamp"] == str(at)
    assert "inCommitTimestamp" in snapshot.protocol.writer_features
    append(snapshot, [named("c", day=ONE)])
    assert lines(place, 4)[0]["commitInfo"]["inCommitTimestamp"] > at
    assert version_at(place, at) == 3
    alter(open_snapshot(place), properties={"delta.enableInCommitTimestamps": "false"})
    assert "inCommitTimestamp" not in lines(place, 5)[0]["commitInfo"]
    alter(open_snapshot(place), properties={"delta.enableInCommitTimestamps": "true"})
    assert open_snapshot(place).properties["delta.inCommitTimestampEnablementVersion"] == "6"


def test_after_a_commit_without_a_timestamp_there_is_none(place):
    snapshot = partitioned(place, **{"delta.enableInCommitTimestamps": "true"})
    (Path(place) / "_delta_log" / f"{1:020d}.json").write_text('{"commitInfo":{"operation":"?"}}\n')
    for seen in (snapshot, open_snapshot(place)):
        with pytest.raises(
            RefusedCommit, match="the last commit has no inCommitTimestamp though the table requires it"
        ):
            append(seen, [named("a", day=ONE)])
    assert open_snapshot(place).version == 1


# A storage that does not report success reliably


class Doubtful:
    """A storage whose `steps` set, for each write, whether it happens and what is returned."""

    def __init__(self, monkeypatch, steps):
        self.put, self.steps, self.late, self.asked = module.put_if_absent, iter(steps), [], 0
        monkeypatch.setattr(module, "put_if_absent", self)
        monkeypatch.setattr(module, "_wait", lambda lost: None)

    def __call__(self, path, data):
        self.asked += 1
        step = next(self.steps, "honest")
        for late in self.late:
            self.put(*late)
        self.late = []
        if step == "honest":
            return self.put(path, data)
        if step.startswith("written"):
            self.put(path, data)
        if step == "late":
            self.late = [(path, data)]
        if step == "written, says no":
            return False
        if step == "nothing, says no":
            return False
        if step == "broken":
            raise StorageFailure(f"{path}: broken")
        raise UncertainWrite(f"{path}: timed out")


@pytest.mark.parametrize(
    "steps",
    [
        ["written"],
        ["written, says no"],
        ["nothing"],
        ["nothing, says no"],
        ["nothing", "nothing"],
        ["nothing, says no"] * 8,
        ["nothing", "written"],
        ["nothing", "written, says no"],
        ["late"],
        ["late", "nothing"],
    ],
)
def test_what_the_storage_does_not_tell_is_looked_up(place, table, monkeypatch, steps):
    store = Doubtful(monkeypatch, steps)
    done = append(table, [named("a", day=ONE)])
    assert (done.version, done.lost) == (1, 0)
    assert store.asked <= len(steps) + 1
    assert lines(place, 1)[0]["commitInfo"]["txnId"] == done.txn_id
    assert [line["add"]["path"] for version in (0, 1) for line in lines(place, version) if "add" in line] == ["a"]
    assert open_snapshot(place).version == 1
    if steps == ["written"]:
        assert "timed out; it was" in done.notes[0]


@pytest.mark.parametrize("steps", [["nothing"] * 3, ["nothing, says no"] * 9, ["nothing", "broken"]])
def test_what_cannot_be_found_out_is_said_so(place, table, monkeypatch, steps):
    Doubtful(monkeypatch, steps)
    with pytest.raises(
        UncertainCommit,
        match=r"0001.json: it is unknown whether the commit was written .* look for "
        r"the txnId",
    ):
        append(table, [named("a", day=ONE)])


@pytest.mark.parametrize("step", ["written", "written, says no"])
def test_a_storage_that_fails_while_one_looks_leaves_doubt(table, monkeypatch, step):
    Doubtful(monkeypatch, [step])
    find, asked = module.find_file, []

    def fails(path):
        asked.append(path)
        if len(asked) > 1:
            raise StorageFailure(f"{path}: down")
        return find(path)

    monkeypatch.setattr(module, "find_file", fails)
    with pytest.raises(UncertainCommit, match="down"):
        append(table, [named("a", day=ONE)])


def test_a_certain_failure_is_passed_on(place, table, monkeypatch):
    Doubtful(monkeypatch, ["broken"])
    with pytest.raises(StorageFailure, match="broken") as raised:
        append(table, [named("a", day=ONE)])
    assert not isinstance(raised.value, UncertainCommit)
    assert open_snapshot(place).version == 0


def test_another_commit_is_not_taken_for_ones_own(place, table, monkeypatch):
    append(table, [named("theirs", day=ONE)])
    Doubtful(monkeypatch, ["nothing"])
    done = append(table, [named("mine", day=ONE)])
    assert (done.version, done.lost) == (2, 1)
    assert paths(place) == ["mine", "theirs"]


def test_in_doubt_an_application_may_just_try_again(place, table, monkeypatch):
    Doubtful(monkeypatch, ["late", "broken"])
    with pytest.raises(UncertainCommit):
        append(table, [named("a", day=ONE)], txn=by("app", 1))
    again = append(table, [named("b", day=ONE)], txn=by("app", 1))
    assert not again.written
    assert paths(place) == ["a"]


# A log whose old commits changed


def test_a_cleaned_log_takes_no_commit_of_an_old_snapshot(place, table):
    for i in range(3):
        append(open_snapshot(place), [named(f"{i}", day=ONE)])
    (Path(place) / "_delta_log" / f"{0:020d}.json").unlink()
    (Path(place) / "_delta_log" / f"{1:020d}.json").unlink()
    with pytest.raises(CommitConflict, match="the log was cleaned up since version 0 was read; open the table again"):
        append(table, [named("lost", day=ONE)])
    assert versions(place) == [f"{version:020d}.json" for version in (2, 3)]


def test_what_writers_left_halfway_is_in_nobodys_way(place, table):
    log = Path(place) / "_delta_log"
    for name in (f".{1:020d}.json.0b6f.tmp", f"{1:020d}.json.tmp", f".{1:020d}.json.crc", f"_{1:020d}.json"):
        (log / name).write_text("{half")
    assert append(table, [named("a", day=ONE)]).version == 1
    assert paths(place) == ["a"]


@pytest.mark.parametrize("info", ["", '{"commitInfo":[1]}\n', '{"commitInfo":{"txnId":7,"isBlindAppend":"x"}}\n\n'])
def test_a_commit_that_says_nothing_of_itself_is_one_too(place, table, info):
    (Path(place) / "_delta_log" / f"{1:020d}.json").write_text(info)
    assert append(table, [named("a", day=ONE)]).version == 2


def test_nothing_follows_a_commit_that_is_damaged(place, table):
    (Path(place) / "_delta_log" / f"{1:020d}.json").write_text('{"add":{"path":')
    with pytest.raises(MalformedLog, match=r"0001\.json, line 1: .*restore it before you commit again"):
        append(table, [named("a", day=ONE)])


# After a commit


def test_a_checkpoint_is_due_every_so_many_versions(place, monkeypatch):
    asked = []

    def noted(table, version):
        asked.append((table, version))
        return SimpleNamespace(notes=())

    monkeypatch.setattr("deltalog.maintenance.write_checkpoint.write_checkpoint", noted)
    snapshot = partitioned(place, **{"delta.checkpointInterval": "3"})
    notes = [append(snapshot, [named(f"{i}", day=ONE)]).notes for i in range(7)]
    assert asked == [(place, 3), (place, 6)]
    assert notes == [()] * 7
    append(snapshot, [named("never-1", day=ONE)], checkpoint=False)
    append(snapshot, [named("never-2", day=ONE)], checkpoint=False)
    assert open_snapshot(place).version == 9
    assert len(asked) == 2


def test_a_checkpoint_that_fails_is_a_note(place, monkeypatch):
    def fails(table, version):
        raise OSError("disk full")

    monkeypatch.setattr("deltalog.maintenance.write_checkpoint.write_checkpoint", fails)
    snapshot = partitioned(place, **{"delta.checkpointInterval": "1"})
    done = append(snapshot, [named("a", day=ONE)])
    assert done.version == 1
    assert done.notes == ("the checkpoint of version 1 was not written: disk full",)
    assert paths(place) == ["a"]


def test_a_checkpoint_is_written_when_the_commit_returns(place):
    snapshot = partitioned(place, **{"delta.checkpointInterval": "1"})
    append(snapshot, [named("a", day=ONE)])
    assert (Path(place) / "_delta_log" / f"{1:020d}.checkpoint.parquet").exists()


def test_commits_do_without_what_takes_long_to_import(place):
    script = (
        "import sys\n"
        "from committed_files import named, partitioned\n"
        "from deltalog.snapshot.opening import open_snapshot\n"
        "from deltalog.transaction.operations import append, overwrite, replace_partitions\n"
        f"place = {place!r}\n"
        "append(partitioned(place), [named('a', day='1'), named('b', day=None)])\n"
        "replace_partitions(open_snapshot(place), [named('c', day='1')])\n"
        "overwrite(open_snapshot(place), [])\n"
        "print(open_snapshot(place).version, *sorted({'pandas', 'obstore', 'fsspec', 'pyspark'} & set(sys.modules)))"
    )
    here = Path(__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": f"{here.parents[1]}:{here}"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ["3"]


# Other storages


def test_a_table_in_a_bucket(bucket):
    place = f"{bucket}/lake/table"
    create_table(place, SCHEMA, partition_by=["day"])
    seen = open_snapshot(place)
    assert append(seen, [named("day=a%20b/x", day="a b")]).version == 1
    done = append(seen, [named("b", day=ONE)], txn=by("app", 1))
    assert (done.version, done.lost) == (2, 1)
    assert not append(seen, [named("c", day=ONE)], txn=by("app", 1)).written
    with pytest.raises(TableExists):
        create_table(place, SCHEMA)
    rewrite(open_snapshot(place), removes=["day=a b/x"])
    assert paths(place) == ["b"]
    overwrite(open_snapshot(place), [named("d", day=TWO)])
    assert paths(place) == ["d"]
    assert [info.info["operation"] for info in history(open_snapshot(place))] == [
        "WRITE",
        "DELETE",
        "WRITE",
        "WRITE",
        "CREATE TABLE",
    ]


def test_five_writers_in_a_bucket(bucket):
    place = f"{bucket}/table"
    seen = partitioned(place)
    done = []

    def write(writer):
        done.extend(append(seen, [named(f"{writer}-{i}", day=ONE)]).version for i in range(3))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == list(range(1, 16))
    assert paths(place) == sorted(f"{writer}-{i}" for writer in range(5) for i in range(3))


# Paths as other readers spell them


def test_a_removal_spells_the_path_as_the_add_did(place, table):
    spellings = ["a%20b", "c%3Dd", "e=f", "%67", "day=2024-01-01%2000%253A00%253A00/x", "g+h"]
    append(table, [named(spelling, day=ONE) for spelling in spellings])
    snapshot = open_snapshot(place)
    assert sorted(file.spelling for file in live_files(snapshot, snapshot.paths())) == sorted(spellings)
    overwrite(snapshot, [])
    assert sorted(line["remove"]["path"] for line in lines(place, 2) if "remove" in line) == sorted(spellings)
    assert paths(place) == []


def test_the_newest_spelling_counts(place, table):
    append(table, [named("a%3Db", day=ONE)])
    again = named("a=b", day=ONE)
    commit(open_snapshot(place), Change(operation="ANALYZE", adds=[again], data_change=False))
    (file,) = live_files(open_snapshot(place), ["a=b"])
    assert file.spelling == "a=b"


def test_written_files_are_read_back(place, table):
    add = written(place, "day=a b/x 1.parquet", [1, 2, 3], day="a b")
    append(table, [add])
    (path,) = paths(place)
    assert (Path(place) / path).is_file()
    assert json.loads(add.stats)["numRecords"] == 3


def test_a_metadata_without_a_schema_is_refused(table):
    with pytest.raises(RefusedCommit, match="the metaData has no schema; give one"):
        commit(table, Change(operation="?", metadata=Metadata(id=table.metadata.id)))
