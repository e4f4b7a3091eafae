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
    """The `count` concatenated rows of a file.

    `schema`: its record type, `metadata`: of the file header.
    """

    schema: dict[str, Any]
    metadata: Mapping[str, bytes]
    count: int
    data: bytes


def read_avro(data: bytes) -> AvroRows:
    """Read a whole file and decompress its blocks."""
    if data[:4] != _MAGIC:
        raise ValueError("does not begin like an Avro file")
    metadata, at = _header(data, 4)
    sync, at = data[at : at + _SYNC], at + _SYNC
    codec, count, parts, total = metadata.get("avro.codec", b"null").decode(), 0, [], 0
    while at < len(data):
        rows, at = long_at(data, at)
        size, at = long_at(data, at)
        if rows < 0 or size < 0 or data[at + size : at + size + _SYNC] != sync:
            raise ValueError("has a block that does not end where it should")
        parts.append(_unpacked(data[at : at + size], codec))
        count, total, at = count + rows, total + len(parts[-1]), at + size + _SYNC
        if total > MAX_BYTES or count > total:
            raise ValueError(f"has more than {MAX_BYTES:,} bytes, or rows without any")
    schema = json.loads(metadata["avro.schema"])
    return AvroRows(_named(schema, {}, 0), metadata, count, b"".join(parts))


def avro_header(data: bytes) -> Mapping[str, bytes]:
    """Return the metadata in a file's header."""
    if data[:4] != _MAGIC:
        raise ValueError("does not begin like an Avro file")
    return _header(data, 4)[0]


def _header(data: bytes, at: int) -> tuple[dict[str, bytes], int]:
    found: dict[str, bytes] = {}
    count, at = long_at(data, at)
    while count:
        if count < 0:
            count, (_, at) = -count, long_at(data, at)
        for _ in range(count):
            key, at = bytes_at(data, at)
            found[key.decode()], at = bytes_at(data, at)
        count, at = long_at(data, at)
    return found, at


def long_at(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a position, and the position after it."""
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        if shift > 63:
            raise ValueError("has a number of more than 64 bits")


def bytes_at(data: bytes, at: int) -> tuple[bytes, int]:
    """Return the length-prefixed bytes at a position, and the position after them."""
    length, at = long_at(data, at)
    if not 0 <= length <= len(data) - at:
        raise IndexError
    return data[at : at + length], at + length


def _unpacked(block: bytes, codec: str) -> bytes:
    match codec:
        case "null":
            return block
        case "deflate":
            unpack = zlib.decompressobj(-15)
            found = unpack.decompress(block, MAX_BYTES)
            if not unpack.eof:
                raise ValueError("has a block that is cut off, or too large")
            return found
        case "bzip2":
            return bz2.BZ2Decompressor().decompress(block, MAX_BYTES)
        case "snappy":
            size = _plain_varint(block)
            if size > MAX_BYTES:
                raise ValueError("has a block that is too large")
            found = pa.decompress(block[:-4], size, "snappy", asbytes=True)
            if zlib.crc32(found) != int.from_bytes(block[-4:], "big"):
                raise ValueError("has a block with a wrong checksum")
            return bytes(found)
        case "zstandard":
            return bytes(pa.CompressedInputStream(pa.BufferReader(block), "zstd").read(MAX_BYTES))
    raise ValueError(f"is packed by {codec}")


def _plain_varint(block: bytes) -> int:
    number = shift = 0
    for byte in block[:5]:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return number


def _named(schema: Any, names: dict[str, Any], depth: int) -> Any:
    """Replace type names in a schema with their definitions."""
    if depth > _MAX_DEPTH:
        raise ValueError("has a schema that nests too deep")
    if isinstance(schema, str):
        return schema if schema in _KINDS else names[schema]
    if isinstance(schema, list):
        return [_named(one, names, depth + 1) for one in schema]
    kind = schema["type"]
    if isinstance(kind, dict | list):
        return _named(kind, names, depth + 1)
    found = dict(schema)
    if kind in {"fixed", "enum"}:
        names[schema["name"]] = found
    if kind == "record":
        found["fields"] = [{**one, "type": _named(one["type"], names, depth + 1)} for one in schema["fields"]]
        names[schema.get("name", "")] = found
    for part in ("items", "values"):
        if part in schema:
            found[part] = _named(schema[part], names, depth + 1)
    return found


def compiled(schema: Any, wanted: Mapping[int, int], slot: int = -1) -> Node:
    """Compile a schema to nodes; `wanted`: slot of each wanted field id."""
    if isinstance(schema, list):
        # The slot is for the value itself, not for the number of the union branch.
        branches = [compiled(one, wanted, -1 if one == "null" else slot) for one in schema]
        return Node(UNION, branches, 0, 1, -1)
    kind = schema if isinstance(schema, str) else schema["type"]
    match kind:
        case "record":
            fields = [compiled(one["type"], wanted, wanted.get(one.get("field-id"), -1)) for one in schema["fields"]]
            return Node(RECORD, fields, 0, sum(one.least for one in fields), slot)
        case "array" | "map":
            of = compiled(schema["items" if kind == "array" else "values"], {})
            least = of.least + (kind == "map")
            if least < 1:
                raise ValueError("repeats what takes no bytes")
            return Node(ARRAY if kind == "array" else MAP, [of], _pairs(of), least, slot)
        case "fixed":
            return Node(FIXED, [], _size(schema), _size(schema), slot)
        case "enum":
            return Node(VARINT, [], 0, 1, slot)
    code, size = _KINDS[kind]
    return Node(code, [], size, size if code == FIXED else int(code != NULL), slot)


def _pairs(of: Node) -> int:
    kinds = [one.kind for one in of.children] if of.kind == RECORD else []
    return PAIRS_OF_NUMBERS if kinds == [VARINT, VARINT] else PAIRS_OF_BYTES if kinds == [VARINT, BYTES] else 0


def _size(schema: Mapping[str, Any]) -> int:
    size = schema["size"]
    if not isinstance(size, int) or not 0 <= size <= MAX_BYTES:
        raise ValueError("has a fixed type of no length")
    return size


def value_at(schema: Any, data: bytes, at: int) -> tuple[Any, int]:  # noqa: PLR0911 - one for each kind
    """Return the value at a position, and the next position.

    Records become dicts by field id, maps become dicts.
    """
    if isinstance(schema, list):
        branch, at = long_at(data, at)
        return value_at(schema[branch], data, at)
    kind = schema if isinstance(schema, str) else schema["type"]
    match kind:
        case "null":
            return None, at
        case "int" | "long" | "enum":
            return long_at(data, at)
        case "string":
            text, at = bytes_at(data, at)
            return text.decode(), at
        case "bytes":
            return bytes_at(data, at)
        case "record":
            found = {}
            for one in schema["fields"]:
                found[one.get("field-id", one["name"])], at = value_at(one["type"], data, at)
            return found, at
        case "array" | "map":
            return _many_at(schema, kind, data, at)
    size = _size(schema) if kind == "fixed" else _KINDS[kind][1]
    if size > len(data) - at:
        raise IndexError
    part = data[at : at + size]
    code = {"boolean": "?", "float": "<f", "double": "<d"}.get(kind)
    return part if code is None else struct.unpack(code, part)[0], at + size


def _many_at(schema: Any, kind: str, data: bytes, at: int) -> tuple[Any, int]:
    """Read an array or map; Iceberg writes maps as arrays of key-value records."""
    found: list[Any] = []
    count, at = long_at(data, at)
    while count:
        if count < 0:
            count, (_, at) = -count, long_at(data, at)
        for _ in range(count):
            key: Any = None
            if kind == "map":
                key, at = bytes_at(data, at)
            value, at = value_at(schema["items" if kind == "array" else "values"], data, at)
            found.append(value if kind == "array" else (key.decode(), value))
        count, at = long_at(data, at)
    if schema.get("logicalType") == "map":
        found = [tuple(pair.values()) for pair in found]
    return (dict(found) if kind == "map" or schema.get("logicalType") == "map" else found), at
