"""Rows deleted by deletion vectors: every reader finds the others, and what is said of the file stays true."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import deltalog
import prune_assets as pr
from deltalog.errors import ConcurrentDeleteDelete, RefusedCommit, UnsupportedTable
from deltalog.stats.file_bounds import record_counts
from tests.peers.delta_readers import ask, missing

ENABLED = {"delta.enableDeletionVectors": "true"}
STRUCTS = {"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpoint.writeStatsAsStruct": "true"}


def table_of(path, count=10, *, files=1, **properties):
    for i in range(files):
        rows = pa.table({"id": range(i * count, (i + 1) * count), "name": [None, "b"] * (count // 2)})
        deltalog.write_table(path, rows, mode="append", properties=ENABLED | properties if i == 0 else None)
    return deltalog.open_snapshot(path)


def delete(place, positions, **options):
    """Delete the same rows of every file."""
    snapshot = deltalog.open_snapshot(place)
    return deltalog.delete_rows(snapshot, dict.fromkeys(snapshot.paths(), positions), **options)


def ids(place, reader):
    (answer,) = ask(reader, [{"table": str(place)}])
    return sorted(dict(json.loads(row))["id"] for row in answer["rows"])


def add_of(place):
    commit = max((place / "_delta_log").glob("*.json")).read_text().splitlines()
    (found,) = [json.loads(line)["add"] for line in commit if "add" in json.loads(line)]
    return found


@pytest.mark.parametrize("reader", ["delta-rs", "polars-deltalake"])
@pytest.mark.parametrize("kept_in", ["commits", "checkpoint", "structs"])
def test_other_readers_find_the_rows_that_are_left(tmp_path, reader, kept_in):
    if missing(reader):
        pytest.skip(missing(reader))
    table_of(tmp_path, files=3, **(STRUCTS if kept_in == "structs" else {}))
    for positions in ([0], [0, 3, 9], range(2, 5)):
        if kept_in != "commits":
            deltalog.write_checkpoint(str(tmp_path))
        delete(tmp_path, positions)
    left = [i * 10 + row for i in range(3) for row in (1, 5, 6, 7, 8)]
    assert ids(tmp_path, reader) == left
    assert deltalog.inspect_snapshot(deltalog.open_snapshot(tmp_path)).rows == len(left)
    report = pr.plan(tmp_path, where="id >= 20").report
    assert (len(report.files), report.table_snapshot.deleted_rows) == (3, 15)


def test_statistics_stay_those_of_all_rows_and_say_so(tmp_path):
    table_of(tmp_path)
    before = add_of(tmp_path)
    delete(tmp_path, [0, 1])
    after = add_of(tmp_path)
    assert json.loads(after["stats"]) == json.loads(before["stats"]) | {"tightBounds": False}
    assert after["dataChange"] is True
    assert (after["deletionVector"]["cardinality"], after["deletionVector"]["storageType"]) == (2, "u")
    assert record_counts(deltalog.open_snapshot(tmp_path)).tolist() == [10]
    kept = {key: before[key] for key in ("path", "size", "modificationTime", "partitionValues")}
    assert kept == {key: after[key] for key in kept}


def test_the_vectors_of_all_files_stand_in_one(tmp_path):
    snapshot = table_of(tmp_path, 70_000, files=2)
    paths = snapshot.paths()
    deltalog.delete_rows(snapshot, {paths[0]: range(0, 70_000, 2), paths[1]: [69_999]})
    assert len(list(tmp_path.glob("deletion_vector_*.bin"))) == 1
    snapshot = deltalog.open_snapshot(tmp_path)
    found = [
        len(deltalog.read_vector(deltalog.vector_of(block, i), str(tmp_path)))
        for block in snapshot.blocks
        for i in range(len(block))
    ]
    assert sorted(found) == [1, 35_000]
    assert len(ids(tmp_path, "delta-rs")) == 140_000 - 35_001


def test_a_file_without_a_row_left_is_removed(tmp_path):
    snapshot = table_of(tmp_path, files=2)
    deltalog.delete_rows(snapshot, {snapshot.paths()[0]: range(10)})
    assert deltalog.open_snapshot(tmp_path).paths() == snapshot.paths()[1:]
    assert not list(tmp_path.glob("*.bin"))


def test_rows_that_a_constraint_let_in_may_go(tmp_path):
    table_of(tmp_path)
    deltalog.alter(deltalog.open_snapshot(tmp_path), properties={"delta.constraints.positive": "id >= 0"})
    delete(tmp_path, [1])
    assert 1 not in ids(tmp_path, "delta-rs")


@pytest.mark.parametrize(
    ("properties", "positions", "error", "words"),
    [
        ({"delta.enableDeletionVectors": "false"}, [0], RefusedCommit, "deletionVectors: .*set delta.enable"),
        ({"delta.appendOnly": "true"}, [0], RefusedCommit, "append-only"),
        ({"delta.enableChangeDataFeed": "true"}, [0], UnsupportedTable, "changeDataFeed"),
        ({"delta.feature.rowTracking": "supported"}, [0], UnsupportedTable, "rowTracking"),
        ({}, [10], RefusedCommit, "has 10 rows, and one of 10 is named"),
        ({}, [-1], RefusedCommit, "has 10 rows"),
        ({}, [1.5], RefusedCommit, "positions of rows must be whole numbers"),
        ({}, [], RefusedCommit, "deleted already"),
    ],
)
def test_what_is_refused_leaves_nothing(tmp_path, properties, positions, error, words):
    table_of(tmp_path, **properties)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(error, match=words):
        delete(tmp_path, positions)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_that_is_not_live_is_named(tmp_path):
    with pytest.raises(RefusedCommit, match="is not a live file"):
        deltalog.delete_rows(table_of(tmp_path), {"other.parquet": [0]})


def test_of_two_that_delete_from_one_file_one_starts_over(tmp_path):
    snapshot = table_of(tmp_path)
    (path,) = snapshot.paths()
    deltalog.delete_rows(snapshot, {path: [0]})
    with pytest.raises(ConcurrentDeleteDelete):
        deltalog.delete_rows(snapshot, {path: [1]})
    assert len(list(tmp_path.glob("*.bin"))) == 1
    delete(tmp_path, [1])
    assert ids(tmp_path, "delta-rs") == list(range(2, 10))


def test_rows_in_a_store_are_deleted(s3):
    place = f"{s3}/t"
    snapshot = table_of(place)
    deltalog.delete_rows(snapshot, {snapshot.paths()[0]: [1, 2, 3]})
    assert pr.plan(place, where="id > 0").report.table_snapshot.deleted_rows == 3
