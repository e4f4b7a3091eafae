"""Bounds of columns by file, from the statistics of the log (JSON or parsed), for the columns of a predicate alone.

What is missing, malformed or contradicts itself is not known, and its file is kept. Bounds may be looser than the
values: strings are cut, times have milliseconds only, some writers pass numbers through 64-bit floats, and deletion
vectors leave rows out that were counted. None of them speaks of NaN.
"""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.snapshot.cached_statistics import Question, answers, as_bounds
from deltalog.stats.enclosing_values import (
    Pair,
    days,
    decimals,
    enclosing_floats,
    floats,
    instants,
    integers,
    local_times,
    nothing,
    same,
)
from deltalog.stats.parse_json import parse_texts
from deltalog.stats.parsed_values import parsed_pair
from deltalog.stats.widened_bounds import widened
from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from
from parquet_core.format.column_chunk import MAX_ROWS
from parquet_core.format.comparable_values import bounds_type
from parquet_core.trust.bounds import Bounds, unknown_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from deltalog.log.file_block import StatisticsBatch
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.schema import TableColumn

_Number = int | float | str | None
_Text = str | None
# A count that is not there; one that is negative is damage.
ABSENT = np.iinfo(np.int64).min
# Keys that JSON writes escaped are not matched with fields.
_UNMATCHED = re.compile(r'["\\\x00-\x1f]')
_NOT_STATISTICS = (msgspec.DecodeError, RecursionError, ValueError)


class _Shape(NamedTuple):
    """A struct type for statistics of some columns, and how to get at them."""

    decoder: msgspec.json.Decoder[Any]
    unknown: Any
    minimum: tuple[Callable[[Any], Any], ...]
    maximum: tuple[Callable[[Any], Any], ...]
    nulls: tuple[Callable[[Any], Any], ...]


def statistics_reader(columns: Sequence[TableColumn]) -> Callable[[StatisticsBatch], list[Bounds]]:
    """Return what turns a batch into the bounds of each column."""
    shape = _shape_of(columns)

    def read(batch: StatisticsBatch) -> list[Bounds]:
        if batch.parsed is not None:
            return [_from_parsed(column, batch.parsed) for column in columns]
        assert batch.json is not None
        return _from_json(columns, shape, batch.json)

    return read


def question_about(columns: Sequence[TableColumn]) -> Question:
    """Return what asks for the bounds of columns."""

    def silent(count: int) -> list[Bounds]:
        return [unknown_bounds(column.leaf, np.ones(count, np.int64)) for column in columns]

    keys = tuple("\x00".join([*column.physical, "", column.kind, str(column.from_float)]) for column in columns)
    return Question(keys, tuple(column.physical for column in columns), statistics_reader(columns), silent)


def record_counts(snapshot: Snapshot, wanted: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """Return how many rows each live file (of those wanted) was written with, ABSENT where that is not said.

    Deleted rows are counted. A count that is none is damage, and ABSENT too.
    """
    counts, shape, first = np.full(snapshot.file_count, ABSENT, np.int64), _shape_of([]), 0
    question = Question(
        keys=("",),
        paths=(),
        read=lambda batch: [as_bounds(_records_of(batch, shape))],
        silent=lambda count: [as_bounds(np.full(count, ABSENT, np.int64))],
    )
    snapshot.settle()
    for block in snapshot.blocks:
        here = np.ones(len(block), np.bool_) if wanted is None else wanted[first : first + len(block)]
        if here.any():
            for positions, (found,) in answers(block.statistics, question, here):
                counts[first + positions] = numbers_from(found.lower)
        first += len(block)
    counts[(counts < 0) | (counts > MAX_ROWS)] = ABSENT
    return counts


def _records_of(batch: StatisticsBatch, shape: _Shape) -> NDArray[np.int64]:
    if batch.parsed is not None:
        return _parsed_counts(batch.parsed, ("numRecords",))
    assert batch.json is not None
    table = parse_texts([], batch.json)
    if table is not None:
        return _parsed_counts(table, ("numRecords",))
    return _counts([row.numRecords for row in _rows(shape, batch.json)])


def _shape_of(columns: Sequence[TableColumn]) -> _Shape:
    bounds = _tree([(column.physical, _json_type(column)) for column in columns if _has_bounds(column)])
    nulls = _tree([(column.physical, int | None) for column in columns])
    struct = msgspec.defstruct(
        "Statistics",
        [
            ("numRecords", int | None, None),
            ("minValues", bounds.kind | None, bounds.empty),
            ("maxValues", bounds.kind | None, bounds.empty),
            ("nullCount", nulls.kind | None, nulls.empty),
        ],
        frozen=True,
        gc=False,
    )
    return _Shape(
        decoder=msgspec.json.Decoder(struct),
        unknown=struct(),
        minimum=tuple(_getter("minValues", bounds, column.physical) for column in columns),
        maximum=tuple(_getter("maxValues", bounds, column.physical) for column in columns),
        nulls=tuple(_getter("nullCount", nulls, column.physical) for column in columns),
    )


def _has_bounds(column: TableColumn) -> bool:
    return column.kind not in {"boolean", "binary"}


def _json_type(column: TableColumn) -> Any:
    if column.kind.startswith("decimal"):
        from decimal import Decimal

        return Decimal | None
    return _Text if column.kind in {"string", "date", "timestamp", "timestamp_ntz"} else _Number


class _Tree(NamedTuple):
    """A struct type for some paths; `names`: the attribute of each first name; `below`: further structs."""

    kind: Any
    empty: Any
    names: dict[str, str]
    below: dict[str, _Tree]


def _tree(paths: Sequence[tuple[tuple[str, ...], Any]]) -> _Tree:
    tops = [top for top in dict.fromkeys(path[0] for path, _ in paths) if not _UNMATCHED.search(top)]
    names = {top: f"c{i}" for i, top in enumerate(tops)}
    below: dict[str, _Tree] = {}
    fields: list[tuple[str, Any, Any]] = []
    for top in tops:
        deeper = [(path[1:], kind) for path, kind in paths if path[0] == top and len(path) > 1]
        if deeper:
            below[top] = _tree(deeper)
            fields.append((names[top], below[top].kind | None, below[top].empty))
        else:
            fields.append((names[top], next(kind for path, kind in paths if path[0] == top), None))
    rename = {attribute: name for name, attribute in names.items()}
    kind = msgspec.defstruct("Values", fields, rename=rename, frozen=True, gc=False)
    return _Tree(kind, kind(), names, below)


def _getter(part: str, tree: _Tree, path: tuple[str, ...]) -> Callable[[Any], Any]:
    attributes = [part]
    for name in path:
        if name not in tree.names:
            return lambda _: None
        attributes.append(tree.names[name])
        tree = tree.below.get(name, tree)
    return attrgetter(".".join(attributes))


def _each(get: Callable[[Any], Any], rows: list[Any]) -> list[Any]:
    try:
        return list(map(get, rows))
    except AttributeError:  # null in the place of a struct
        return [_or_none(get, row) for row in rows]


def _or_none(get: Callable[[Any], Any], row: Any) -> Any:
    try:
        return get(row)
    except AttributeError:
        return None


def _from_json(columns: Sequence[TableColumn], shape: _Shape, texts: pa.Array) -> list[Bounds]:
    table = parse_texts(columns, texts)
    if table is not None:
        try:
            return [_from_columns(column, table) for column in columns]
        except pa.ArrowInvalid:  # a number that its column cannot hold
            pass
    return _one_by_one(columns, shape, texts)


def _from_columns(column: TableColumn, table: pa.StructArray) -> Bounds:
    pair = nothing(len(table), bounds_type(column.leaf))
    if _has_bounds(column):
        low = _pair(column, child(table, ("minValues", *column.physical))).lower
        high = _pair(column, child(table, ("maxValues", *column.physical))).upper
        pair = Pair(low, high)
    return _bounds(
        column, pair, _parsed_counts(table, ("numRecords",)), _parsed_counts(table, ("nullCount", *column.physical))
    )


def _one_by_one(columns: Sequence[TableColumn], shape: _Shape, texts: pa.Array) -> list[Bounds]:
    rows = _rows(shape, texts)
    records = _counts([row.numRecords for row in rows])
    found = []
    for i, column in enumerate(columns):
        pair = nothing(len(rows), bounds_type(column.leaf))
        if _has_bounds(column):
            low = _values(column, _each(shape.minimum[i], rows)).lower
            high = _values(column, _each(shape.maximum[i], rows)).upper
            pair = Pair(low, high)
        found.append(_bounds(column, pair, records, _counts(_each(shape.nulls[i], rows))))
    return found


def _rows(shape: _Shape, texts: pa.Array) -> list[Any]:
    found = texts.to_pylist()
    try:
        return list(map(shape.decoder.decode, found))
    except _NOT_STATISTICS:
        return [_decoded(shape, text) for text in found]


def _decoded(shape: _Shape, text: str | bytes) -> Any:
    try:
        return shape.decoder.decode(text)
    except _NOT_STATISTICS:
        return shape.unknown


def _pair(column: TableColumn, values: pa.Array) -> Pair:
    """Return values that stand for themselves, or enclose them; ArrowInvalid when the column cannot hold one."""
    kind = bounds_type(column.leaf)
    if pa.types.is_string(values.type):
        return _of_texts(column, values)
    if pa.types.is_floating(kind):
        return same(values) if pa.types.is_float64(kind) else enclosing_floats(values)
    return (
        same(values.cast(kind))
        if pa.types.is_integer(kind) or pa.types.is_decimal(kind)
        else nothing(len(values), kind)
    )


def _of_texts(column: TableColumn, texts: pa.Array) -> Pair:
    match column.kind:
        case "date":
            return days(texts)
        case "timestamp":
            return instants(texts)
        case "timestamp_ntz":
            return local_times(texts)
    return same(texts.cast(pa.binary()))


def _values(column: TableColumn, values: list[Any]) -> Pair:
    kind = bounds_type(column.leaf)
    if column.kind in {"string", "date", "timestamp", "timestamp_ntz"}:
        return _of_texts(column, pa.array(values, pa.string()))
    if pa.types.is_integer(kind):
        return integers(values, kind)
    if pa.types.is_floating(kind):
        return floats(values, kind)
    return decimals(values, kind) if pa.types.is_decimal(kind) else nothing(len(values), kind)


def _counts(values: list[Any]) -> NDArray[np.int64]:
    """Return counts, ABSENT where there is none; what is no count is -1."""
    try:
        counts = pa.array(values, pa.int64())
    except (pa.ArrowInvalid, OverflowError):
        fitting = [-1 if value is not None and not 0 <= value < 1 << 62 else value for value in values]
        counts = pa.array(fitting, pa.int64())
    return numbers_from(pc.fill_null(counts, ABSENT))


def _from_parsed(column: TableColumn, parsed: pa.StructArray) -> Bounds:
    kind = bounds_type(column.leaf)
    pair = nothing(len(parsed), kind)
    if _has_bounds(column):
        low = parsed_pair(column, child(parsed, ("minValues", *column.physical)), kind).lower
        high = parsed_pair(column, child(parsed, ("maxValues", *column.physical)), kind).upper
        pair = Pair(low, high)
    return _bounds(
        column, pair, _parsed_counts(parsed, ("numRecords",)), _parsed_counts(parsed, ("nullCount", *column.physical))
    )


def child(parsed: pa.StructArray, path: Sequence[str]) -> pa.Array:
    """Return what lies at a path of structs; nulls where nothing does."""
    array = parsed
    for name in path:
        if not pa.types.is_struct(array.type) or array.type.get_field_index(name) < 0:
            return pa.nulls(len(parsed))
        array = pc.struct_field(array, array.type.get_field_index(name))
    return array


def _parsed_counts(parsed: pa.StructArray, path: Sequence[str]) -> NDArray[np.int64]:
    array = child(parsed, path)
    if not pa.types.is_integer(array.type):
        return np.full(len(parsed), ABSENT, np.int64)
    return numbers_from(pc.fill_null(array.cast(pa.int64()), ABSENT))


def _bounds(column: TableColumn, pair: Pair, records: NDArray[np.int64], nulls: NDArray[np.int64]) -> Bounds:
    """Put the parts together; statistics that contradict themselves say nothing."""
    lower, upper = widened(column, pair)
    known = nulls != ABSENT
    bounded = flags_from(pc.or_(lower.is_valid(), upper.is_valid()))
    believed = (records > 0) & (~known | ((nulls >= 0) & (nulls <= records) & ~(bounded & (nulls == records))))
    crossed = (
        flags_from(pc.less(upper, lower)) if not pa.types.is_null(lower.type) else np.zeros(len(records), np.bool_)
    )
    believed &= ~crossed
    none = pa.scalar(None, lower.type)
    flags = from_numpy(believed)
    return Bounds(
        lower=pc.if_else(flags, lower, none),
        upper=pc.if_else(flags, upper, none),
        null_count=from_numpy(nulls, valid=believed & known),
        row_count=np.where(records > 0, records, 1),
    )
