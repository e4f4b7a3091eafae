"""Convert statistics between JSON and `stats_parsed`, the typed struct of checkpoints.

Many files are converted at once. Missing or malformed statistics become null. A bound that the target type cannot hold
exactly becomes wider, never tighter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.stats.file_bounds import ReadStatistics, child, statistics_from_objects, statistics_from_structs
from deltalog.stats.parse_json import decode_texts, struct_of, values_at
from deltalog.stats.written_json import ColumnTexts, bound_texts, statistics_text
from parquet_core.arrow_arrays import from_numpy
from parquet_core.format.comparable_values import bounds_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltalog.table.schema import TableColumn
    from parquet_core.format.schema import Path

_BOUNDS = ("minValues", "maxValues")
_MOST_CHARACTERS = 1 << 30


class _Leaf(NamedTuple):
    """A column of the struct, and the type of its bounds; None for a column without bounds."""

    column: TableColumn
    arrow_type: pa.DataType | None


class ParsedStatistics:
    """Converter of statistics to the `stats_parsed` struct of a table."""

    def __init__(self, columns: Sequence[TableColumn]) -> None:
        self._leaves = [_Leaf(column, _kind(column)) for column in columns]
        bounds = [(leaf.column.physical, leaf.arrow_type) for leaf in self._leaves if leaf.arrow_type is not None]
        nulls = [(leaf.column.physical, pa.int64()) for leaf in self._leaves]
        self._parts = [(name, struct_of(bounds)) for name in _BOUNDS] if bounds else []
        self._parts += [("nullCount", struct_of(nulls))] if nulls else []
        self.type = pa.struct([("numRecords", pa.int64()), *self._parts, ("tightBounds", pa.bool_())])

    def of_texts(self, json_strings: pa.Array) -> pa.StructArray:
        """Convert JSON texts; null for a text that is invalid or lacks numRecords."""
        rows = decode_texts([leaf.column for leaf in self._leaves], json_strings)
        tight = values_at(rows, ("tightBounds",))
        flags = pa.array([flag if isinstance(flag, bool) else None for flag in tight], pa.bool_())
        return self._of(statistics_from_objects(rows), flags)

    def of_structs(self, parsed: pa.StructArray) -> pa.StructArray:
        """Convert structs of another checkpoint, whose schema may be older."""
        if parsed.type == self.type:
            return parsed
        tight = child(parsed, ("tightBounds",))
        tight = tight if pa.types.is_boolean(tight.type) else pa.nulls(len(parsed), pa.bool_())
        return self._of(statistics_from_structs(parsed), tight)

    def _of(self, statistics: ReadStatistics, tight: pa.Array) -> pa.StructArray:
        leaves: dict[tuple[str, Path], pa.Array] = {}
        for leaf in self._leaves:
            path = leaf.column.physical
            if leaf.arrow_type is not None:
                for part, side in zip(_BOUNDS, statistics.bounds(leaf.column), strict=True):
                    leaves[part, path] = _stored(side, leaf)
            leaves["nullCount", path] = _counts(statistics, ("nullCount", *path))
        return self._joined(_counts(statistics, ("numRecords",)), leaves, tight)

    def _joined(self, records: pa.Array, leaves: dict[tuple[str, Path], pa.Array], tight: pa.Array) -> pa.StructArray:
        parts = [
            _nested(arrow_type, lambda path, part=part: leaves[part, path], ()) for part, arrow_type in self._parts
        ]
        return pa.StructArray.from_arrays([records, *parts, tight], fields=list(self.type), mask=pc.is_null(records))


def texts_of(columns: Sequence[TableColumn], parsed: pa.StructArray) -> pa.Array:
    """Convert structs of a checkpoint to JSON; null structs stay null.

    `columns`: all columns of the table's files.
    """
    statistics = statistics_from_structs(parsed)
    records = _counts(statistics, ("numRecords",)).to_pylist()
    by_column = [_texts_of_column(column, statistics) for column in columns if column.partition is None]
    tight = child(parsed, ("tightBounds",))
    flags = tight.to_pylist() if pa.types.is_boolean(tight.type) else [None] * len(parsed)
    json_strings = [
        None if count is None else statistics_text(count, by_column, i, tight=flags[i])
        for i, count in enumerate(records)
    ]
    return pa.array(json_strings, pa.string())


def _texts_of_column(column: TableColumn, statistics: ReadStatistics) -> ColumnTexts:
    sides: list[list[bytes | None]] = [[None] * statistics.files] * 2
    if _kind(column) is not None:
        low, high = statistics.bounds(column)
        sides = [
            bound_texts(column.delta_type, low, upper=False, prefix=_MOST_CHARACTERS),
            bound_texts(column.delta_type, high, upper=True, prefix=_MOST_CHARACTERS),
        ]
    nulls = _counts(statistics, ("nullCount", *column.physical)).to_pylist()
    return ColumnTexts(column.physical, sides[0], sides[1], nulls)


def _counts(statistics: ReadStatistics, path: Path) -> pa.Array:
    counts = statistics.counts(path)
    return from_numpy(counts, valid=counts >= 0)


def _kind(column: TableColumn) -> pa.DataType | None:
    leaf = column.leaf
    if leaf.type is None or leaf.max_repetition_level or column.refused or not column.bounded:
        return None
    return pa.string() if column.delta_type == "string" else bounds_type(leaf)


def _nested(arrow_type: pa.DataType, leaf: Any, path: Path) -> pa.Array:
    if not pa.types.is_struct(arrow_type):
        return leaf(path)
    children = [_nested(field.type, leaf, (*path, field.name)) for field in arrow_type]
    return pa.StructArray.from_arrays(children, fields=list(arrow_type))


def _stored(values: pa.Array, leaf: _Leaf) -> pa.Array:
    """Cast bounds to the struct's type; invalid UTF-8 becomes null."""
    if leaf.arrow_type is None or values.type == leaf.arrow_type:
        return values
    try:
        return values.cast(leaf.arrow_type)
    except pa.ArrowInvalid:
        is_utf8 = [_is_text(value) for value in values.to_pylist()]
        return pc.if_else(from_numpy(np.array(is_utf8)), values, pa.scalar(None, values.type)).cast(leaf.arrow_type)


def _is_text(value: bytes | None) -> bool:
    try:
        return value is not None and value.decode() is not None
    except UnicodeDecodeError:
        return False
