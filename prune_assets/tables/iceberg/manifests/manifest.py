"""A manifest: path, size, partition and bounds of each live file.

Bounds are read only for the columns of a predicate, and only these are cached. `packed` keeps the compressed bytes of
the manifest, to read other columns later. Field ids are those in "Manifests" of Iceberg's specification.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import from_numpy
from parquet_core.errors import MalformedFile, UnsupportedFeature
from prune_assets.tables.iceberg.manifests.avro_file import AvroRows, compiled, read_avro
from prune_assets.tables.iceberg.manifests.avro_walk import (
    BYTES,
    PAIRS_OF_BYTES,
    PAIRS_OF_NUMBERS,
    UNION,
    VARINT,
    Node,
    behind_at,
    numbers_at,
    positions_of_key,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

STATUS, SEQUENCE, DATA_FILE, FILE_SEQUENCE = 0, 3, 2, 4
CONTENT, PATH, FORMAT, PARTITION, RECORDS, SIZE = 134, 100, 101, 102, 103, 104
VALUE_COUNTS, NULL_COUNTS, NAN_COUNTS, LOWER, UPPER = 109, 110, 137, 125, 128
COUNTS, BOUNDS = (VALUE_COUNTS, NULL_COUNTS, NAN_COUNTS), (LOWER, UPPER)
DELETED = 2
_ADDED = 1
_FIXED_FIELDS = (STATUS, SEQUENCE, PATH, FORMAT, RECORDS, SIZE, CONTENT)
_MAPS = (*COUNTS, *BOUNDS)
# Partition fields get the ids `_OF_PARTITION` minus position, which no field of a manifest has.
_OF_PARTITION = -1000


class Absent:
    """Value of a partition field that a manifest lacks: it is unknown, not null."""

    def __repr__(self) -> str:
        """Return the word for this value in messages."""
        return "unknown"


ABSENT: Final = Absent()


class Listed(NamedTuple):
    """Entry of a manifest in the manifest list. Files of the manifest inherit its spec and its sequence number.

    `files`, `rows`: numbers of live files and of their rows. None if unknown.
    """

    location: str
    spec: int
    sequence: int
    files: int | None
    rows: int | None


@dataclass(slots=True)
class Manifest:
    """Live files of a manifest, in columns.

    `spec`: ids of the partition fields.
    `partition`: for each partition field, the values of all files; None for a field that the manifest lacks.
    `cached`: bounds and counts of all files, by kind (`LOWER`, ..) and column id.
    """

    listed: Listed
    packed: bytes
    spec: Sequence[int]
    row: NDArray[np.int64]
    records: NDArray[np.int64]
    sizes: NDArray[np.int64]
    sequence: NDArray[np.int64]
    partition: list[list[Any] | None]
    cached: dict[tuple[int, int], Any] = field(default_factory=dict)
    _paths: list[str] | None = None

    def paths(self) -> list[str]:
        """Return the locations of the files as written in the manifest."""
        if self._paths is None:
            located = locate_fields(self.packed, self.listed, self.spec, [PATH])
            self._paths = [
                str(path) for path in _strings_at(located.rows.data, located.positions[PATH][self.row]).to_pylist()
            ]
        return self._paths

    def partition_of(self, i: int) -> tuple[Any, ...]:
        """Return the partition of a file; ABSENT for a field that the manifest lacks."""
        return tuple(ABSENT if values is None else values[i] for values in self.partition)

    def read(self, fields: Iterable[int]) -> None:
        """Cache the bounds and counts of columns.

        `fields`: field ids of the columns.
        """
        missing = [field_id for field_id in fields if (LOWER, field_id) not in self.cached]
        if missing:
            _cache_maps(self, locate_fields(self.packed, self.listed, self.spec, _MAPS), missing)


class LocatedFields(NamedTuple):
    """Rows, and the positions of wanted fields in them, by field id.

    A partition field has the id `_OF_PARTITION` minus its position in the spec.
    """

    rows: AvroRows
    node: Node
    positions: Mapping[int, NDArray[np.int64]]

    def numbers(self, field_id: int, missing: int) -> NDArray[np.int64]:
        """Return the number that each row has in a field; `missing` if the field is missing."""
        values = np.full(self.rows.count, missing, np.int64)
        numbers_at(self.rows.data, self.positions[field_id], values)
        return values


def locate_fields(packed: bytes, listed: Listed, spec: Sequence[int], wanted: Iterable[int]) -> LocatedFields:
    """Decompress a manifest and find wanted fields and partition fields in its rows.

    `spec`: ids of the partition fields.
    `wanted`: ids of the other fields.
    """
    rows = read_avro(packed)
    fields = _number_partition_fields(_partition(rows.schema), spec)
    if fields is None:
        raise MalformedFile(
            f"{listed.location}: its files lack the partition fields of their spec; the manifest is damaged"
        )
    slots = {field_id: i for i, field_id in enumerate((*wanted, *fields))}
    node = compiled(rows.schema, slots)
    table = np.full((rows.count, len(slots)), -1, np.int64)
    walk(rows.data, node, rows.count, len(slots), table.reshape(-1))
    by_field = np.ascontiguousarray(table.T)
    return LocatedFields(rows, node, {field_id: by_field[i] for field_id, i in slots.items()})


def _number_partition_fields(fields: Sequence[dict[str, Any]], spec: Sequence[int]) -> list[int] | None:
    """Return the position of each partition field of a manifest in the spec; None if field ids are missing.

    A manifest may lack fields of the spec, such as fields of a dropped column. If the ids are not those
    of the spec but their number is the same, the fields are in the order of the spec.
    """
    ids: list[int | None] = [partition_field.get("field-id") for partition_field in fields]
    by_id: dict[int | None, int] = {field_id: i for i, field_id in enumerate(spec)}
    positions: list[int | None] = [by_id.get(field_id) for field_id in ids]
    if len(ids) == len(spec) and set(ids) != set(spec):
        positions = list(range(len(spec)))
    elif None in ids or len(set(ids)) < len(ids):
        return None
    for partition_field, position in zip(fields, positions, strict=True):
        partition_field["field-id"] = None if position is None else _OF_PARTITION - position
    return [_OF_PARTITION - position for position in positions if position is not None]


def open_manifest(listed: Listed, packed: bytes, fields: Iterable[int], spec: Sequence[int]) -> Manifest:
    """Read a manifest of data files.

    `fields`: ids of the columns whose bounds and counts are cached.
    `spec`: ids of the partition fields.
    """
    fields = list(fields)
    located = locate_fields(packed, listed, spec, (*_FIXED_FIELDS, *(_MAPS if fields else ())))
    status, sequence = located.numbers(STATUS, _ADDED), located.numbers(SEQUENCE, -1)
    row = np.flatnonzero(status != DELETED)
    # Files inherit the sequence number of their manifest; version 1 of the format has no sequence numbers.
    sequence = np.where(sequence >= 0, sequence, listed.sequence)
    manifest = Manifest(
        listed,
        packed,
        spec,
        row,
        located.numbers(RECORDS, 0)[row],
        located.numbers(SIZE, -1)[row],
        sequence[row],
        partition_columns(located, row, len(spec)),
    )
    _check(manifest, located)
    _cache_maps(manifest, located, fields)
    return manifest


def partition_columns(located: LocatedFields, row: NDArray[np.int64], width: int) -> list[list[Any] | None]:
    """Return the values of each of the `width` partition fields in some rows.

    None for a field that the manifest lacks.
    """
    types = {
        partition_field["field-id"]: partition_field["type"] for partition_field in _partition(located.rows.schema)
    }
    ids = [_OF_PARTITION - position for position in range(width)]
    return [
        None if field_id not in types else _values(located.rows, types[field_id], located.positions[field_id][row])
        for field_id in ids
    ]


def _partition(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(_type_of(_type_of(schema, DATA_FILE), PARTITION)["fields"])


def _type_of(record: Mapping[str, Any], field_id: int) -> Any:
    """Return the type of a record field, without the null branch that some writers add to every field."""
    avro_type = next((entry["type"] for entry in record["fields"] if entry.get("field-id") == field_id), None)
    branches = [branch for branch in avro_type if branch != "null"] if isinstance(avro_type, list) else [avro_type]
    return branches[0] if len(branches) == 1 else None


def _check(manifest: Manifest, located: LocatedFields) -> None:
    """Refuse files that are not Parquet, and impossible sizes or paths."""
    location, live, data = manifest.listed.location, manifest.row, located.rows.data
    formats = _strings_at(data, located.positions[FORMAT][live])
    for name in formats.unique().to_pylist():
        if str(name).upper() != "PARQUET":
            path = manifest.paths()[formats.to_pylist().index(name)]
            raise UnsupportedFeature(f"{location}: {path} is a file of {name}, and only Parquet is read")
    if (manifest.sizes < 0).any() or (located.numbers(PATH, 0)[live] <= 0).any():
        size = int(manifest.sizes.min())
        raise MalformedFile(f"{location}: a manifest has a file of {size} bytes, or without a path; it is damaged")


def _cache_maps(manifest: Manifest, located: LocatedFields, fields: Iterable[int]) -> None:
    fields = list(fields)
    for of in _MAPS if fields else ():
        positions = located.positions[of][manifest.row]
        node = _node_of(located.rows.schema, of)
        if node is not None and node.size != (PAIRS_OF_BYTES if of in BOUNDS else PAIRS_OF_NUMBERS):
            positions = np.full(len(positions), -1, np.int64)  # maps of another type count as missing
        for field_id in fields:
            manifest.cached[of, field_id] = (_bounds if of in BOUNDS else _counts)(
                located.rows.data, positions, field_id
            )


def _node_of(schema: Mapping[str, Any], of: int) -> Node | None:
    avro_type = _type_of(_type_of(schema, DATA_FILE), of)
    return None if avro_type is None else compiled(avro_type, {})


def _counts(data: bytes, positions: NDArray[np.int64], field_id: int) -> NDArray[np.int64]:
    counts = np.full(len(positions), -1, np.int64)
    numbers_at(data, _find_key(data, positions, field_id, of_bytes=False), counts)
    return counts


def _bounds(data: bytes, positions: NDArray[np.int64], field_id: int) -> pa.Array:
    return _bytes_at(data, _find_key(data, positions, field_id, of_bytes=True))


def _find_key(data: bytes, positions: NDArray[np.int64], field_id: int, *, of_bytes: bool) -> NDArray[np.int64]:
    value_positions = np.empty(len(positions), np.int64)
    positions_of_key(data, positions, field_id, of_bytes, value_positions)
    return value_positions


def _slices(data: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> pa.Array:
    """Return slices of the data as a binary array; null where the start is -1."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    source = np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])
    values = np.frombuffer(data, np.uint8)[source]
    offsets = pa.py_buffer(ends.astype(np.int32))
    valid = from_numpy(starts >= 0)
    return pa.Array.from_buffers(pa.binary(), len(starts), [valid.buffers()[1], offsets, pa.py_buffer(values)])


def _strings_at(data: bytes, positions: NDArray[np.int64]) -> pa.Array:
    return _bytes_at(data, positions).cast(pa.string())


def _bytes_at(data: bytes, positions: NDArray[np.int64]) -> pa.Array:
    positions = np.ascontiguousarray(positions)
    lengths, starts = np.zeros(len(positions), np.int64), np.full(len(positions), -1, np.int64)
    numbers_at(data, positions, lengths)
    behind_at(data, positions, starts)
    return _slices(data, starts, lengths)


def _values(rows: AvroRows, avro_type: Any, positions: NDArray[np.int64]) -> list[Any]:
    """Return the values of a partition field as Python objects; None for null."""
    if isinstance(avro_type, list):
        branches = [branch for branch in avro_type if branch != "null"]
        if len(branches) != 1:
            raise ValueError("has a partition of several types")
        avro_type = branches[0]
    positions, node, name = (
        np.ascontiguousarray(positions),
        compiled(avro_type, {}),
        avro_type if isinstance(avro_type, str) else avro_type["type"],
    )
    if node.kind == VARINT:
        integers = np.zeros(len(positions), np.int64)
        numbers_at(rows.data, positions, integers)
        return [
            None if position < 0 else integer
            for position, integer in zip(positions.tolist(), integers.tolist(), strict=True)
        ]
    if node.kind == UNION or node.kind > BYTES:
        raise ValueError("has a partition of nested values")
    if node.kind == BYTES:
        encoded = (_strings_at if name == "string" else _bytes_at)(rows.data, positions)
    else:
        encoded = _slices(rows.data, positions, np.where(positions < 0, 0, node.size))
    coded = encoded.dictionary_encode()
    decode = _decoder(avro_type)
    values = [decode(value) for value in coded.dictionary.to_pylist()]
    return [None if code is None else values[code] for code in coded.indices.to_pylist()]


def _decoder(avro_type: Any) -> Callable[[Any], Any]:
    name = avro_type if isinstance(avro_type, str) else avro_type["type"]
    logical = "" if isinstance(avro_type, str) else avro_type.get("logicalType", "")
    if logical == "decimal":
        scale = int(avro_type.get("scale", 0))
        return lambda value: _decimal(int.from_bytes(value, "big", signed=True), scale)
    if logical == "uuid" and name == "fixed":
        return lambda value: uuid.UUID(bytes=value)
    if name == "boolean":
        return lambda value: value != b"\0"
    if name in {"float", "double"}:
        return lambda value: np.frombuffer(value, "<f4" if name == "float" else "<f8")[0].item()
    return lambda value: value


def _decimal(unscaled: int, scale: int) -> Decimal:
    # `scaleb` would round to 28 digits.
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))
