"""Delta tables for tests: delta-rs writes the rows, and a commit of a test's own gives files deletion vectors."""

from __future__ import annotations

import datetime as dt
import json
import struct
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

import deltalog
from deltalog.table.data_paths import data_directory
from deltalog.transaction.commit import commit_to
from deltalog.transaction.operations import altered
from parquet_core.storage import Traffic, find_file, put_unique, read_range
from prune_assets.tables.declared_type import declared_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
ID = "delta.columnMapping.id"
_MAGIC = struct.pack("<i", 1681511377)


def write_table(table, rows, *, mode="error", partition_by=(), properties=None):
    """Write rows with delta-rs, as one file per partition."""
    deltalake.write_deltalake(
        str(table), rows, mode=mode, partition_by=list(partition_by) or None, configuration=properties
    )


def delete_rows(table, rows: Mapping[str, Sequence[int]]):
    """Commit the next version, in which files have inline deletion vectors; `rows`: positions by path.

    The log has commits only, and each file has one add.
    """
    snapshot = deltalog.open_snapshot(table)
    actions = [action for version in range(snapshot.version + 1) for action in actions_of(table, version)]
    adds = {action["add"]["path"]: action["add"] for action in actions if "add" in action}
    changed = [{"commitInfo": {"timestamp": 0, "operation": "DELETE"}}]
    for path, positions in rows.items():
        add = adds[path]
        stats = json.dumps(json.loads(add["stats"]) | {"tightBounds": False}, separators=(",", ":"))
        changed += [
            {"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True}},
            {"add": add | {"stats": stats, "deletionVector": inline_vector(positions)}},
        ]
    content = "".join(json.dumps(action) + "\n" for action in changed)
    assert put_unique(_commit_file(table, snapshot.version + 1), content.encode())


def actions_of(table, version):
    file = find_file(_commit_file(table, version))
    return [json.loads(line) for line in read_range(file, 0, file.size, purpose="log", traffic=Traffic()).splitlines()]


def _commit_file(table, version):
    return f"{table}/_delta_log/{version:020}.json"


def inline_vector(positions):
    """The deletion vector of a file as JSON, stored in the log."""
    data = _MAGIC + BitMap64(positions).serialize()
    return {
        "storageType": "i",
        "pathOrInlineDv": z85(data + b"\0" * (-len(data) % 4)),
        "sizeInBytes": len(data),
        "cardinality": len(positions),
    }


def z85(data):
    numbers = [number for (number,) in struct.iter_unpack(">I", data)]
    return "".join(_DIGITS[number // 85**power % 85] for number in numbers for power in (4, 3, 2, 1, 0))


def alter(snapshot, *, properties=None, schema=None, checkpoint=True):
    """Commit properties, where None unsets one, and a schema."""
    merged = {**snapshot.properties, **(properties or {})}
    kept = {name: value for name, value in merged.items() if value is not None}
    change = deltalog.Change(operation="SET TBLPROPERTIES")
    return commit_to(snapshot, *altered(snapshot, change, properties=kept, schema=schema), checkpoint=checkpoint)


def put_files(table, rows, schema, properties=None):
    """Write a Parquet file per partition into a local table, and return them as NewFiles; no commit names them yet.

    Columns have the physical names and ids of column mapping, and fields of structs their logical names.
    """
    fields = {field["name"]: stored_field(field) for field in json.loads(schema.text)["fields"]}
    names = [name for name in rows.column_names if name not in schema.partition_columns]
    stored = pa.schema([fields[name] for name in names])
    groups = {}
    for number, row in enumerate(rows.select(list(schema.partition_columns)).to_pylist() or [{}] * len(rows)):
        groups.setdefault(tuple(row.items()), []).append(number)
    files = []
    for values, numbers in groups.items():
        texts = {name: partition_text(value) for name, value in values}
        path = Path(table, f"{data_directory(schema, texts, properties or {})}write-{uuid4().hex}.parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows.select(names).take(numbers).rename_columns(stored.names).cast(stored), path)
        files.append(deltalog.NewFile(path.relative_to(table).as_posix(), texts))
    return files


def append_rows(table, rows, commit=deltalog.append):
    """Write rows and commit them; `commit`: `deltalog.append` or another operation of the same arguments."""
    snapshot = deltalog.open_snapshot(table)
    files = put_files(table, rows, snapshot.schema, snapshot.properties)
    return commit(snapshot, deltalog.adds_of(table, snapshot.schema, files, properties=snapshot.properties))


def stored_field(field):
    """Convert a field of Spark's JSON schema to the Arrow field in files."""
    metadata = field.get("metadata", {})
    name = metadata.get("delta.columnMapping.physicalName", field["name"])
    ids = {"PARQUET:field_id": str(metadata[ID])} if ID in metadata else None
    return pa.field(name, _stored_type(field["type"]), nullable=field.get("nullable", True), metadata=ids)


def _stored_type(declared):
    match declared:
        case str():
            return declared_type({"type": declared}).declared
        case {"type": "struct", "fields": fields}:
            return pa.struct([stored_field(field) for field in fields])
        case {"type": "array", "elementType": element}:
            return pa.list_(pa.field("element", _stored_type(element)))
    return pa.map_(_stored_type(declared["keyType"]), _stored_type(declared["valueType"]))


def mapped(schema):
    """An Arrow schema as Spark's JSON: columns with ids and physical names, inner fields with ids and their names."""
    tree, numbers = json.loads(deltalog.check_create("/t", schema).text), count(1)
    for field in tree["fields"]:
        _number(field, f"c {field['name']}", numbers)
    return json.dumps(tree), next(numbers) - 1


def _number(field, name, numbers):
    field["metadata"] = {ID: next(numbers), "delta.columnMapping.physicalName": name}
    inner = field["type"]
    while isinstance(inner, dict):
        for child in inner.get("fields", ()):
            _number(child, child["name"], numbers)
        inner = inner.get("elementType", inner.get("valueType"))


def partition_text(value):
    """A partition value as the protocol writes it."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(str(value), str(value))
        case dt.datetime():
            text = value.strftime("%Y-%m-%d %H:%M:%S.%f")
            return text if value.tzinfo is None else f"{text.replace(' ', 'T')}Z"
    return str(value)
