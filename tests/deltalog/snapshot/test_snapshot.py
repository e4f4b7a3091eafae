"""Intact and damaged logs of every shape give a correct snapshot or an error that names the file."""

from __future__ import annotations

import json
import os
import shutil
from decimal import Decimal

import pyarrow as pa
import pytest
from checkpoint_writer import add_type, head, parsed_type, write_checkpoint
from log_writer import add, remove

from deltalog import inspect_snapshot
from deltalog.errors import BrokenLog, MalformedLog, NoSuchVersion, NotADeltaTable, UnsupportedTable
from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files
from deltalog.stats.file_bounds import record_counts
from parquet_core.errors import StorageFailure
from parquet_core.pruning.predicate import Compare, Op

V2 = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["v2Checkpoint"],
    "writerFeatures": ["v2Checkpoint"],
}
DAMAGED_VECTOR = {"storageType": "q", "pathOrInlineDv": "", "sizeInBytes": 1, "cardinality": 1}
UUID = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"


def files(log, **options):
    return sorted(open_snapshot(log.path, **options).paths())


def checkpoint(log, version=0, **options):
    """Write a classic checkpoint of the files that a version has."""
    adds = [add(path) for path in files(log, version=version)]
    return write_checkpoint(log.place / f"{version:020d}.checkpoint.parquet", head(log) + adds, **options)


def test_the_last_word_on_a_file_counts(log):
    log.create([("x", "long")], add("a"), add("b"))
    log.commit(remove("a"))
    log.commit(add("a", size=7), remove("b"))
    snapshot = open_snapshot(log.path)
    assert snapshot.paths() == ["a"]
    assert snapshot.total_bytes == 7
    assert files(log, version=1) == ["b"]


def test_a_file_is_known_by_its_path_and_its_deletion_vector(log):
    first = {"storageType": "u", "pathOrInlineDv": "x" * 20, "offset": 1, "sizeInBytes": 3, "cardinality": 1}
    log.create([("x", "long")], add("a"), protocol=V2 | {"readerFeatures": ["deletionVectors"]})
    log.commit(add("a", vector=first), remove("a"))
    log.commit(remove("a"))
    snapshot = open_snapshot(log.path)
    assert snapshot.file_count == 1
    log.commit(remove("a", vector=first))
    assert open_snapshot(log.path).file_count == 0


@pytest.mark.parametrize(
    ("added", "removed"), [("/t/a", "file:/t/a"), ("file:///t/a", "/t/a"), ("p=a%20b/x", "p=a%20b/x"), ("é", "%C3%A9")]
)
def test_one_file_has_many_spellings(log, added, removed):
    log.create([("x", "long")], add(added), add("other"))
    log.commit(remove(removed))
    assert files(log) == ["other"]


def test_a_checkpoint_stands_for_the_commits_before_it(log):
    log.create([("x", "long")], add("a"))
    log.commit(add("b"), {"txn": {"appId": "app", "version": 4}})
    checkpoint(log, 1)
    log.commit(remove("a"))
    (log.place / f"{0:020d}.json").unlink()
    assert files(log) == ["b"]
    with pytest.raises(BrokenLog, match="commit 0 is missing"):
        open_snapshot(log.path, version=0)


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"no Parquet at all, and long enough to be one" * 9])
def test_a_damaged_checkpoint_is_gone_around(log, damage):
    log.create([("x", "long")], add("a"))
    log.commit(add("b"))
    checkpoint(log, 1).write_bytes(damage)
    snapshot = open_snapshot(log.path)
    assert sorted(snapshot.paths()) == ["a", "b"]
    assert f"{1:020d}.checkpoint.parquet" in snapshot.notes[0]


def test_a_cut_checkpoint_that_cannot_be_gone_around_is_named(log):
    log.create([("x", "long")], add("a"))
    log.commit(add("b"))
    file = checkpoint(log, 1)
    file.write_bytes(file.read_bytes()[:-9])
    (log.place / f"{0:020d}.json").unlink()
    with pytest.raises(MalformedLog, match=r"00001\.checkpoint\.parquet"):
        open_snapshot(log.path)


def test_parts_of_a_checkpoint_are_one_only_together(log):
    log.create([("x", "long")], add("a"), add("b"))
    first = log.place / f"{0:020d}.checkpoint.{1:010d}.{2:010d}.parquet"
    second = log.place / f"{0:020d}.checkpoint.{2:010d}.{2:010d}.parquet"
    write_checkpoint(first, [*head(log), add("a")])
    assert "lacks parts" in open_snapshot(log.path).notes[0]
    write_checkpoint(second, [add("b")], names=["add"])
    log.commit(add("c"))
    (log.place / f"{0:020d}.json").unlink()
    snapshot = open_snapshot(log.path)
    assert sorted(snapshot.paths()) == ["a", "b", "c"]
    assert len(snapshot.opened) == 3


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_v2_checkpoints_with_sidecars(log, form):
    log.create([("x", "long")], add("a"), protocol=V2)
    log.commit(add("b"))
    sidecar = {"sidecar": {"path": "one.parquet", "sizeInBytes": 1, "modificationTime": 1}}
    write_checkpoint(log.place / "_sidecars" / "one.parquet", [add("a"), add("b")], names=["add"])
    actions = [{"checkpointMetadata": {"version": 1}}, *head(log), sidecar]
    manifest = log.place / f"{1:020d}.checkpoint.{UUID}.{form}"
    if form == "json":
        log.write(manifest.name, *actions)
    else:
        write_checkpoint(manifest, actions)
    log.commit(remove("b"))
    (log.place / f"{0:020d}.json").unlink()
    assert files(log) == ["a"]
    assert files(log, version=1) == ["a", "b"]
    (log.place / "_sidecars" / "one.parquet").unlink()
    with pytest.raises(MalformedLog, match="sidecar"):
        open_snapshot(log.path)


def test_a_v2_checkpoint_may_hold_its_files_itself(log):
    log.create([("x", "long")], add("a"), protocol=V2)
    log.write(
        f"{0:020d}.checkpoint.{UUID}.json", {"checkpointMetadata": {"version": 0}}, *head(log), add("a"), remove("z")
    )
    log.commit(add("b"))
    (log.place / f"{0:020d}.json").unlink()
    assert files(log) == ["a", "b"]


def test_a_v2_checkpoint_without_its_head_is_cut(log):
    log.create([("x", "long")], add("a"), protocol=V2)
    log.write(f"{0:020d}.checkpoint.{UUID}.json", *head(log))
    snapshot = open_snapshot(log.path)
    assert snapshot.paths() == ["a"]
    assert "checkpointMetadata" in snapshot.notes[0]


@pytest.mark.parametrize("text", ["", "{", '{"version":"nine"}', '{"version":-1}', "[]", "\x00" * 50])
def test_a_damaged_hint_is_noted(log, text):
    log.create([("x", "long")], add("a"))
    (log.place / "_last_checkpoint").write_text(text)
    snapshot = open_snapshot(log.path)
    assert snapshot.paths() == ["a"]
    assert "_last_checkpoint" in snapshot.notes[0]


@pytest.mark.parametrize("version", [0, 1, 99])
def test_a_hint_that_lies_is_noted(log, version):
    log.create([("x", "long")], add("a"))
    log.commit(add("b"))
    log.commit(add("c"))
    checkpoint(log, 0)
    checkpoint(log, 2)
    (log.place / "_last_checkpoint").write_text(json.dumps({"version": version, "size": 1}))
    snapshot = open_snapshot(log.path)
    assert sorted(snapshot.paths()) == ["a", "b", "c"]
    assert snapshot.segment.checkpoint.version == 2
    assert f"version {version}" in snapshot.notes[0]


def test_other_files_in_the_log_are_passed_over(log):
    log.create([("x", "long")], add("a"))
    for name in (".00000000000000000001.json.crc", "00000000000000000001.json.tmp", "1.json", f"{1:021d}.json"):
        (log.place / name).write_text("no JSON")
    (log.place / f"{0:020d}.crc").write_text("{}")
    assert files(log) == ["a"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"add":{"path":"b","size":1}}\n{"add":{"path":"c","si', "line 2: the file ends in the middle"),
        ('{"add":{"path":"b"}}\n', "line 1.*size"),
        ('{"add":{"path":"","size":1}}\n', "length >= 1"),
        ('{"add":{"path":"b","size":-1}}\n', "int. >= 0.*size"),
        ('{"add":{"path":"b","size":99999999999999999999}}\n', "line 1"),
        ('{"add":{"path":"b","size":"1"}}\n', "line 1"),
        ('\n\n{"add":[]}\n', "line 3"),
        ("\x00\x00\x00", "line 1"),
        ("[" * 100_000, "line 1"),
        ('{"protocol":{"minReaderVersion":0,"minWriterVersion":0}}\n', "protocol"),
        ('{"metaData":{"schemaString":"{}"}}\n', "schema"),
        (
            json.dumps(add("b", vector={"storageType": "q", "pathOrInlineDv": "", "sizeInBytes": 1, "cardinality": 1})),
            "storageType",
        ),
    ],
)
def test_a_damaged_commit_is_named_with_its_line(log, text, words):
    log.create([("x", "long")], add("a"))
    log.commit().write_text(text)
    with pytest.raises(MalformedLog, match=words) as caught:
        open_snapshot(log.path)
    assert "_delta_log" in str(caught.value)
    assert files(log, version=0) == ["a"]


def test_blank_lines_and_unknown_actions_say_nothing(log):
    log.create([("x", "long")], add("a"))
    log.commit().write_text('\n{"cdc":{"path":"c","size":1}}\n\r\n{"future":{"x":[1]},"tags":null}\n')
    assert files(log) == ["a"]


@pytest.mark.parametrize("name", ["00000000000000000001.json", "_last_checkpoint"])
def test_a_pipe_in_the_log_is_named_and_not_waited_for(log, name):
    log.create([("x", "long")], add("a"))
    os.mkfifo(log.place / name)
    with pytest.raises(StorageFailure, match=f"{name}: is a pipe"):
        open_snapshot(log.path)


def test_a_version_that_is_missing_is_named(log):
    log.create([("x", "long")], add("a"))
    log.commit(add("b"))
    log.commit(add("c"))
    (log.place / f"{1:020d}.json").unlink()
    with pytest.raises(BrokenLog, match="commit 1 is missing"):
        open_snapshot(log.path)
    assert files(log, version=0) == ["a"]


@pytest.mark.parametrize("version", [-1, 3, 1 << 70])
def test_a_version_that_never_was_is_wrong_use(log, version):
    log.create([("x", "long")])
    with pytest.raises(NoSuchVersion, match=f"version {version} does not exist; the last version is 0"):
        open_snapshot(log.path, version=version)


def test_what_is_no_table_is_named(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(NotADeltaTable, match=path.name):
            open_snapshot(path)


@pytest.mark.parametrize("feature", ["catalogManaged", "adaptiveMetadata-preview", "timestampNanos", "geospatial", "?"])
def test_reader_features_that_are_not_understood_are_refused_by_name(log, feature):
    log.create([("x", "long")], protocol=V2 | {"readerFeatures": ["deletionVectors", feature]})
    with pytest.raises(UnsupportedTable, match=r"table feature " + feature.replace("?", r"\?")):
        open_snapshot(log.path)


def test_writer_features_hinder_no_reader(log):
    log.create([("x", "long")], add("a"), protocol=V2 | {"writerFeatures": ["v2Checkpoint", "nobodyKnows"]})
    assert files(log) == ["a"]


@pytest.mark.parametrize(
    "protocol",
    [
        {"minReaderVersion": 3, "minWriterVersion": 7},
        {"minReaderVersion": 3, "minWriterVersion": 2, "readerFeatures": []},
        {"minReaderVersion": 1, "minWriterVersion": 7, "readerFeatures": ["v2Checkpoint"], "writerFeatures": []},
    ],
)
def test_protocols_that_contradict_themselves_are_refused(log, protocol):
    log.create([("x", "long")], protocol=protocol)
    with pytest.raises(MalformedLog, match="protocol"):
        open_snapshot(log.path)


def test_a_path_that_a_checkpoint_lists_twice_is_one_file(log):
    log.create([("x", "long")], add("a"))
    long = "p=1/part-00000-" + "0" * 60 + ".parquet"
    write_checkpoint(log.place / f"{0:020d}.checkpoint.parquet", [*head(log), add("a"), add("a"), add(long), add(long)])
    snapshot = open_snapshot(log.path)
    assert sorted(snapshot.paths()) == ["a", long]
    assert "twice" in snapshot.notes[0]


def test_statistics_are_read_from_either_form(log):
    parsed = parsed_type(x=pa.int64())
    log.create([("x", "long")])
    bounds = {"numRecords": 5, "minValues": {"x": 1}, "maxValues": {"x": 2}, "nullCount": {"x": 0}}
    both = add("both", stats=bounds)
    struct = add("struct")
    both["add"]["stats_parsed"] = struct["add"]["stats_parsed"] = bounds
    text, nothing = add("text", stats=bounds), add("nothing")
    actions = [*head(log), both, struct, text, nothing]
    write_checkpoint(log.place / f"{0:020d}.checkpoint.parquet", actions, add=add_type(parsed))
    snapshot = open_snapshot(log.path)
    kept = skip_files(snapshot, Compare(("x",), Op.GT, pa.scalar(2))).kept
    assert snapshot.paths(kept) == ["nothing"]
    assert len(snapshot.paths(skip_files(snapshot, Compare(("x",), Op.GT, pa.scalar(1))).kept)) == 4


@pytest.mark.parametrize("text", [None, "{}", "no JSON", '{"numRecords": 7, "nullCount": {"y": 0}}'])
def test_rows_are_counted_by_parsed_statistics_without_a_look_at_the_text(log, text):
    log.create([("x", "long"), ("other", "long")])
    action = add("a", stats=text)
    action["add"]["stats_parsed"] = {"numRecords": 5, "minValues": {"x": 1}, "maxValues": {"x": 2}, "nullCount": {}}
    write_checkpoint(
        log.place / f"{0:020d}.checkpoint.parquet", [*head(log), action], add=add_type(parsed_type(x=pa.int64()))
    )
    snapshot = open_snapshot(log.path)
    assert record_counts(snapshot).tolist() == [5]
    assert skip_files(snapshot, Compare(("x",), Op.GT, pa.scalar(1))).kept.all()
    assert not skip_files(snapshot, Compare(("x",), Op.GT, pa.scalar(2))).kept.any()
    # `other` has no statistics in text form; the statistics of `x` stay unchanged.
    assert inspect_snapshot(snapshot).rows == 5
    assert [column.bounds for column in inspect_snapshot(snapshot).columns] == [1, 0]


@pytest.mark.parametrize("name", ["y", "ÿ", "a b"])
def test_a_column_of_any_name_that_parsed_statistics_lack_is_read_from_the_text(log, name):
    log.create([("x", "long"), (name, "long")])
    bounds = {"numRecords": 5, "minValues": {name: 1}, "maxValues": {name: 2}, "nullCount": {}}
    action = add("a", stats=bounds)
    action["add"]["stats_parsed"] = {"numRecords": 5, "minValues": {"x": 1}, "maxValues": {"x": 2}, "nullCount": {}}
    write_checkpoint(
        log.place / f"{0:020d}.checkpoint.parquet", [*head(log), action], add=add_type(parsed_type(x=pa.int64()))
    )
    assert not skip_files(open_snapshot(log.path), Compare((name,), Op.GT, pa.scalar(2))).kept.any()


def test_a_column_that_parsed_statistics_lack_is_read_from_the_text(log):
    log.create([("x", "long"), ("y", "long")])
    bounds = {"numRecords": 5, "minValues": {"x": 1, "y": 1}, "maxValues": {"x": 2, "y": 2}, "nullCount": {}}
    action = add("a", stats=bounds)
    action["add"]["stats_parsed"] = {"numRecords": 5, "minValues": {"x": 1}, "maxValues": {"x": 2}, "nullCount": {}}
    write_checkpoint(
        log.place / f"{0:020d}.checkpoint.parquet", [*head(log), action], add=add_type(parsed_type(x=pa.int64()))
    )
    snapshot = open_snapshot(log.path)
    assert not skip_files(snapshot, Compare(("y",), Op.GT, pa.scalar(2))).kept.any()
    assert not skip_files(snapshot, Compare(("x",), Op.GT, pa.scalar(2))).kept.any()


def parsed_log(log, kind, stored, low, high, **more):
    """A table of one file with parsed statistics of a type of their own."""
    log.create([("x", kind)])
    action = add("a")
    action["add"]["stats_parsed"] = {
        "numRecords": 5,
        "minValues": {"x": low},
        "maxValues": {"x": high},
        "nullCount": {"x": 0},
    } | more
    place = log.place / f"{0:020d}.checkpoint.parquet"
    write_checkpoint(place, [*head(log), action], add=add_type(parsed_type(x=stored), stats=False))
    return open_snapshot(log.path)


@pytest.mark.parametrize(
    ("kind", "stored", "value", "beyond"),
    [
        ("long", pa.int32(), 5, 6),
        ("double", pa.float32(), 0.5, 0.75),
        ("double", pa.int16(), 5, 5.5),
        ("decimal(12,2)", pa.int32(), 5, 6),
        ("decimal(12,2)", pa.decimal128(10, 1), 5, 6),
        ("timestamp_ntz", pa.date32(), 5, 6 * 86_400_000_000),
        ("timestamp", pa.timestamp("ns", "UTC"), 5_000_000, 6_001),
        ("timestamp", pa.timestamp("ms", "UTC"), 5, 6_000),
        ("string", pa.string(), "b", "c"),
    ],
)
def test_parsed_statistics_of_an_older_type_are_widened(log, kind, stored, value, beyond):
    snapshot = parsed_log(log, kind, stored, value, value)
    held = {"ns": 5_000, "ms": 5_000}.get(getattr(stored, "unit", ""), value)
    held = 5 * 86_400_000_000 if pa.types.is_date32(stored) and kind == "timestamp_ntz" else held
    for number, kept in ((held, [True]), (beyond, [False])):
        literal = scalar(number, snapshot.schema.leaves[0].type)
        assert skip_files(snapshot, Compare(("x",), Op.EQ, literal)).kept.tolist() == kept


def scalar(number, kind):
    """A value of a type; of times in microseconds."""
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(number), kind)
    return pa.scalar(number).cast(kind)


@pytest.mark.parametrize(
    ("kind", "stored", "value"),
    [
        ("timestamp", pa.timestamp("us"), 5),
        ("timestamp", pa.timestamp("ns"), 5),
        ("timestamp_ntz", pa.timestamp("us", "UTC"), 5),
        ("timestamp_ntz", pa.date32(), (1 << 31) - 1),
        ("long", pa.string(), "5"),
        ("integer", pa.int64(), 5),
        ("date", pa.int32(), 5),
        ("decimal(4,2)", pa.int64(), 1 << 40),
    ],
)
def test_parsed_statistics_of_another_type_say_nothing(log, kind, stored, value):
    snapshot = parsed_log(log, kind, stored, value, value)
    days = pa.scalar(77, pa.int32()).cast(pa.date32())
    literal = days if kind == "date" else scalar(77, snapshot.schema.leaves[0].type)
    assert skip_files(snapshot, Compare(("x",), Op.EQ, literal)).kept.tolist() == [True]


def test_parsed_statistics_without_a_count_of_rows_say_nothing(log):
    snapshot = parsed_log(log, "long", pa.int64(), 1, 2, numRecords=None)
    assert skip_files(snapshot, Compare(("x",), Op.EQ, pa.scalar(7))).kept.tolist() == [True]


def test_a_snapshot_reads_a_table_that_moves_away_no_further(log):
    log.create([("x", "long")], add("a"))
    checkpoint(log, 0)
    snapshot = open_snapshot(log.path)
    shutil.rmtree(log.path)
    with pytest.raises(StorageFailure) as caught:
        skip_files(snapshot, Compare(("x",), Op.GT, pa.scalar(2)))
    assert "checkpoint.parquet" in str(caught.value)
