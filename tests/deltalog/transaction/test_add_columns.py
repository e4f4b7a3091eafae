"""Columns added to a table: old rows lack them, new rows have them, other readers agree."""

from __future__ import annotations

import json

import msgspec
import pyarrow as pa
import pytest

import deltalog
import prune_assets as pr
from deltalog.errors import RefusedCommit, UnsupportedTable
from tests.peers.delta_readers import ask, missing

ADDED = pa.schema(
    {
        "name": pa.string(),
        "s": pa.struct({"a": pa.int64(), "l": pa.list_(pa.struct({"b": pa.int32()}))}),
        "m": pa.map_(pa.string(), pa.int64()),
    }
)
ROW = {"id": 2, "name": "two", "s": {"a": 5, "l": [{"b": 1}]}, "m": [("k", 7)]}


def table_of(path, mapping):
    field = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    properties = {}
    if mapping != "none":
        field["metadata"] = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c1"}
        properties = {"delta.columnMapping.mode": mapping, "delta.columnMapping.maxColumnId": "4"}
    deltalog.create_table(path, json.dumps({"type": "struct", "fields": [field]}), properties=properties)
    deltalog.write_table(path, pa.table({"id": [1]}), mode="append")
    return deltalog.open_snapshot(path)


@pytest.mark.parametrize("mapping", ["none", "name", "id"])
def test_old_rows_lack_the_columns_and_new_ones_have_them(tmp_path, mapping):
    deltalog.add_columns(table_of(tmp_path, mapping), ADDED)
    rows = pa.Table.from_pylist([ROW], pa.schema([("id", pa.int64()), *ADDED]))
    deltalog.write_table(tmp_path, rows, mode="append")
    asked = [reader for reader in ("delta-rs", "polars-deltalake") if not missing(reader)]
    answers = [ask(reader, [{"table": str(tmp_path)}])[0] for reader in asked]
    told = [[dict(json.loads(row)) for row in answer["rows"]] for answer in answers if "rows" in answer]
    assert told, answers
    for rows_of in told:
        assert {row["id"]: row["name"] for row in rows_of} == {1: None, 2: "two"}
        assert {row["id"]: row["s"] is None for row in rows_of} == {1: True, 2: False}
    names = {where: len(pr.plan(tmp_path, where=where).surviving_files) for where in ("name = 'two'", "name IS NULL")}
    assert list(names.values()) == [1, 1]


def test_under_column_mapping_every_field_has_a_number_behind_the_last(tmp_path):
    before = table_of(tmp_path, "name")
    deltalog.add_columns(before, ADDED)
    deltalog.add_columns(deltalog.open_snapshot(tmp_path), [pa.field("more", pa.int32())])
    snapshot = deltalog.open_snapshot(tmp_path)
    fields = snapshot.schema.fields
    numbers = {field.name: field.metadata["delta.columnMapping.id"] for field in fields}
    assert numbers.pop("id") == 1
    assert sorted(numbers.values()) == list(range(5, 5 + len(numbers)))
    assert snapshot.properties["delta.columnMapping.maxColumnId"] == str(max(numbers.values())) == str(numbers["more"])
    assert len({field.physical for field in fields}) == len(fields)


def test_the_protocol_follows_the_types(tmp_path):
    deltalog.add_columns(table_of(tmp_path, "none"), [pa.field("local", pa.timestamp("us"))])
    assert "timestampNtz" in deltalog.open_snapshot(tmp_path).protocol.reader_features


@pytest.mark.parametrize("mapping", ["none", "name"])
@pytest.mark.parametrize(
    ("field", "words"),
    [
        (pa.field("x", pa.int64(), nullable=False), "lack column x; make it nullable"),
        (pa.field("ID", pa.int64()), "column ID twice"),
        (pa.field("x", pa.duration("s")), "which Delta lacks"),
    ],
)
def test_what_is_no_new_column_is_refused(tmp_path, mapping, field, words):
    with pytest.raises(RefusedCommit, match=words):
        deltalog.add_columns(table_of(tmp_path, mapping), [field])
    assert deltalog.open_snapshot(tmp_path).version == 1


@pytest.mark.parametrize(
    "change",
    [
        {"delta.columnMapping.physicalName": "c9"},
        {"delta.columnMapping.id": 3},
        {"delta.columnMapping.id": 2, "added": True},
        {"delta.columnMapping.id": 5, "delta.columnMapping.physicalName": "c1", "added": True},
    ],
    ids=["renamed", "numbered anew", "an old number", "an old name"],
)
def test_under_column_mapping_nothing_else_is_changed(tmp_path, change):
    snapshot = table_of(tmp_path, "name")
    tree = msgspec.json.decode(snapshot.schema.text)
    said = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c1"}
    field = {"name": "id", "type": "long", "nullable": True, "metadata": said}
    if change.pop("added", False):
        said = {"delta.columnMapping.physicalName": "new"} | change
        tree["fields"].append(field | {"name": "new", "metadata": said})
    else:
        tree["fields"] = [field | {"metadata": said | change}]
    properties = {"delta.columnMapping.maxColumnId": "9"}
    with pytest.raises(UnsupportedTable, match="columnMapping"):
        deltalog.alter(snapshot, schema=json.dumps(tree), properties=properties)
