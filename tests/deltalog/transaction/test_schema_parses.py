"""A commit parses the schema of its table once, from opening the table to the commit file."""

from __future__ import annotations

import json

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltalog

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string())])


@pytest.fixture
def place(tmp_path):
    """A table of one file, and further files in its directory."""
    table = str(tmp_path)
    deltalog.create_table(table, SCHEMA, partition_by=["day"])
    for name in ("old", "new"):
        pq.write_table(ROWS, tmp_path / f"{name}.parquet")
    snapshot = deltalog.open_snapshot(table)
    deltalog.append(snapshot, adds(table, snapshot, "old"))
    return table


@pytest.fixture
def parses(monkeypatch):
    """The schemas that are decoded, by any module."""
    decoded = []

    def counting(decode):
        def count(text, *args, **kwargs):
            if '"type":"struct"' in (text if isinstance(text, str) else bytes(text).decode(errors="replace"))[:20]:
                decoded.append(text)
            return decode(text, *args, **kwargs)

        return count

    monkeypatch.setattr(msgspec.json, "decode", counting(msgspec.json.decode))
    monkeypatch.setattr(json, "loads", counting(json.loads))
    return decoded


def adds(table, snapshot, name):
    return deltalog.adds_of(table, snapshot.schema, [deltalog.NewFile(f"{name}.parquet", {"day": "monday"})])


OPERATIONS = {
    "append": deltalog.append,
    "overwrite": deltalog.overwrite,
    "replace partitions": deltalog.replace_partitions,
    "optimize": lambda snapshot, new: deltalog.compact(snapshot, removes=snapshot.paths(), adds=new),
    "change": lambda snapshot, new: deltalog.commit(snapshot, deltalog.Change(operation="WRITE", adds=new)),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_commit_parses_the_schema_once(place, parses, operation):
    snapshot = deltalog.open_snapshot(place)
    deltalog.check_appendable(snapshot)
    assert operation(snapshot, adds(place, snapshot, "new")).version == 2
    assert len(parses) == 1


def test_a_new_schema_is_parsed_once_too(place, parses):
    snapshot = deltalog.open_snapshot(place)
    new = deltalog.check_create(place, SCHEMA.append(pa.field("name", pa.string()))).text
    parses.clear()
    deltalog.overwrite(snapshot, [], schema=new)
    assert parses == [new]


def test_a_table_is_created_with_one_parse(tmp_path, parses):
    deltalog.create_table(str(tmp_path), SCHEMA)
    assert len(parses) == 1
