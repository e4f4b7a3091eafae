"""A snapshot that is brought to the latest version is what a snapshot read anew is, and reads the new commits alone."""

from __future__ import annotations

import json
import random
import shutil
from unittest.mock import patch

import pyarrow as pa
import pytest
from checkpoint_writer import head, write_checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st
from log_writer import Log, add, field, remove

from deltalog import refresh
from deltalog.deletion_vectors import vector_of
from deltalog.errors import NotADeltaTable
from deltalog.skipping import file_bounds, skip_files
from deltalog.snapshot import open_snapshot
from parquet_core.predicate import Compare, Op

FEATURES = ["deletionVectors", "columnMapping", "domainMetadata"]
PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": FEATURES[:2], "writerFeatures": FEATURES}


def state(snapshot):
    """All that a snapshot says, in any order of files."""
    columns = [column for column in snapshot.schema.columns if column.partition is None and not column.refused]
    bounds = file_bounds(snapshot, columns)
    vectors = [vector_of(block, i) for block in snapshot.blocks for i in range(len(block))]
    sizes = [int(size) for block in snapshot.blocks for size in block.size]
    parts = [
        {
            name: None if texts.codes[i] < 0 else texts.values[texts.codes[i]].as_py()
            for name, texts in block.partition.items()
        }
        for block in snapshot.blocks
        for i in range(len(block))
    ]
    said = [
        (side.lower[i].as_py(), side.upper[i].as_py(), side.null_count[i].as_py())
        for i in range(snapshot.file_count)
        for side in bounds
    ]
    width = len(bounds)
    files = [
        (
            path,
            vector,
            size,
            sorted((name, value) for name, value in part.items() if value is not None),
            said[i * width : (i + 1) * width],
        )
        for i, (path, vector, size, part) in enumerate(zip(snapshot.paths(), vectors, sizes, parts, strict=True))
    ]
    return {
        "version": snapshot.version,
        "files": sorted(files, key=str),
        "tombstones": snapshot.tombstones(),
        "protocol": snapshot.protocol,
        "metadata": snapshot.metadata,
        "properties": snapshot.properties,
        "transactions": snapshot.transactions,
        "domains": snapshot.domains,
        "columns": snapshot.schema.columns,
        "commits": set(snapshot.listing.commits),
    }


def bounds(i):
    return {"numRecords": 9, "minValues": {"x": i}, "maxValues": {"x": i + 3}, "nullCount": {"x": 0}}


class History:
    """A table that changes at random: files come, go, come back, lose rows; columns and properties change."""

    def __init__(self, path, source):
        self.log, self.random = Log(path), source
        self.live: dict[str, dict | None] = {}
        self.number = 0
        self.log.create([("x", "long"), ("p", "string")], *self.actions(3), partitioned=["p"], protocol=PROTOCOL)

    def actions(self, count):
        # Of one commit each file is spoken of once, as the protocol has it.
        spoken = set()
        for _ in range(count):
            kind = self.random.choice(["new", "new", "new", "gone", "again", "delete", "undelete", "odd"])
            path = self.random.choice(sorted(self.live)) if self.live and kind != "new" else f"f{self.number}"
            if path in spoken:
                continue
            spoken.add(path)
            yield from self.change(kind, path)

    def change(self, kind, path):
        self.number += 1
        before = self.live.get(path)
        after = None
        if kind == "delete":
            after = self.vector(self.random.randrange(1, 6))
        elif kind == "undelete":
            after = self.vector(1) if before and before["cardinality"] > 1 and self.random.random() < 0.5 else None
        if kind in {"gone", "delete", "undelete"} and path in self.live:
            yield remove(path, at=self.number, vector=before)
            self.live.pop(path)
        if kind == "gone":
            return
        if kind == "odd":  # beside the one that is there, which no writer does
            after = self.vector(2)
        partition = {"p": self.random.choice(["a", "b", None])} if self.random.random() < 0.9 else {}
        yield add(path, stats=bounds(self.number), partition=partition, size=self.number, vector=after)
        self.live[path] = after

    def vector(self, rows):
        name = f"{self.number:020d}"
        return {"storageType": "u", "pathOrInlineDv": name, "offset": 1, "sizeInBytes": 4, "cardinality": rows}

    def commit(self):
        actions = list(self.actions(self.random.randrange(5)))
        chance = self.random.random()
        if chance < 0.1:
            actions.append(self.metadata())
        elif chance < 0.2:
            actions.append({"txn": {"appId": self.random.choice("ab"), "version": self.number}})
        elif chance < 0.3:
            removed = self.random.random() < 0.5
            said = {"domain": self.random.choice("de"), "configuration": str(self.number), "removed": removed}
            actions.append({"domainMetadata": said})
        elif chance < 0.33:
            actions.append({"protocol": PROTOCOL | {"minWriterVersion": 7}})
        self.log.commit(*actions)

    def metadata(self):
        mapped = self.random.random() < 0.5
        more = {"delta.columnMapping.physicalName": self.random.choice(["x", "y"]), "delta.columnMapping.id": 1}
        fields = [field("x", "long", **(more if mapped else {})), field("p", "string")]
        if mapped:
            fields[1]["metadata"] = {"delta.columnMapping.physicalName": "p", "delta.columnMapping.id": 2}
        configuration = {"delta.columnMapping.mode": "name" if mapped else "none", "a.b": str(self.number)}
        return {
            "metaData": {
                "id": "t",
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": ["p"],
                "configuration": configuration,
            }
        }

    def checkpoint(self):
        """Write down the latest version as a checkpoint; statistics whose rows came back are no longer told apart."""
        snapshot = open_snapshot(self.log.path)
        if any(block.vectors is not None for block in snapshot.blocks):
            return
        parts = [add(path, stats=bounds(1), partition={"p": "a"}) for path in snapshot.paths()]
        metadata = {"metaData": {"id": "t", "schemaString": snapshot.schema.text, "partitionColumns": ["p"]}}
        metadata["metaData"]["configuration"] = snapshot.properties
        actions = [{"protocol": PROTOCOL}, metadata, *parts]
        write_checkpoint(self.log.place / f"{snapshot.version:020d}.checkpoint.parquet", actions)


@settings(max_examples=40, deadline=None)
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
        held = held.refreshed()
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
    """The files that are read when a snapshot is refreshed, and what it becomes."""
    read = []

    def noted(files, **options):
        read.extend(file.path.rpartition("/")[2] for file in files)
        return whole(files, **options)

    whole = refresh.read_whole
    with patch.object(refresh, "read_whole", noted), patch("deltalog.snapshot.read_whole", noted):
        return read, snapshot.refreshed()


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
    later = held.refreshed()
    assert later.segment.checkpoint.version == 4
    assert later.file_count == 10


def test_a_log_that_was_cut_is_read_anew(log, held):
    (log.place / f"{3:020d}.json").unlink()
    assert held.refreshed().version == 2
    shutil.rmtree(log.path)
    with pytest.raises(NotADeltaTable):
        held.refreshed()


@pytest.mark.parametrize("commits", [2, 3, 6])
def test_a_table_that_was_made_anew_is_read_anew(log, held, commits):
    shutil.rmtree(log.place)
    log.place.mkdir()
    log.version = -1
    log.create([("x", "long")], add("new"))
    grown(log, commits, first=50)
    later = held.refreshed()
    assert state(later) == state(open_snapshot(log.path))
    assert "old0" not in later.paths()


def test_a_commit_that_was_written_again_is_read_again(log, held):
    grown(log, 1, first=4)
    log.write(f"{2:020d}.json", add("other"))
    assert "other" in held.refreshed().paths()


def test_a_checkpoint_that_is_gone_is_not_built_upon(log):
    log.create([("x", "long")], add("a"))
    grown(log, 2)
    file = log.place / f"{1:020d}.checkpoint.parquet"
    write_checkpoint(file, [*head(log), add("a"), add("f1")])
    held = open_snapshot(log.path)
    assert held.segment.checkpoint.version == 1
    file.unlink()
    assert held.refreshed().segment.checkpoint is None


def test_a_damaged_commit_says_what_a_full_load_says(log, held):
    grown(log, 1, first=4)
    (log.place / f"{4:020d}.json").write_text('{"add":')
    with pytest.raises(Exception, match="ends in the middle") as full:
        open_snapshot(log.path)
    with pytest.raises(type(full.value), match="ends in the middle"):
        held.refreshed()


def test_many_refreshes_make_few_blocks_and_ask_alike(log, held):
    for i in range(80):
        log.commit(add(f"g{i}", stats=bounds(i), partition={"q": str(i % 3)} if i % 2 else {}), remove(f"g{i - 7}"))
        held = held.refreshed()
        held.paths()
    assert len(held.blocks) <= 17
    full = open_snapshot(log.path)
    assert state(held) == state(full)
    predicate = Compare(("x",), Op.GT, pa.scalar(70))
    kept = [sorted(each.paths(skip_files(each, predicate).kept)) for each in (held, full)]
    assert kept[0] == kept[1]
    assert len(kept[0]) < full.file_count
