"""Tables that change randomly, and the complete state of their snapshots."""

from __future__ import annotations

import json

from checkpoint_writer import write_checkpoint
from log_writer import Log, add, field, remove

from deltalog.log.deletion_vectors import vector_of
from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import file_bounds

FEATURES = ["deletionVectors", "columnMapping", "domainMetadata"]
PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": FEATURES[:2], "writerFeatures": FEATURES}


def state(snapshot):
    """Return the complete state of a snapshot, independent of the order of files."""
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
    """A table that changes randomly: files are added, removed, restored and lose rows; columns and properties too."""

    def __init__(self, path, source):
        self.log, self.random = Log(path), source
        self.live: dict[str, dict | None] = {}
        self.number = 0
        self.log.create([("x", "long"), ("p", "string")], *self.actions(3), partitioned=["p"], protocol=PROTOCOL)

    def actions(self, count):
        # The protocol allows at most one action per file in a commit.
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
        if kind == "odd":  # an add next to the existing one, which no writer does
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
