"""Parse the JSON statistics of many files, together or one by one.

Arrow parses a batch to columns. If Arrow cannot read one text, the batch is refused and each text is decoded to an
object; values are never guessed.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltalog.table.schema import TableColumn
    from parquet_core.format.schema import Path

# Fewer texts are decoded faster one by one.
_LEAST = 64
_MOST_BYTES = 1 << 30
# Upper limit of the bytes that `_as_one` adds around each text.
_AROUND = 40
_DIGITS = 38
_TEXTS = {"string", "binary", "date", "timestamp", "timestamp_ntz"}
_INTEGERS = {"byte", "short", "integer", "long"}
_FLOATS = {"float", "double"}
_TOO_FINE = pa.null()


def parse_texts(columns: Sequence[TableColumn], json_strings: pa.Array) -> pa.StructArray | None:
    """Parse JSON texts to a struct of the columns' statistics; None if the texts have to be decoded one by one.

    `json_strings`: large binary, none null. Numbers of decimal columns are exact.

    None if a text is not a plain object, has a duplicate key, or has a value whose type does not match its column. None
    also for fewer than 64 texts, which are decoded faster one by one, and for more than 1 GiB.
    """
    form = _form(columns)
    if form is None or len(json_strings) < _LEAST or _bytes(json_strings) > _MOST_BYTES:
        return None
    import pyarrow.json

    whole = _as_one(json_strings)
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(whole),
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(whole) + 1),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=pa.schema([("rows", pa.list_(pa.struct([("n", pa.int64()), ("s", form)])))]),
                unexpected_field_behavior="ignore",
            ),
        )
        return _rows(table, len(json_strings))
    except (pa.ArrowException, UnicodeDecodeError):
        return None


def decode_texts(columns: Sequence[TableColumn], json_strings: pa.Array | None) -> list[dict[str, Any]]:
    """Decode each text to an object; empty if invalid. Fractions are exact if a column is decimal."""
    assert json_strings is not None
    exact = any(column.leaf.type is not None and pa.types.is_decimal(column.leaf.type) for column in columns)
    decoder = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal if exact else None)
    return [_decoded(decoder, json_string) for json_string in json_strings.to_pylist()]


def _decoded(decoder: msgspec.json.Decoder[dict[str, Any]], json_string: str | bytes | None) -> dict[str, Any]:
    try:
        return {} if json_string is None else decoder.decode(json_string)
    except (msgspec.DecodeError, RecursionError, ValueError, ArithmeticError):
        return {}


def values_at(rows: Sequence[Any], path: Sequence[str]) -> list[Any]:
    """Return the value at a path of nested objects in each row; None if missing."""
    values = list(rows)
    for name in path:
        values = [value.get(name) if type(value) is dict else None for value in values]
    return values


def _rows(table: pa.Table, count: int) -> pa.StructArray | None:
    if len(table) != 1:
        return None
    numbered = table.column("rows").combine_chunks().values
    ordinals, rows = (pc.struct_field(numbered, i) for i in (0, 1))
    # A text that is not one object may have merged with its neighbour or split into several rows.
    if rows.null_count or ordinals.null_count or not np.array_equal(numbers_from(ordinals), np.arange(count)):
        return None
    # Validation finds invalid UTF-8 and decimals with too many digits.
    rows.validate(full=True)
    return rows if _finite(rows) else None


def _bytes(json_strings: pa.Array) -> int:
    return int(pc.sum(pc.binary_length(json_strings)).as_py()) + _AROUND * len(json_strings)


def _finite(array: pa.Array) -> bool:
    """True if no number of an array became infinite when it was parsed as a float."""
    if pa.types.is_struct(array.type):
        return all(_finite(pc.struct_field(array, i)) for i in range(array.type.num_fields))
    if not pa.types.is_float64(array.type):
        return True
    return bool(np.isfinite(numbers_from(array)[flags_from(array.is_valid())]).all())


def _as_one(json_strings: pa.Array) -> pa.Buffer:
    """Join all texts into one JSON list of numbered objects.

    Without the list, Arrow would read a bare value as a row of its own, or stop at it.
    """
    ordinals = from_numpy(np.arange(len(json_strings))).cast(pa.string()).cast(pa.binary())
    heads = pc.binary_join_element_wise(b'{"n":', ordinals, b',"s":', b"")
    rows = pc.binary_join_element_wise(heads, json_strings.cast(pa.binary()), b"}", b"")
    joined = pc.binary_join(pa.ListArray.from_arrays(from_numpy(np.array([0, len(rows)], np.int32)), rows), b",\n")
    return pa.py_buffer(b"".join([b'{"rows":[', joined.buffers()[2], b"]}"]))


def _form(columns: Sequence[TableColumn]) -> pa.StructType | None:
    """Return the struct type to which a text is parsed.

    None if two columns have the same path, or if a decimal type cannot be parsed exactly.
    """
    arrow_types = [(column.physical, _kind(column)) for column in columns]
    places = Counter(path[:length] for path, _ in arrow_types for length in range(1, len(path) + 1))
    if any(arrow_type is _TOO_FINE or places[path] > 1 for path, arrow_type in arrow_types):
        return None
    bounds = [(path, arrow_type) for path, arrow_type in arrow_types if arrow_type is not None]
    parts = [("numRecords", pa.int64())]
    parts += [(name, struct_of(bounds)) for name in ("minValues", "maxValues") if bounds]
    parts += [("nullCount", struct_of([(path, pa.int64()) for path, _ in arrow_types]))] if arrow_types else []
    return pa.struct(parts)


def _kind(column: TableColumn) -> pa.DataType | None:
    """Return the Arrow type in which the bounds of a column are parsed from JSON; None for a type without bounds."""
    if column.delta_type in _TEXTS:
        return pa.string()
    if column.delta_type == "boolean":
        return pa.bool_()
    if column.delta_type in _INTEGERS:
        return pa.int64()
    if column.delta_type in _FLOATS:
        return pa.float64()
    if column.leaf.type is not None and pa.types.is_decimal(column.leaf.type):
        # Arrow does not check overflow when it rescales decimals: values with this precision can be rescaled by the
        # whole scale.
        scale = column.leaf.type.scale
        return pa.decimal128(_DIGITS - scale, scale) if scale < _DIGITS else _TOO_FINE
    return None


def struct_of(leaves: Sequence[tuple[Path, pa.DataType]]) -> pa.StructType:
    """Return a struct type with each leaf at its path.

    >>> struct_of([(("a", "b"), pa.int64()), (("c",), pa.string())])
    StructType(struct<a: struct<b: int64>, c: string>)
    """
    names = dict.fromkeys(path[0] for path, _ in leaves)
    return pa.struct([(name, _below(name, leaves)) for name in names])


def _below(name: str, leaves: Sequence[tuple[Path, pa.DataType]]) -> pa.DataType:
    inside = [(path[1:], arrow_type) for path, arrow_type in leaves if path[0] == name]
    return struct_of(inside) if inside[0][0] else inside[0][1]
