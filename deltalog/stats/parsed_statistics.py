"""Convert statistics between JSON and `stats_parsed`, the typed struct of a checkpoint, many files at a time.

What is missing or malformed is null on the other side. A bound that the type cannot hold exactly becomes a wider one,
never a tighter one.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.stats.bounds_in_json import bound_texts
from deltalog.stats.enclosing_values import Pair, days, decimals, floats, instants, integers, local_times, nothing
from deltalog.stats.file_bounds import child
from deltalog.stats.parsed_values import parsed_pair
from deltalog.stats.write_json import ColumnTexts, statistics_text
from parquet_core.arrow_arrays import from_numpy
from parquet_core.format.comparable_values import bounds_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltalog.table.schema import TableColumn
    from parquet_core.predicate import Path

_BOUNDS = ("minValues", "maxValues")
_WITHOUT_BOUNDS = frozenset({"boolean", "binary"})
# Of a struct: no field, or what of JSON is none.
_MISSING: dict[str, Any] = {}
_MOST_CHARACTERS = 1 << 30


class _Leaf(NamedTuple):
    """A column of the struct: its physical path, and the type of its bounds; None when it has none."""

    column: TableColumn
    kind: pa.DataType | None


class ParsedStatistics:
    """How the statistics of a table's files look as a struct."""

    def __init__(self, columns: Sequence[TableColumn]) -> None:
        self._leaves = [_Leaf(column, _kind(column)) for column in columns]
        bounds = [(leaf.column.physical, leaf.kind) for leaf in self._leaves if leaf.kind is not None]
        nulls = [(leaf.column.physical, pa.int64()) for leaf in self._leaves]
        self._parts = [(name, _struct(bounds)) for name in _BOUNDS] if bounds else []
        self._parts += [("nullCount", _struct(nulls))] if nulls else []
        self.type = pa.struct([("numRecords", pa.int64()), *self._parts, ("tightBounds", pa.bool_())])
        has_decimals = any(leaf.kind is not None and pa.types.is_decimal(leaf.kind) for leaf in self._leaves)
        self._decoder = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal if has_decimals else None)

    def of_texts(self, texts: pa.Array) -> pa.StructArray:
        """Parse JSON; null where it is none, or does not say how many rows there are."""
        rows = [self._decoded(text) for text in texts.to_pylist()]
        parts = {part: [row.get(part) for row in rows] for part in (*_BOUNDS, "nullCount")}
        leaves: dict[tuple[str, Path], pa.Array] = {}
        for leaf in self._leaves:
            path = leaf.column.physical
            if leaf.kind is not None:
                low = _values(leaf, _at(parts["minValues"], path)).lower
                high = _values(leaf, _at(parts["maxValues"], path)).upper
                leaves["minValues", path], leaves["maxValues", path] = _stored(low, leaf), _stored(high, leaf)
            leaves["nullCount", path] = _counts(_at(parts["nullCount"], path))
        tight = [row.get("tightBounds") for row in rows]
        flags = pa.array([flag if isinstance(flag, bool) else None for flag in tight], pa.bool_())
        return self._joined(_counts([row.get("numRecords") for row in rows]), leaves, flags)

    def of_structs(self, parsed: pa.StructArray) -> pa.StructArray:
        """Bring structs of another checkpoint, perhaps of an older schema, into this form."""
        if parsed.type == self.type:
            return parsed
        leaves: dict[tuple[str, Path], pa.Array] = {}
        for leaf in self._leaves:
            path = leaf.column.physical
            if leaf.kind is not None:
                kind = bounds_type(leaf.column.leaf)
                low = parsed_pair(leaf.column, child(parsed, ("minValues", *path)), kind).lower
                high = parsed_pair(leaf.column, child(parsed, ("maxValues", *path)), kind).upper
                leaves["minValues", path], leaves["maxValues", path] = _stored(low, leaf), _stored(high, leaf)
            leaves["nullCount", path] = _integers(child(parsed, ("nullCount", *path)))
        tight = child(parsed, ("tightBounds",))
        tight = tight if pa.types.is_boolean(tight.type) else pa.nulls(len(parsed), pa.bool_())
        return self._joined(_integers(child(parsed, ("numRecords",))), leaves, tight)

    def _decoded(self, text: str | bytes | None) -> dict[str, Any]:
        try:
            return _MISSING if text is None else self._decoder.decode(text)
        except (msgspec.DecodeError, RecursionError, ValueError, ArithmeticError):
            return _MISSING

    def _joined(self, records: pa.Array, leaves: dict[tuple[str, Path], pa.Array], tight: pa.Array) -> pa.StructArray:
        parts = [_nested(kind, lambda path, part=part: leaves[part, path], ()) for part, kind in self._parts]
        return pa.StructArray.from_arrays([records, *parts, tight], fields=list(self.type), mask=pc.is_null(records))


def texts_of(columns: Sequence[TableColumn], parsed: pa.StructArray) -> pa.Array:
    """Write structs of a checkpoint as JSON; null where the struct is. `columns`: all of the table's files."""
    records = _integers(child(parsed, ("numRecords",))).to_pylist()
    told = [_texts_of_column(column, parsed) for column in columns if column.partition is None]
    tight = child(parsed, ("tightBounds",))
    flags = tight.to_pylist() if pa.types.is_boolean(tight.type) else [None] * len(parsed)
    texts = [
        None if count is None else statistics_text(count, told, i, tight=flags[i]) for i, count in enumerate(records)
    ]
    return pa.array(texts, pa.string())


def _texts_of_column(column: TableColumn, parsed: pa.StructArray) -> ColumnTexts:
    sides: list[list[bytes | None]] = [[None] * len(parsed)] * 2
    if _kind(column) is not None:
        kind = bounds_type(column.leaf)
        pairs = [parsed_pair(column, child(parsed, (part, *column.physical)), kind) for part in _BOUNDS]
        sides = [
            bound_texts(column.kind, pairs[0].lower, upper=False, prefix=_MOST_CHARACTERS),
            bound_texts(column.kind, pairs[1].upper, upper=True, prefix=_MOST_CHARACTERS),
        ]
    nulls = _integers(child(parsed, ("nullCount", *column.physical))).to_pylist()
    return ColumnTexts(column.physical, sides[0], sides[1], nulls)


def _kind(column: TableColumn) -> pa.DataType | None:
    leaf = column.leaf
    if leaf.type is None or leaf.max_repetition_level or column.refused or column.kind in _WITHOUT_BOUNDS:
        return None
    return pa.string() if column.kind == "string" else bounds_type(leaf)


def _struct(leaves: Sequence[tuple[Path, pa.DataType]]) -> pa.DataType:
    names = dict.fromkeys(path[0] for path, _ in leaves)
    return pa.struct([(name, _field(name, leaves)) for name in names])


def _field(name: str, leaves: Sequence[tuple[Path, pa.DataType]]) -> pa.DataType:
    below = [(path[1:], kind) for path, kind in leaves if path[0] == name]
    return below[0][1] if not below[0][0] else _struct(below)


def _nested(kind: pa.DataType, leaf: Any, path: Path) -> pa.Array:
    if not pa.types.is_struct(kind):
        return leaf(path)
    children = [_nested(field.type, leaf, (*path, field.name)) for field in kind]
    return pa.StructArray.from_arrays(children, fields=list(kind))


def _at(values: list[Any], path: Path) -> list[Any]:
    """Return what lies at a path of objects in each of many; None where nothing does."""
    for name in path:
        values = [value.get(name) if type(value) is dict else None for value in values]
    return values


def _counts(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values, pa.int64())
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([value if _is_count(value) else None for value in values], pa.int64())


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -1 << 63 <= value < 1 << 63


def _integers(values: pa.Array) -> pa.Array:
    return values.cast(pa.int64()) if pa.types.is_signed_integer(values.type) else pa.nulls(len(values), pa.int64())


def _values(leaf: _Leaf, values: list[Any]) -> Pair:
    kind = bounds_type(leaf.column.leaf)
    readers = {"string": _same_texts, "date": days, "timestamp": instants, "timestamp_ntz": local_times}
    if leaf.column.kind in readers:
        return readers[leaf.column.kind](_texts(values))
    if pa.types.is_integer(kind):
        return integers(values, kind)
    if pa.types.is_floating(kind):
        return floats([float(value) if type(value) is Decimal else value for value in values], kind)
    return decimals(values, kind) if pa.types.is_decimal(kind) else nothing(len(values), kind)


def _texts(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values, pa.string())
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([value if isinstance(value, str) else None for value in values], pa.string())


def _same_texts(texts: pa.Array) -> Pair:
    return Pair(texts, texts)


def _stored(values: pa.Array, leaf: _Leaf) -> pa.Array:
    """Return bounds in the type that the struct has for them; what is no text cannot stand there."""
    if leaf.kind is None or values.type == leaf.kind:
        return values
    try:
        return values.cast(leaf.kind)
    except pa.ArrowInvalid:
        kept = [_is_text(value) for value in values.to_pylist()]
        return pc.if_else(from_numpy(np.array(kept)), values, pa.scalar(None, values.type)).cast(leaf.kind)


def _is_text(value: bytes | None) -> bool:
    try:
        return value is not None and value.decode() is not None
    except UnicodeDecodeError:
        return False
