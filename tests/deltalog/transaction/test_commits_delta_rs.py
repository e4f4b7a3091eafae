"""Tables with commits by deltalog and by delta-rs in turns: both readers agree on every version."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest
from committed_files import by, named, written
from delta_tables import alter

from deltalog.errors import ConcurrentAppend, ConcurrentDeleteDelete, ConcurrentDeleteRead, MetadataChanged
from deltalog.snapshot.history import history
from deltalog.snapshot.opening import open_snapshot
from deltalog.transaction.create import create_table
from deltalog.transaction.operations import append, compact, overwrite, replace_partitions, rewrite

deltalake = pytest.importorskip("deltalake")

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string())])
EVERY_TYPE = pa.schema(
    [
        ("yes", pa.bool_()),
        ("i8", pa.int8()),
        ("i16", pa.int16()),
        ("i32", pa.int32()),
        ("i64", pa.int64()),
        ("f32", pa.float32()),
        ("f64", pa.float64()),
        ("text", pa.string()),
        ("raw", pa.binary()),
        ("date", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("money", pa.decimal128(20, 3)),
        ("inside", pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])),
        ("many", pa.list_(pa.int32())),
        ("by", pa.map_(pa.string(), pa.float64())),
    ]
)


@pytest.fixture
def place(tmp_path):
    return str(tmp_path / "table")


def rows(place, version=None):
    table = deltalake.DeltaTable(place, version=version).to_pyarrow_table()
    return sorted((row["id"], row["day"]) for row in table.to_pylist())


def agree(place):
    """Check that both readers return the same rows at every version."""
    last = deltalake.DeltaTable(place).version()
    assert open_snapshot(place).version == last
    for version in range(last + 1):
        theirs, mine = deltalake.DeltaTable(place, version=version), open_snapshot(place, version=version)
        added = pa.table(theirs.get_add_actions(flatten=True))
        assert sorted(mine.paths()) == sorted(unquote(path) for path in added["path"].to_pylist())
        assert mine.total_bytes == sum(added["size_bytes"].to_pylist())
        assert [column.leaf.path[0] for column in mine.schema.columns] == [
            field.name for field in theirs.schema().fields
        ]
        assert mine.properties == theirs.metadata().configuration
        assert mine.metadata.id == str(theirs.metadata().id)
        assert list(mine.schema.partition_columns) == theirs.metadata().partition_columns
        assert (mine.protocol.min_reader_version, mine.protocol.min_writer_version) == (
            theirs.protocol().min_reader_version,
            theirs.protocol().min_writer_version,
        )
        for path in added["path"].to_pylist():
            assert (Path(place) / unquote(path)).is_file()
    mine = {info.version: info.info.get("operation") for info in history(open_snapshot(place))}
    theirs = {info["version"]: info["operation"] for info in deltalake.DeltaTable(place).history()}
    assert mine == theirs


def test_a_table_made_here_is_theirs_too(place):
    create_table(place, SCHEMA, partition_by=["day"], name="mine", properties={"delta.appendOnly": "false"})
    days = ["2024-01-01", "a b", "c/d%e", "é", "q?r#s", None]
    adds = [written(place, f"part {i}/x.parquet", [i, i + 100], day=day) for i, day in enumerate(days)]
    append(open_snapshot(place), adds, txn=by("app", 3))
    assert rows_of(place) == {(i + k, day) for i, day in enumerate(days) for k in (0, 100)}
    assert deltalake.DeltaTable(place).transaction_version("app") == 3
    rewrite(
        open_snapshot(place),
        removes=["part 1/x.parquet"],
        adds=[written(place, "less.parquet", [1], day="a b")],
    )
    compact(
        open_snapshot(place),
        removes=["part 0/x.parquet"],
        adds=[written(place, "day=2024-01-01/y.parquet", [0, 100], day="2024-01-01")],
    )
    replace_partitions(open_snapshot(place), [written(place, "z.parquet", [7], day=None)])
    alter(open_snapshot(place), properties={"who": "me"})
    agree(place)
    assert rows_of(place) == {(0, days[0]), (100, days[0]), (1, days[1]), (7, None)} | {
        (i + k, days[i]) for i in (2, 3, 4) for k in (0, 100)
    }
    overwrite(open_snapshot(place), [])
    agree(place)
    assert rows_of(place) == set()


def rows_of(place):
    return {(row["id"], row["day"]) for row in deltalake.DeltaTable(place).to_pyarrow_table().to_pylist()}


def test_schemas_of_every_type(place):
    create_table(place, EVERY_TYPE)
    theirs = deltalake.DeltaTable(place)
    assert pa.schema(theirs.schema().to_arrow()).names == EVERY_TYPE.names
    made = Path(place).parent / "theirs"
    deltalake.write_deltalake(str(made), EVERY_TYPE.empty_table())
    assert theirs.schema().to_json() == deltalake.DeltaTable(str(made)).schema().to_json()
    assert theirs.protocol().reader_features == ["timestampNtz"]
    deltalake.write_deltalake(place, EVERY_TYPE.empty_table(), mode="append")


def test_in_turns(place):
    deltalake.write_deltalake(place, pa.table({"id": [1, 2], "day": ["a b", "c"]}, schema=SCHEMA), partition_by=["day"])
    append(open_snapshot(place), [written(place, "mine 1.parquet", [3], day="c")], txn=by("app", 1))
    deltalake.write_deltalake(place, pa.table({"id": [4], "day": ["a b"]}, schema=SCHEMA), mode="append")
    assert set(rows(place)) == {(1, "a b"), (2, "c"), (3, "c"), (4, "a b")}
    # Files of delta-rs are removed here, with its spelling of paths.
    replace_partitions(open_snapshot(place), [written(place, "mine 2.parquet", [5], day="a b")])
    assert set(rows(place)) == {(2, "c"), (3, "c"), (5, "a b")}
    # Files of deltalog are removed by delta-rs.
    deltalake.DeltaTable(place).delete("id = 3")
    assert set(rows(place)) == {(2, "c"), (5, "a b")}
    deltalake.DeltaTable(place).optimize.compact()
    alter(open_snapshot(place), properties={"delta.logRetentionDuration": "interval 60 days"})
    deltalake.DeltaTable(place).create_checkpoint()
    append(open_snapshot(place), [written(place, "mine 3.parquet", [6], day="é=%")])
    overwrite(open_snapshot(place), [written(place, "mine 4.parquet", [7], day="é=%")])
    deltalake.write_deltalake(place, pa.table({"id": [8], "day": ["c"]}, schema=SCHEMA), mode="append")
    assert set(rows(place)) == {(7, "é=%"), (8, "c")}
    agree(place)


def test_their_files_are_removed_from_behind_a_checkpoint(place):
    days = ["a b", "c:d", "e%20f", "é", "g+h", "i=j"]
    table = pa.table({"id": range(6), "day": days}, schema=SCHEMA)
    deltalake.write_deltalake(place, table, partition_by=["day"])
    deltalake.DeltaTable(place).create_checkpoint()
    snapshot = open_snapshot(place)
    assert snapshot.segment.checkpoint is not None
    rewrite(snapshot, removes=[path for path in snapshot.paths() if "i=j" not in unquote(path).replace("%3D", "=")])
    assert rows(place) == [(5, "i=j")]
    agree(place)


def test_a_conflict_with_their_commit_is_found(place):
    table = pa.table({"id": [1, 2], "day": ["a", "b"]}, schema=SCHEMA)
    deltalake.write_deltalake(place, table, partition_by=["day"])
    seen = open_snapshot(place)
    deltalake.DeltaTable(place).delete("day = 'a'")
    for change in (
        lambda: replace_partitions(seen, [named("x", day="a")]),
        lambda: rewrite(seen, removes=[path for path in seen.paths() if "day=a" in path]),
    ):
        with pytest.raises((ConcurrentDeleteDelete, ConcurrentDeleteRead), match=r"\(DELETE\) removed day=a"):
            change()
    deltalake.DeltaTable(place).alter.set_table_properties({"delta.appendOnly": "false"})
    with pytest.raises(MetadataChanged):
        append(seen, [named("x", day="a")])


def test_their_appends_do_not_say_that_they_are_blind(place):
    table = pa.table({"id": [1], "day": ["a"]}, schema=SCHEMA)
    deltalake.write_deltalake(place, table, partition_by=["day"])
    alter(open_snapshot(place), properties={"delta.isolationLevel": "WriteSerializable"})
    seen = open_snapshot(place)
    deltalake.write_deltalake(place, table, mode="append")
    assert history(open_snapshot(place))[0].info.get("isBlindAppend") is not True
    with pytest.raises(ConcurrentAppend):
        overwrite(seen, [named("mine.parquet", day="a")])
    # Commits to partitions that were not read do not conflict.
    assert replace_partitions(seen, [written(place, "mine.parquet", [2], day="b")]).lost == 1
    assert rows(place) == [(1, "a"), (1, "a"), (2, "b")]


def test_they_find_a_conflict_with_ours(place):
    table = pa.table({"id": [1, 2], "day": ["a", "b"]}, schema=SCHEMA)
    deltalake.write_deltalake(place, table, partition_by=["day"])
    theirs = deltalake.DeltaTable(place)
    seen = open_snapshot(place)
    rewrite(seen, removes=[path for path in seen.paths() if "day=a" in path])
    with pytest.raises(deltalake.exceptions.DeltaError):
        theirs.delete("day = 'a'")
    assert rows(place) == [(2, "b")]


def test_both_append_at_once(place):
    create_table(place, SCHEMA, partition_by=["day"])
    theirs = deltalake.DeltaTable(place)
    seen = open_snapshot(place)
    for i in range(3):
        append(seen, [written(place, f"mine {i}.parquet", [i], day="a")])
        deltalake.write_deltalake(theirs, pa.table({"id": [10 + i], "day": ["b"]}, schema=SCHEMA), mode="append")
    assert rows(place) == [(0, "a"), (1, "a"), (2, "a"), (10, "b"), (11, "b"), (12, "b")]
    agree(place)


def test_partition_values_of_every_type(place):
    kinds = {
        "s": (pa.string(), ["x", None]),
        "i": (pa.int32(), ["-5", None]),
        "d": (pa.date32(), ["2024-02-29", None]),
        "yes": (pa.bool_(), ["true", "false"]),
        "money": (pa.decimal128(10, 2), ["1.50", "0.01"]),  # delta-rs reads -0.01 as 0.-1
        "at": (pa.timestamp("us", "UTC"), ["2024-01-01 12:30:00.123456", None]),
        "f": (pa.float64(), ["1.5", None]),
    }
    schema = pa.schema([("id", pa.int64()), *((name, kind) for name, (kind, _) in kinds.items())])
    create_table(place, schema, partition_by=list(kinds))
    for i in (0, 1):
        add = written(place, f"{i}.parquet", [i], **{name: texts[i] for name, (_, texts) in kinds.items()})
        append(open_snapshot(place), [add])
    found = {row["id"]: row for row in deltalake.DeltaTable(place).to_pyarrow_table().to_pylist()}
    assert found[0]["d"] == dt.date(2024, 2, 29)
    assert found[0]["at"] == dt.datetime(2024, 1, 1, 12, 30, 0, 123456, dt.UTC)
    assert (found[0]["i"], found[0]["f"], found[0]["yes"], str(found[0]["money"])) == (-5, 1.5, True, "1.50")
    assert [found[1][name] for name in ("s", "i", "d", "at", "f")] == [None] * 5
