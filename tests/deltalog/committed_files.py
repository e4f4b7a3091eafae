"""Files to commit: entries without data files, and real files."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from deltalog.log.actions import Add, Transaction
from deltalog.snapshot.opening import open_snapshot
from deltalog.transaction.create import create_table

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string())])


def named(path, *, rows=1, **partition):
    """Return an `add` action for a file that does not exist."""
    stats = {"numRecords": rows, "minValues": {"id": 0}, "maxValues": {"id": rows}, "nullCount": {"id": 0}}
    return Add(
        path=path, size=rows, partition_values=partition, modification_time=1, stats=json.dumps(stats, sort_keys=True)
    )


def written(table, path, ids, **partition):
    """Write a file and return its `add` action; `path` is not URL-encoded."""
    file = Path(table) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), file)
    stats = {
        "numRecords": len(ids),
        "minValues": {"id": min(ids)},
        "maxValues": {"id": max(ids)},
        "nullCount": {"id": 0},
    }
    return Add(
        path=quote(path, safe="/="),
        size=file.stat().st_size,
        partition_values=partition,
        modification_time=file.stat().st_mtime_ns // 1_000_000,
        stats=json.dumps(stats),
    )


def partitioned(table, **properties):
    """Create a table with id and day, partitioned by day, and return its snapshot."""
    create_table(str(table), SCHEMA, partition_by=["day"], properties=properties)
    return open_snapshot(str(table))


def by(application, version):
    return Transaction(application, version)


def lines(table, version):
    """Return the actions of a commit."""
    text = (Path(str(table)) / "_delta_log" / f"{version:020d}.json").read_text()
    return [json.loads(line) for line in text.splitlines()]


def versions(table):
    return sorted(path.name for path in (Path(str(table)) / "_delta_log").iterdir())
