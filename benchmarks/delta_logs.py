"""Delta logs without data files: one with a checkpoint of a million files, others with commits only.

Tables have ten columns, including two partition columns, and about 370 bytes of JSON statistics per file. All values
are computed from the file number.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DIRECTORY = Path(".bench")
MILLION, MANY_COMMITS, LARGE_COMMITS = "delta_million", "delta_commits", "delta_large_commits"
FILES, CHECKPOINT = 1_000_000, 10
COMMITS, FILES_A_COMMIT = 1_000, 10
ROW_GROUP = 50_000
# Files that the next commit removes, spread over the checkpoint.
GONE = range(77_777, FILES, 200_000)
ROWS = 1_000
DAYS = 800
REGIONS = ("DE", "FR", "US", "JP", "BR", "IN", "ZA", "AU")
FIRST_DAY = dt.date(2024, 1, 1)
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
START_MS = int(START.timestamp() * 1000)
# Multiplying by an odd number modulo 2**64 maps file numbers to distinct, scattered numbers.
SCATTER = 0x9E3779B97F4A7C15

MAP = pa.map_(pa.string(), pa.string())
ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", MAP),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
        ("tags", MAP),
    ]
)
REMOVE = pa.struct([("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_())])
PROTOCOL = pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())])
METADATA = pa.struct(
    [
        ("id", pa.string()),
        ("format", pa.struct([("provider", pa.string()), ("options", MAP)])),
        ("schemaString", pa.string()),
        ("partitionColumns", pa.list_(pa.string())),
        ("configuration", MAP),
        ("createdTime", pa.int64()),
    ]
)
SCHEMA = pa.schema([("add", ADD), ("remove", REMOVE), ("protocol", PROTOCOL), ("metaData", METADATA)])


def million_files() -> Path:
    """Return a table with a checkpoint of a million files and a commit at the same version; created once."""
    return _made(MILLION)


def thousand_commits() -> Path:
    """Return a table with 1,000 commits of ten files each and no checkpoint; created once."""
    return _made(MANY_COMMITS)


def large_commits() -> Path:
    """Return a table with three commits of 100,000 files each and no checkpoint; created once."""
    return _made(LARGE_COMMITS)


def _made(name: str) -> Path:
    table = DIRECTORY / name
    if not table.is_dir():
        # Peak memory of a child process includes its parent's memory at the fork, so tables are created in another
        # process.
        subprocess.run([sys.executable, "-m", "benchmarks.delta_logs", name], check=True)
    return table


def _make(name: str) -> None:
    part = DIRECTORY / f"{name}.part"
    shutil.rmtree(part, ignore_errors=True)
    (part / "_delta_log").mkdir(parents=True)
    writers = {
        MILLION: _write_million,
        MANY_COMMITS: _write_commits,
        LARGE_COMMITS: lambda log: _write_commits(log, commits=3, files=100_000),
    }
    writers[name](part / "_delta_log")
    part.rename(DIRECTORY / name)


@contextmanager
def grown_copy(table: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """Link a log into a temporary copy; yield the path, and a function that adds a commit to the copy."""
    with tempfile.TemporaryDirectory(dir=DIRECTORY) as directory:
        copy = Path(directory) / "table"
        shutil.copytree(table, copy, copy_function=os.link)

        def grow() -> None:
            gone = [{"remove": {"path": add_of(i)["path"], "deletionTimestamp": 1, "dataChange": True}} for i in GONE]
            come = [{"add": add_of(FILES + i)} for i in range(FILES_A_COMMIT)]
            _commit(copy / "_delta_log", CHECKPOINT + 1, [*gone, *come])

        yield str(copy), grow


def _write_million(log: Path) -> None:
    with pq.ParquetWriter(log / f"{CHECKPOINT:020d}.checkpoint.parquet", SCHEMA) as writer:
        for kind, action in _head():
            writer.write_table(_table(**{kind: [action]}))
        for first in range(0, FILES, ROW_GROUP):
            adds = [_in_checkpoint(add_of(i)) for i in range(first, first + ROW_GROUP)]
            writer.write_table(_table(add=adds))
    (log / "_last_checkpoint").write_text(json.dumps({"version": CHECKPOINT, "size": FILES + 2}))
    _commit(log, CHECKPOINT, [{"add": add_of(FILES - 1)}])


def _write_commits(log: Path, *, commits: int = COMMITS, files: int = FILES_A_COMMIT) -> None:
    for version in range(commits):
        first = version * files
        head = [{kind: action} for kind, action in _head()] if version == 0 else []
        _commit(log, version, [*head, *({"add": add_of(first + i)} for i in range(files))])


def _commit(log: Path, version: int, actions: list[dict[str, Any]]) -> None:
    info = {"commitInfo": {"timestamp": START_MS + version * 1_000, "operation": "WRITE"}}
    lines = [json.dumps(action, separators=(",", ":")) for action in (info, *actions)]
    (log / f"{version:020d}.json").write_text("\n".join(lines) + "\n")


def _table(**columns: list[Any]) -> pa.Table:
    count = len(next(iter(columns.values())))
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _in_checkpoint(action: dict[str, Any]) -> dict[str, Any]:
    return action | {"partitionValues": list(action["partitionValues"].items()), "dataChange": False}


def _head() -> list[tuple[str, dict[str, Any]]]:
    names = [("id", "long"), ("ts", "timestamp"), ("day", "date"), ("region", "string"), ("key", "string")]
    names += [("amount", "decimal(12,2)"), ("x", "double"), ("flag", "boolean"), ("a", "integer"), ("b", "string")]
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in names]
    metadata = {
        "id": "8f0d7cf3-8e27-4a6f-9a0f-000000000001",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": ["day", "region"],
        "configuration": {},
        "createdTime": START_MS,
    }
    return [("protocol", {"minReaderVersion": 1, "minWriterVersion": 2}), ("metaData", metadata)]


def add_of(number: int) -> dict[str, Any]:
    """Return the `add` action of a file: ids and times ascend, `key` and `amount` are scattered."""
    sign = f"{(number * SCATTER) % (1 << 64):016x}{(number * number + 7 * number) % (1 << 64):016x}"
    day = str(FIRST_DAY + dt.timedelta(days=number // 400 % DAYS))
    region = REGIONS[number % len(REGIONS)]
    name = f"part-{number % 100_000:05d}-{sign[:8]}-{sign[8:12]}-4{sign[13:16]}-8{sign[17:20]}-{sign[20:]}"
    return {
        "path": f"day={day}/region={region}/{name}.c000.snappy.parquet",
        "partitionValues": {"day": day, "region": region},
        "size": 1_000_000 + number * 31 % 9_000_000,
        "modificationTime": START_MS + number,
        "dataChange": True,
        "stats": _statistics(number, sign),
    }


def _statistics(number: int, sign: str) -> str:
    first, amount, x, a = number * ROWS, number * 7_919 % 1_000_000 / 100, number % 997 / 10, number % 5_000
    lower = {"id": first, "ts": _time(first), "key": f"k{sign[:8]}", "amount": amount, "x": x, "a": a}
    upper = {
        "id": first + ROWS - 1,
        "ts": _time(first + ROWS - 1),
        "key": f"z{sign[8:16]}",
        "amount": round(amount + 500, 2),
    }
    said = {
        "numRecords": ROWS,
        "minValues": lower | {"b": f"b{sign[:4]}"},
        "maxValues": upper | {"x": x + 5.5, "a": a + 250, "b": f"y{sign[4:8]}"},
        "nullCount": {"id": 0, "ts": 0, "key": number % 3, "amount": 0, "x": number % 11, "flag": 0, "a": 0, "b": 0},
    }
    return json.dumps(said, separators=(",", ":"))


def _time(row: int) -> str:
    return (START + dt.timedelta(milliseconds=37 * row)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


if __name__ == "__main__":
    _make(sys.argv[1])
