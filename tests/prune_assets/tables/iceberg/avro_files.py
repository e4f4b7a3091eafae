"""Avro files as plain records: read, changed and written again, schema included.

with changed(path) as file:
    for row in file.rows:
        row["data_file"]["record_count"] = 3
"""

from __future__ import annotations

import json
import struct
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prune_assets.tables.iceberg.manifests.avro_file import read_avro


@dataclass
class AvroFile:
    """`schema`: its names resolved; `rows`: records as dicts by name, maps of Iceberg as lists of key and value."""

    schema: dict
    metadata: dict
    rows: list

    def drop(self, name, record=None):
        """Remove a field of the schema, of the row itself or of a record in it."""
        fields = self.fields(record)
        fields[:] = [field for field in fields if field["name"] != name]

    def fields(self, record=None):
        """The fields of the row, or of a record in it, as a list to change."""
        of = self.schema if record is None else without_null(self.field(record)["type"])
        return of["fields"]

    def field(self, name):
        """The description of a field."""
        return next(field for field in self.fields() if field["name"] == name)


def without_null(avro_type):
    """Return a type, or the non-null type of a union with null."""
    return next(branch for branch in avro_type if branch != "null") if isinstance(avro_type, list) else avro_type


def read(path):
    """Read a file whole."""
    rows_of_file = read_avro(Path(path).read_bytes())
    data = _Data(rows_of_file.data)
    rows = [_value(rows_of_file.schema, data) for _ in range(rows_of_file.count)]
    return AvroFile(rows_of_file.schema, dict(rows_of_file.metadata), rows)


def write(path, file):
    """Write a file, not packed; its schema spells each type out once."""
    metadata = {**file.metadata, "avro.codec": b"null", "avro.schema": json.dumps(_once(file.schema, set())).encode()}
    head = b"".join(_blob(key.encode()) + _blob(value) for key, value in metadata.items())
    rows, sync = b"".join(_bytes(file.schema, row) for row in file.rows), b"s" * 16
    body = _long(len(file.rows)) + _long(len(rows)) + rows + sync if file.rows else b""
    Path(path).write_bytes(b"Obj\x01" + _long(len(metadata)) + head + b"\0" + sync + body)


@contextmanager
def changed(path):
    """Give a file to change, and write it again."""
    file = read(path)
    yield file
    write(path, file)


class _Data:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        return self.data[self.at - count : self.at]

    def long(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)


_CODES = {"boolean": "?", "float": "<f", "double": "<d"}


def _value(schema, data):
    if isinstance(schema, list):
        return _value(schema[data.long()], data)
    match schema if isinstance(schema, str) else schema["type"]:
        case "null":
            return None
        case "int" | "long":
            return data.long()
        case "string":
            return data.take(data.long()).decode()
        case "bytes":
            return data.take(data.long())
        case "fixed":
            return data.take(schema["size"])
        case "record":
            return {field["name"]: _value(field["type"], data) for field in schema["fields"]}
        case "array":
            rows = []
            while count := data.long():
                if count < 0:
                    count = -count
                    data.long()
                rows += [_value(schema["items"], data) for _ in range(count)]
            return rows
        case code:
            return struct.unpack(_CODES[code], data.take(struct.calcsize(_CODES[code])))[0]


def _bytes(schema, value):
    if isinstance(schema, list):
        branch = next(i for i, item in enumerate(schema) if (item == "null") == (value is None))
        return _long(branch) + _bytes(schema[branch], value)
    match schema if isinstance(schema, str) else schema["type"]:
        case "null":
            return b""
        case "int" | "long":
            return _long(value)
        case "string":
            return _blob(value.encode())
        case "bytes":
            return _blob(value)
        case "fixed":
            return value
        case "record":
            return b"".join(_bytes(field["type"], value[field["name"]]) for field in schema["fields"])
        case "array":
            rows = b"".join(_bytes(schema["items"], item) for item in value)
            return (_long(len(value)) + rows if value else b"") + b"\0"
        case code:
            return struct.pack(_CODES[code], value)


def _once(schema, named):
    """Replace repeated type definitions by their names."""
    if isinstance(schema, list):
        return [_once(branch, named) for branch in schema]
    if isinstance(schema, str):
        return schema
    if schema.get("name") in named:
        return schema["name"]
    if schema["type"] in {"record", "fixed"} and "name" in schema:
        named.add(schema["name"])
    definition = dict(schema)
    if "fields" in schema:
        definition["fields"] = [{**field, "type": _once(field["type"], named)} for field in schema["fields"]]
    if "items" in schema:
        definition["items"] = _once(schema["items"], named)
    return definition


def _blob(value):
    return _long(len(value)) + value


def _long(value):
    value, encoded = (value << 1) ^ (value >> 63), bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])
