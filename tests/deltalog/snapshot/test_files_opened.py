"""Opening a version reads the hint, the checkpoint and the commits after it, and no other files."""

from __future__ import annotations

from unittest.mock import patch
from uuid import uuid4

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checkpoint_writer import head, write_checkpoint
from log_writer import add

from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files
from parquet_core.pruning.predicate import And, Compare, Op

INTERVAL, LAST = 10, 29


@pytest.fixture
def long_log(log):
    """Thirty versions with a checkpoint at every tenth, and a hint."""
    log.create([("x", "long")], add("f0", stats={"numRecords": 1, "minValues": {"x": 0}, "maxValues": {"x": 0}}))
    for i in range(1, LAST + 1):
        log.commit(add(f"f{i}", stats={"numRecords": 1, "minValues": {"x": i}, "maxValues": {"x": i}}))
        if i % INTERVAL == 0:
            adds = [add(f"f{n}") for n in range(i + 1)]
            write_checkpoint(log.place / f"{i:020d}.checkpoint.parquet", [*head(log), *adds])
    (log.place / "_last_checkpoint").write_text('{"version":20,"size":23}')
    return log


@pytest.fixture
def in_memory(long_log):
    """Copies the log to an in-memory store that counts reads."""
    store = fsspec.filesystem("memory")
    root = f"/{uuid4().hex}"
    store.put(str(long_log.path), root, recursive=True)
    read = []
    answer = type(store).cat_file

    def counted(self, path, *args, **options):
        read.append(path.rpartition("/")[2])
        return answer(self, path, *args, **options)

    with patch.object(type(store), "cat_file", counted):
        yield f"memory:/{root}", read
    store.rm(root, recursive=True)


def test_hint_checkpoint_and_the_commits_after_it_are_read(in_memory):
    table, read = in_memory
    snapshot = open_snapshot(table)
    assert snapshot.file_count == LAST + 1
    commits = {f"{version:020d}.json" for version in range(21, LAST + 1)}
    assert set(read) == {"_last_checkpoint", f"{20:020d}.checkpoint.parquet", *commits}
    assert len(set(read)) == 11
    assert len(snapshot.opened) == 11
    assert all(read.count(name) == 1 for name in commits)


def test_skipping_reads_statistics_of_the_checkpoint_alone(in_memory):
    table, read = in_memory
    snapshot = open_snapshot(table)
    read.clear()
    kept = skip_files(snapshot, Compare(("x",), Op.GT, pa.scalar(25))).kept
    # The checkpoint was written without statistics.
    assert kept.sum() == 21 + 4
    assert set(read) <= {f"{20:020d}.checkpoint.parquet"}


def test_a_log_elsewhere_is_the_same_log(in_memory, long_log):
    elsewhere, here = open_snapshot(in_memory[0], version=15), open_snapshot(long_log.path, version=15)
    assert elsewhere.paths() == here.paths()
    assert [name.path.rpartition("/")[2] for name in elsewhere.opened] == [
        name.path.rpartition("/")[2] for name in here.opened
    ]


def test_row_groups_whose_files_fall_to_partition_values_are_not_read_again(log):
    bounds = {"numRecords": 1, "minValues": {"x": 1}, "maxValues": {"x": 1}, "nullCount": {"x": 0}}
    log.create([("x", "long"), ("p", "long")], partitioned=["p"])
    adds = [add(f"f{i}", stats=bounds, partition={"p": str(i // 2)}) for i in range(6)]
    write_checkpoint(log.place / f"{0:020d}.checkpoint.parquet", [*adds, *head(log)], row_group_size=2)
    snapshot = open_snapshot(log.path)
    read = []
    batches = pq.ParquetFile.iter_batches

    def noted(self, *args, row_groups, **options):
        read.extend(row_groups)
        return batches(self, *args, row_groups=row_groups, **options)

    with patch.object(pq.ParquetFile, "iter_batches", noted):
        both = And((Compare(("p",), Op.EQ, pa.scalar(1)), Compare(("x",), Op.EQ, pa.scalar(1))))
        assert snapshot.paths(skip_files(snapshot, both).kept) == ["f2", "f3"]
    assert read == [1]
