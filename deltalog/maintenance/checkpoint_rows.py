"""Rows of a checkpoint: one action per row, in the columns of the protocol.

Source: the Delta protocol, "Checkpoint Schema".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.log.file_block import VECTOR_TYPE
from deltalog.stats.parsed_statistics import texts_of
from deltalog.stats.partition_values import parsed_partitions
from parquet_core.arrow_arrays import array_of, filled, flags_from, from_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deltalog.log.actions import FullAdd, FullRemove
    from deltalog.stats.parsed_statistics import ParsedStatistics
    from deltalog.table.schema import TableColumn

MAP = pa.map_(pa.string(), pa.string())
_TEXTS = pa.list_(pa.string())
STORED_ADD = (
    "partitionValues",
    "size",
    "modificationTime",
    "stats",
    "stats_parsed",
    "tags",
    "baseRowId",
    "defaultRowCommitVersion",
    "clusteringProvider",
)
STORED_REMOVE = (
    "deletionTimestamp",
    "extendedFileMetadata",
    "partitionValues",
    "size",
    "baseRowId",
    "defaultRowCommitVersion",
)
_ADD = [
    ("path", pa.string()),
    ("partitionValues", MAP),
    ("size", pa.int64()),
    ("modificationTime", pa.int64()),
    ("dataChange", pa.bool_()),
    ("tags", MAP),
    ("deletionVector", VECTOR_TYPE),
    ("baseRowId", pa.int64()),
    ("defaultRowCommitVersion", pa.int64()),
    ("clusteringProvider", pa.string()),
]
REMOVE_TYPE = pa.struct(
    [
        ("path", pa.string()),
        ("deletionTimestamp", pa.int64()),
        ("dataChange", pa.bool_()),
        ("extendedFileMetadata", pa.bool_()),
        ("partitionValues", MAP),
        ("size", pa.int64()),
        ("deletionVector", VECTOR_TYPE),
        ("baseRowId", pa.int64()),
        ("defaultRowCommitVersion", pa.int64()),
    ]
)
OTHER_TYPES = {
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", _TEXTS),
            ("writerFeatures", _TEXTS),
        ]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", MAP)])),
            ("schemaString", pa.string()),
            ("partitionColumns", _TEXTS),
            ("configuration", MAP),
            ("createdTime", pa.int64()),
        ]
    ),
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]),
    "domainMetadata": pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]),
}


def array_of_rows(rows: Sequence[Any], arrow_type: pa.DataType) -> pa.Array:
    """Return rows as an array of a nested type; structs and maps are given as dictionaries.

    None is null. A field that a dictionary lacks is null; a field that the type lacks is ignored.

    >>> array_of_rows([{"a": 1, "m": {"x": None}}, None], pa.struct([("a", pa.int64()), ("m", MAP)])).to_pylist()
    [{'a': 1, 'm': [('x', None)]}, None]
    """
    if pa.types.is_struct(arrow_type):
        children = [_children(rows, field.name, field.type) for field in arrow_type]
        there = np.array([row is not None for row in rows], np.bool_)
        return pa.StructArray.from_arrays(children, fields=list(arrow_type), mask=from_numpy(~there))
    if pa.types.is_map(arrow_type):
        entries = [pair for row in rows if row is not None for pair in row.items()]
        pairs = pa.StructArray.from_arrays(
            [
                array_of([key for key, _ in entries], arrow_type.key_type),
                array_of([value for _, value in entries], arrow_type.item_type),
            ],
            fields=[arrow_type.key_field, arrow_type.item_field],
        )
        return _list_or_map_array(rows, arrow_type, pairs)
    if pa.types.is_list(arrow_type):
        return _list_or_map_array(
            rows, arrow_type, array_of_rows([value for row in rows or () for value in row or ()], arrow_type.value_type)
        )
    return array_of(rows, arrow_type)


def _children(rows: Sequence[Any], name: str, arrow_type: pa.DataType) -> pa.Array:
    return array_of_rows([None if row is None else row.get(name) for row in rows], arrow_type)


def _list_or_map_array(rows: Sequence[Any], arrow_type: pa.DataType, parts: pa.Array) -> pa.Array:
    offsets: NDArray[np.int32] = np.zeros(len(rows) + 1, np.int32)
    np.cumsum([0 if row is None else len(row) for row in rows], out=offsets[1:])
    there = np.array([row is not None for row in rows], np.bool_)
    validity = None if there.all() else from_numpy(there).buffers()[1]
    return pa.Array.from_buffers(arrow_type, len(rows), [validity, pa.py_buffer(offsets)], children=[parts])


class AddForm(NamedTuple):
    """Form of the `add` actions in a checkpoint.

    `json`: True to write statistics as JSON.
    `statistics`: form of parsed statistics; None to write none.
    `data`: columns stored in files.
    `partitions`: partition columns whose typed values are written too, as `partitionValues_parsed`.
    """

    json: bool
    statistics: ParsedStatistics | None
    data: Sequence[TableColumn]
    partitions: Sequence[TableColumn]

    @property
    def type(self) -> pa.DataType:
        """Type of the `add` column."""
        fields = list(_ADD)
        if self.json:
            fields.append(("stats", pa.string()))
        if self.partitions:
            kinds = [(column.partition, column.leaf.type) for column in self.partitions]
            fields.append(("partitionValues_parsed", pa.struct(kinds)))
        if self.statistics is not None:
            fields.append(("stats_parsed", self.statistics.type))
        return pa.struct(fields)


def adds_from_store(form: AddForm, stored: pa.StructArray) -> pa.StructArray:
    """Convert `add` actions of a checkpoint to the given form. Raises ValueError if a path or size is missing."""
    children = {name: _cast(stored, name, arrow_type) for name, arrow_type in _ADD if name != "dataChange"}
    if children["size"].null_count or children["path"].null_count:
        raise ValueError("a file of the table has no path or no size")
    return _adds(form, children, _child(stored, "stats"), _child(stored, "stats_parsed"))


def adds_from_actions(form: AddForm, adds: Sequence[FullAdd]) -> pa.StructArray:
    """Convert `add` actions of commits to the given form."""
    fields = [(name, arrow_type) for name, arrow_type in _ADD if name != "dataChange"]
    rows = array_of_rows([msgspec.to_builtins(add) for add in adds], pa.struct(fields))
    children = {name: pc.struct_field(rows, name) for name, _ in fields}
    stats = array_of_rows([add.stats if isinstance(add.stats, str) else None for add in adds], pa.string())
    return _adds(form, children, stats, None)


def _adds(
    form: AddForm, children: dict[str, pa.Array], stats: pa.Array | None, parsed: pa.StructArray | None
) -> pa.StructArray:
    count = len(children["path"])
    children["partitionValues"] = _without_null_maps(children["partitionValues"])
    children["modificationTime"] = filled(children["modificationTime"], 0)
    children["dataChange"] = from_numpy(np.zeros(count, np.bool_))
    stats_json = pa.nulls(count, pa.string()) if stats is None or not _is_text(stats.type) else stats.cast(pa.string())
    if parsed is not None and not pa.types.is_struct(parsed.type):
        parsed = None
    if form.json:
        children["stats"] = stats_json if parsed is None else _with_texts(form, stats_json, parsed)
    if form.statistics is not None:
        children["stats_parsed"] = _with_structs(form.statistics, stats_json, parsed)
    if form.partitions:
        values = parsed_partitions(form.partitions, children["partitionValues"])
        if values is None:
            raise ValueError("a partition value changed after it was read")
        children["partitionValues_parsed"] = values
    return pa.StructArray.from_arrays([children[field.name] for field in form.type], fields=list(form.type))


def _with_texts(form: AddForm, stats_json: pa.Array, parsed: pa.StructArray) -> pa.Array:
    """Return JSON statistics for all files; convert structs of files without JSON."""
    silent = np.flatnonzero(~flags_from(stats_json.is_valid()))
    if len(silent) == 0:
        return stats_json
    written = texts_of(form.data, parsed.take(from_numpy(silent)))
    position = np.full(len(stats_json), -1, np.int64)
    position[silent] = np.arange(len(silent))
    return pc.coalesce(stats_json, written.take(from_numpy(position, valid=position >= 0)))


def _with_structs(form: ParsedStatistics, stats_json: pa.Array, parsed: pa.StructArray | None) -> pa.StructArray:
    """Return parsed statistics for all files; convert JSON of files without structs."""
    if parsed is None:
        return form.of_texts(stats_json)
    same = parsed.type == form.type
    # Structs of another type were made for other columns or types, so JSON is preferred if present.
    prefer_text = flags_from(stats_json.is_valid()) & (not same)
    structs = form.of_structs(parsed)
    has_struct = flags_from(pc.struct_field(structs, "numRecords").is_valid()) & ~prefer_text
    if has_struct.all():
        return structs
    silent = np.flatnonzero(~has_struct)
    read = form.of_texts(stats_json.take(from_numpy(silent)))
    order = np.arange(len(stats_json))
    order[silent] = len(stats_json) + np.arange(len(silent))
    return pa.concat_arrays([structs, read]).take(from_numpy(order))


def removes_from_store(stored: pa.StructArray) -> pa.StructArray:
    """Convert tombstones of a checkpoint to the written form."""
    children = [_cast(stored, field.name, field.type) for field in REMOVE_TYPE]
    return _removes(dict(zip([field.name for field in REMOVE_TYPE], children, strict=True)))


def removes_from_actions(removes: Sequence[FullRemove]) -> pa.StructArray:
    """Convert tombstones of commits to the written form."""
    rows = array_of_rows([msgspec.to_builtins(remove) for remove in removes], REMOVE_TYPE)
    return _removes({field.name: pc.struct_field(rows, field.name) for field in REMOVE_TYPE})


def _removes(children: dict[str, pa.Array]) -> pa.StructArray:
    children["dataChange"] = from_numpy(np.zeros(len(children["path"]), np.bool_))
    return pa.StructArray.from_arrays(list(children.values()), fields=list(REMOVE_TYPE))


def other_row(name: str, action: msgspec.Struct) -> dict[str, Any]:
    """Return a non-file action as a row, without absent fields."""
    fields = {key: value for key, value in msgspec.to_builtins(action).items() if value is not None}
    if name == "metaData":
        fields = {**fields, "format": _format(fields.get("format")), "configuration": fields.get("configuration") or {}}
    return fields


def _format(format_: Any) -> dict[str, Any]:
    """Return the `format` action field without invalid parts, which no reader uses."""
    provider, options = (format_.get("provider"), format_.get("options")) if isinstance(format_, dict) else (None, None)
    # Options read from an earlier checkpoint are a list of pairs.
    pairs = options.items() if isinstance(options, dict) else options if isinstance(options, list) else ()
    valid = [pair for pair in pairs if isinstance(pair, tuple) and all(isinstance(part, str) for part in pair)]
    return {"provider": provider if isinstance(provider, str) else "parquet", "options": dict(valid)}


def others_array(name: str, rows: Sequence[dict[str, Any]]) -> pa.StructArray:
    """Return rows of one action kind as an array."""
    return array_of_rows(rows, OTHER_TYPES[name])


def _child(stored: pa.StructArray, name: str) -> pa.Array | None:
    index = stored.type.get_field_index(name)
    return None if index < 0 else pc.struct_field(stored, index)


def _cast(stored: pa.StructArray, name: str, arrow_type: pa.DataType) -> pa.Array:
    child = _child(stored, name)
    if child is None:
        return pa.nulls(len(stored), arrow_type)
    if child.type == arrow_type:
        return child
    if pa.types.is_struct(arrow_type):
        children = [_cast(child, field.name, field.type) for field in arrow_type]
        return pa.StructArray.from_arrays(children, fields=list(arrow_type), mask=child.is_null())
    return child.cast(arrow_type)


def _is_text(arrow_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type))


def _without_null_maps(values: pa.MapArray) -> pa.MapArray:
    if not values.null_count:
        return values
    return array_of_rows([dict(entries or ()) for entries in values.to_pylist()], MAP)
