"""Logs written line by line."""

from __future__ import annotations

import json
from pathlib import Path

PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}


def field(name, kind, **metadata):
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


class Log:
    """A table that has a log but no data files."""

    def __init__(self, path):
        self.path = Path(path)
        self.place = self.path / "_delta_log"
        self.place.mkdir(parents=True)
        self.version = -1

    def __str__(self):
        return str(self.path)

    def commit(self, *actions):
        """Write the next commit; returns its file."""
        self.version += 1
        return self.write(f"{self.version:020d}.json", *actions)

    def write(self, name, *actions):
        file = self.place / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(json.dumps(action) + "\n" for action in actions))
        return file

    def create(self, columns, *actions, partitioned=(), protocol=PROTOCOL, **configuration):
        """Write the first commit: `columns` are pairs of name and type, or fields."""
        fields = [column if isinstance(column, dict) else field(*column) for column in columns]
        metadata = {
            "id": "t",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": list(partitioned),
            "configuration": configuration,
        }
        return self.commit({"protocol": protocol}, {"metaData": metadata}, *actions)


def add(path, *, stats=None, partition=None, size=1, vector=None, **more):
    """An `add`; `stats` is a dict, or the text itself."""
    action = {"path": path, "partitionValues": partition or {}, "size": size, "modificationTime": 1, "dataChange": True}
    if stats is not None:
        action["stats"] = stats if isinstance(stats, str) else json.dumps(stats)
    if vector is not None:
        action["deletionVector"] = vector
    return {"add": action | more}


def remove(path, *, at=1, vector=None):
    action = {"path": path, "deletionTimestamp": at, "dataChange": True}
    return {"remove": action | ({} if vector is None else {"deletionVector": vector})}
