"""Read Avro files, the format of manifests.

Source: "Object Container Files" in Avro's specification. Invalid content raises ValueError or IndexError; the caller
adds the name of the file.
"""

from __future__ import annotations

import bz2
import json
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from prune_assets.tables.iceberg.manifests.avro_walk import (
    ARRAY,
    BYTES,
    FIXED,
    MAP,
    NULL,
    PAIRS_OF_BYTES,
    PAIRS_OF_NUMBERS,
    RECORD,
    UNION,
    VARINT,
    Node,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAGIC: Final = b"Obj\x01"
_SYNC: Final = 16
# Manifests nest 5 levels deep, and column values are not nested.
_MAX_DEPTH: Final = 16
MAX_BYTES: Final = 1 << 30
_KINDS: Final = {
    "null": (NULL, 0),
    "boolean": (FIXED, 1),
    "float": (FIXED, 4),
    "double": (FIXED, 8),
    "int": (VARINT, 0),
    "long": (VARINT, 0),
    "bytes": (BYTES, 0),
    "string": (BYTES, 0),
}


@dataclass(frozen=True, slots=True)
class AvroRows:
    """The rows of a file, as concatenated bytes.

    `count`: number of rows.
    `schema`: record type of the rows.
    `metadata`: metadata in the file header.
    """

    schema: dict[str, Any]
    metadata: Mapping[str, bytes]
    count: int
    data: bytes


def read_avro(data: bytes) -> AvroRows:
    """Read a whole file and decompress its blocks."""
    if data[:4] != _MAGIC:
        raise ValueError("does not begin like an Avro file")
    metadata, position = _header(data, 4)
    sync, position = data[position : position + _SYNC], position + _SYNC
    codec, count, parts, total = metadata.get("avro.codec", b"null").decode(), 0, [], 0
    while position < len(data):
        rows, position = long_at(data, position)
        size, position = long_at(data, position)
        if rows < 0 or size < 0 or data[position + size : position + size + _SYNC] != sync:
            raise ValueError("has a block that does not end where it should")
        parts.append(_decompress(data[position : position + size], codec))
        count, total, position = count + rows, total + len(parts[-1]), position + size + _SYNC
        if total > MAX_BYTES or count > total:
            raise ValueError(f"has more than {MAX_BYTES:,} bytes, or rows without any")
    schema = json.loads(metadata["avro.schema"])
    return AvroRows(_resolve_names(schema, {}, 0), metadata, count, b"".join(parts))


def avro_header(data: bytes) -> Mapping[str, bytes]:
    """Return the metadata in a file's header."""
    if data[:4] != _MAGIC:
        raise ValueError("does not begin like an Avro file")
    return _header(data, 4)[0]


def _header(data: bytes, position: int) -> tuple[dict[str, bytes], int]:
    metadata: dict[str, bytes] = {}
    count, position = long_at(data, position)
    while count:
        if count < 0:
            count, (_, position) = -count, long_at(data, position)
        for _ in range(count):
            key, position = bytes_at(data, position)
            metadata[key.decode()], position = bytes_at(data, position)
        count, position = long_at(data, position)
    return metadata, position


def long_at(data: bytes, position: int) -> tuple[int, int]:
    """Return the number at a position, and the position after it."""
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        if shift > 63:
            raise ValueError("has a number of more than 64 bits")


def bytes_at(data: bytes, position: int) -> tuple[bytes, int]:
    """Return the length-prefixed bytes at a position, and the position after them."""
    length, position = long_at(data, position)
    if not 0 <= length <= len(data) - position:
        raise IndexError
    return data[position : position + length], position + length


def _decompress(block: bytes, codec: str) -> bytes:
    match codec:
        case "null":
            return block
        case "deflate":
            unpack = zlib.decompressobj(-15)
            unpacked = unpack.decompress(block, MAX_BYTES)
            if not unpack.eof:
                raise ValueError("has a block that is cut off, or too large")
            return unpacked
        case "bzip2":
            return bz2.BZ2Decompressor().decompress(block, MAX_BYTES)
        case "snappy":
            size = _plain_varint(block)
            if size > MAX_BYTES:
                raise ValueError("has a block that is too large")
            unpacked = pa.decompress(block[:-4], size, "snappy", asbytes=True)
            if zlib.crc32(unpacked) != int.from_bytes(block[-4:], "big"):
                raise ValueError("has a block with a wrong checksum")
            return bytes(unpacked)
        case "zstandard":
            return bytes(pa.CompressedInputStream(pa.BufferReader(block), "zstd").read(MAX_BYTES))
    raise ValueError(f"is packed by {codec}")


def _plain_varint(block: bytes) -> int:
    value = shift = 0
    for byte in block[:5]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return value


def _resolve_names(schema: Any, names: dict[str, Any], depth: int) -> Any:
    """Replace type names in a schema with their definitions."""
    if depth > _MAX_DEPTH:
        raise ValueError("has a schema that nests too deep")
    if isinstance(schema, str):
        return schema if schema in _KINDS else names[schema]
    if isinstance(schema, list):
        return [_resolve_names(branch, names, depth + 1) for branch in schema]
    avro_type = schema["type"]
    if isinstance(avro_type, dict | list):
        return _resolve_names(avro_type, names, depth + 1)
    definition = dict(schema)
    if avro_type in {"fixed", "enum"}:
        names[schema["name"]] = definition
    if avro_type == "record":
        definition["fields"] = [
            {**field, "type": _resolve_names(field["type"], names, depth + 1)} for field in schema["fields"]
        ]
        names[schema.get("name", "")] = definition
    for part in ("items", "values"):
        if part in schema:
            definition[part] = _resolve_names(schema[part], names, depth + 1)
    return definition


def compiled(schema: Any, wanted: Mapping[int, int], slot: int = -1) -> Node:
    """Compile a schema to nodes.

    `wanted`: slot (output column) of each wanted field, by field id.
    `slot`: slot of the value itself; -1 for none.
    """
    if isinstance(schema, list):
        # The slot is for the value itself, not for the number of the union branch.
        branches = [compiled(branch, wanted, -1 if branch == "null" else slot) for branch in schema]
        return Node(UNION, branches, 0, 1, -1)
    avro_type = schema if isinstance(schema, str) else schema["type"]
    match avro_type:
        case "record":
            fields = [
                compiled(field["type"], wanted, wanted.get(field.get("field-id"), -1)) for field in schema["fields"]
            ]
            return Node(RECORD, fields, 0, sum(child.least for child in fields), slot)
        case "array" | "map":
            of = compiled(schema["items" if avro_type == "array" else "values"], {})
            least = of.least + (avro_type == "map")
            if least < 1:
                raise ValueError("repeats what takes no bytes")
            return Node(ARRAY if avro_type == "array" else MAP, [of], _pairs(of), least, slot)
        case "fixed":
            return Node(FIXED, [], _size(schema), _size(schema), slot)
        case "enum":
            return Node(VARINT, [], 0, 1, slot)
    code, size = _KINDS[avro_type]
    return Node(code, [], size, size if code == FIXED else int(code != NULL), slot)


def _pairs(of: Node) -> int:
    kinds = [child.kind for child in of.children] if of.kind == RECORD else []
    return PAIRS_OF_NUMBERS if kinds == [VARINT, VARINT] else PAIRS_OF_BYTES if kinds == [VARINT, BYTES] else 0


def _size(schema: Mapping[str, Any]) -> int:
    size = schema["size"]
    if not isinstance(size, int) or not 0 <= size <= MAX_BYTES:
        raise ValueError("has a fixed type of no length")
    return size


def value_at(schema: Any, data: bytes, position: int) -> tuple[Any, int]:  # noqa: PLR0911 - one return per type
    """Return the value at a position, and the position after it.

    Records become dicts by field id, maps become dicts.
    """
    if isinstance(schema, list):
        branch, position = long_at(data, position)
        return value_at(schema[branch], data, position)
    avro_type = schema if isinstance(schema, str) else schema["type"]
    match avro_type:
        case "null":
            return None, position
        case "int" | "long" | "enum":
            return long_at(data, position)
        case "string":
            encoded, position = bytes_at(data, position)
            return encoded.decode(), position
        case "bytes":
            return bytes_at(data, position)
        case "record":
            record = {}
            for field in schema["fields"]:
                record[field.get("field-id", field["name"])], position = value_at(field["type"], data, position)
            return record, position
        case "array" | "map":
            return _many_at(schema, avro_type, data, position)
    size = _size(schema) if avro_type == "fixed" else _KINDS[avro_type][1]
    if size > len(data) - position:
        raise IndexError
    part = data[position : position + size]
    code = {"boolean": "?", "float": "<f", "double": "<d"}.get(avro_type)
    return part if code is None else struct.unpack(code, part)[0], position + size


def _many_at(schema: Any, avro_type: str, data: bytes, position: int) -> tuple[Any, int]:
    """Read an array or map; Iceberg writes maps as arrays of key-value records."""
    items: list[Any] = []
    count, position = long_at(data, position)
    while count:
        if count < 0:
            count, (_, position) = -count, long_at(data, position)
        for _ in range(count):
            key: Any = None
            if avro_type == "map":
                key, position = bytes_at(data, position)
            value, position = value_at(schema["items" if avro_type == "array" else "values"], data, position)
            items.append(value if avro_type == "array" else (key.decode(), value))
        count, position = long_at(data, position)
    if schema.get("logicalType") == "map":
        items = [tuple(pair.values()) for pair in items]
    return (dict(items) if avro_type == "map" or schema.get("logicalType") == "map" else items), position
