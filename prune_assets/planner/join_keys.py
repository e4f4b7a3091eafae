"""Conditions that follow from a join: a row has a partner only if its key is one of the keys of the other side.

Metadata of the table are evaluated for the keys as for an IN list. A key column is not used if Spark would cast the
table's column to compare it with the keys; the report says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Context, Decimal
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy
from parquet_core.errors import WrongUse
from parquet_core.format.schema import Physical
from parquet_core.printable import listed
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import And, Compare, Constant, In, Interval, InTuples, IsNull, Op, Or
from parquet_core.quantities import counted
from prune_assets.sql.render import render
from prune_assets.sql.types.spark_types import BINARY, TIMESTAMP_NTZ, type_of_column
from prune_assets.tables.column_names import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from pyspark.sql import DataFrame

    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.spark.collect_keys import KeyRanges
    from prune_assets.sql.lower import LoweredPredicate
    from prune_assets.sql.semantics import SparkSemantics

    KeyRows: TypeAlias = pa.Table | DataFrame
    KeyNames: TypeAlias = Sequence[str | tuple[str, ...]]

_MOST_DIGITS = 38
# Digits of a decimal type that holds the values of any two Spark types exactly.
_WIDEST = 76
_NEVER = Constant(Outcomes.FALSE)
# Types of keys that are compared in the type of the column.
_ALIKE: dict[Callable[[pa.DataType], bool], tuple[Callable[[pa.DataType], bool], ...]] = {
    pa.types.is_string: (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    pa.types.is_binary: (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary),
    pa.types.is_date: (pa.types.is_date,),
    pa.types.is_boolean: (pa.types.is_boolean,),
}


class WhyUnused(StrEnum):
    """Reasons why a key column gives no condition on the table."""

    CAST = "Spark casts the table's column to compare it with this type of key"
    NO_BOUNDS = "no condition on this column prunes"
    NESTED = "the column is inside a list or map"


class UnusedKey(NamedTuple):
    """A pair of joined columns that gives no condition.

    `detail`: types of the columns, or the reason why the table's column does not prune; for messages.
    """

    column: str
    key: str
    why: WhyUnused
    detail: str

    @property
    def reason(self) -> str:
        """The reason, for reports."""
        return f"{self.why.value} ({self.detail})"

    @property
    def remedy(self) -> str:
        """The step that makes the keys usable, or ""."""
        return f"cast {self.key} to the type of {self.column}" if self.why is WhyUnused.CAST else ""


class JoinedColumn(NamedTuple):
    """A column of the table, and the column of the keys to compare it with.

    `column`: name of the table's column; or its path, because a name may contain a dot.
    `null_safe`: compared by `<=>`, for which null equals null.
    """

    column: str | tuple[str, ...]
    key: str
    null_safe: bool = False


class Join(NamedTuple):
    """The keys of the other side of a join, and the joined columns.

    `keys`: rows with the keys, not necessarily distinct; or, of keys that are too many to collect, ranges that hold all
    keys of each column.
    """

    keys: pa.Table | Mapping[str, KeyRanges]
    on: tuple[JoinedColumn, ...]


@dataclass(frozen=True, eq=False)
class JoinKeys:
    """Conditions on a table that follow from the keys of one join.

    `conjuncts`: conditions that every row with a partner fulfils, each as SQL for reports and as a predicate tree.
    `count`: number of distinct keys; the number of ranges if the keys were too many to collect.
    `unused`: joined columns that give no condition.
    `is_exact`: True if exactly the rows with a partner fulfil the conditions.
    """

    conjuncts: tuple[tuple[str, Predicate], ...]
    count: int
    unused: tuple[UnusedKey, ...] = ()
    is_exact: bool = False

    @property
    def sql(self) -> str:
        """The conditions, for reports."""
        return " AND ".join(sql for sql, _ in self.conjuncts)


def joined_columns(on: KeyNames | None, names: Sequence[str]) -> tuple[JoinedColumn, ...]:
    """Return the joined columns of one join.

    `on`: names of columns, or pairs of a column of the table and one of the keys. None for all columns of the keys.
    `names`: the columns of the keys.

    >>> [pair[:2] for pair in joined_columns(["store_id", ("day", "d")], ["store_id", "d", "n"])]
    [('store_id', 'store_id'), ('day', 'd')]
    """
    if isinstance(on, str):
        raise WrongUse(f"on={on!r}: give a list of names, on=[{on!r}]")
    pairs = [_pair(name) for name in on or names]
    if not pairs:
        raise WrongUse("keys: the keys have no column")
    return tuple(pair._replace(key=_name_of_key(pair.key, names)) for pair in pairs)


def _pair(name: str | tuple[str, ...]) -> JoinedColumn:
    if isinstance(name, str):
        return JoinedColumn(name, name)
    if isinstance(name, tuple) and len(name) in (2, 3) and all(isinstance(part, str) for part in name[:2]):
        column, key, *null_safe = name
        return JoinedColumn(column, key, bool(*null_safe))
    raise WrongUse(f"on: {name!r}: give a name, or a pair of a column of the table and one of the keys")


def _name_of_key(key: str, names: Sequence[str]) -> str:
    """Return the spelling of a column of the keys, ignoring case if no name is equal."""
    alike = [name for name in names if name == key] or [name for name in names if name.lower() == key.lower()]
    if len(alike) == 1:
        return alike[0]
    problem = f"have {counted(len(alike), 'column')} named {key}" if alike else f"have no column {key}"
    raise WrongUse(f"on: the keys {problem}; they have {listed(list(names))}; a pair of columns is on=[('id', 'k')]")


def joins_of(
    keys: KeyRows | Sequence[KeyRows] | None, on: Sequence[str | tuple[str, ...] | KeyNames | None] | None
) -> tuple[Join, ...]:
    """Return the joins that `keys` and `on` of the public functions describe. Collects the keys of DataFrames.

    With a sequence of keys, `on` has one list of names for each.
    """
    if keys is None:
        if on is not None:
            raise WrongUse("on: pass the keys too, keys=..")
        return ()
    if not isinstance(keys, list | tuple):
        return (_join(keys, cast("KeyNames | None", on)),)
    each = [None] * len(keys) if on is None else [names for names in on if not isinstance(names, str)]
    if len(each) != len(keys):
        raise WrongUse(f"on: give one list of names for each of the {counted(len(keys), 'join')}")
    return tuple(_join(rows, names) for rows, names in zip(keys, each, strict=True))


def as_rows(rows: KeyRows) -> KeyRows:
    """Convert rows of another library, such as pandas, to an Arrow table; return a Spark DataFrame unchanged."""
    if isinstance(rows, pa.Table) or hasattr(rows, "sparkSession"):
        return rows
    if not hasattr(rows, "__arrow_c_stream__"):
        raise WrongUse(f"{type(rows).__name__}: these rows cannot be read as Arrow; pass an Arrow table")
    return pa.table(rows)


def _join(keys: KeyRows, on: KeyNames | None) -> Join:
    keys = as_rows(keys)
    if isinstance(keys, pa.Table):
        return Join(keys, joined_columns(on, keys.column_names))
    from prune_assets.spark.collect_keys import check_key_types, collect_keys

    columns = joined_columns(on, keys.columns)
    names = [pair.key for pair in columns]
    check_key_types(keys, names)
    return Join(collect_keys(keys, names), columns)


def key_conditions(join: Join, columns: Sequence[LeafColumn], semantics: SparkSemantics) -> JoinKeys:
    """Return the conditions on a table's columns that hold for rows with a partner. Raises UnknownColumn."""
    keys, on = join
    usable: list[tuple[JoinedColumn, LeafColumn]] = []
    unused: list[UnusedKey] = []
    for pair in on:
        column = _leaf_column(pair.column, columns)
        arrow = keys.schema.field(pair.key).type if isinstance(keys, pa.Table) else keys[pair.key].low.type
        why = _why_unused(column, _plain_type(arrow), semantics)
        if why is None:
            usable.append((pair, column))
        else:
            detail = column.unsupported or f"{column.type} and {arrow}"
            unused.append(UnusedKey(column.name, pair.key, why, detail))
    if isinstance(keys, pa.Table):
        return _conditions_of_rows(keys, usable, tuple(unused))
    return _conditions_of_ranges(keys, usable, tuple(unused))


def with_keys(lowered: LoweredPredicate, joins: Sequence[JoinKeys]) -> LoweredPredicate:
    """Add the conditions of joins to a lowered WHERE; its `sql` and `frozen` do not change."""
    added = tuple(chain.from_iterable(join.conjuncts for join in joins))
    if not added:
        return lowered
    conjuncts, parsed = lowered.conjuncts, lowered.parsed
    if lowered.predicate == Constant(Outcomes.TRUE):
        conjuncts, parsed = (), ()
    operands: list[Predicate] = []
    for predicate in [*([lowered.predicate] if conjuncts else []), *(tree for _, tree in added)]:
        operands += predicate.children if isinstance(predicate, And) else [predicate]
    predicate = And(tuple(operands)) if len(operands) > 1 else operands[0]
    return replace(
        lowered,
        predicate=predicate,
        conjuncts=conjuncts + added,
        normalized=render(predicate),
        parsed=parsed + (None,) * len(added),
    )


def _leaf_column(name: str | tuple[str, ...], columns: Sequence[LeafColumn]) -> LeafColumn:
    """Return the column of a path or of a dotted name, or raise UnknownColumn."""
    if not isinstance(name, str):
        columns = [column for column in columns if len(column.path) == len(name)]
        name = ".".join(name)
    exact = [column for column in columns if column.name == name]
    alike = exact or [column for column in columns if column.name.lower() == name.lower()]
    if len(alike) == 1:
        return alike[0]
    top = resolve(name, columns)
    raise WrongUse(f"on: {name} is a column of type struct, list or map; give a field, for example {top}.field")


def _plain_type(arrow: pa.DataType) -> pa.DataType:
    return arrow.value_type if pa.types.is_dictionary(arrow) else arrow


def _why_unused(column: LeafColumn, key: pa.DataType, semantics: SparkSemantics) -> WhyUnused | None:
    """Return why keys of a type give no condition on a column; None if Spark compares them in the column's type."""
    if column.max_repetition_level:
        return WhyUnused.NESTED
    if column.unsupported or column.type is None:
        return WhyUnused.NO_BOUNDS
    own = type_of_column(column.type)
    is_nanoseconds = (
        pa.types.is_timestamp(column.type) and column.physical is Physical.INT64 and column.type.unit == "ns"
    )
    if own is None or is_nanoseconds or (own == BINARY and semantics.binary_as_string):
        return WhyUnused.NO_BOUNDS
    if own == TIMESTAMP_NTZ and not semantics.infer_timestamp_ntz:
        return WhyUnused.CAST
    return None if _is_compared_as(column.type, key) else WhyUnused.CAST


def _is_compared_as(column: pa.DataType, key: pa.DataType) -> bool:
    """Return True if each key equals at most one column value, and Spark's casts do not change which value that is.

    Spark compares floats as doubles. It casts integers and decimals to a decimal that has the digits of both types,
    and rounds the values if that decimal has more than 38 digits.
    """
    types = pa.types
    if types.is_integer(column) or types.is_decimal128(column):
        return (types.is_integer(key) or types.is_decimal(key)) and _have_common_decimal(column, key)
    if types.is_floating(column):
        is_small = types.is_integer(key) and key.bit_width <= (32 if types.is_float64(column) else 16)
        return bool(types.is_floating(key) or is_small)
    if types.is_timestamp(column):
        return types.is_timestamp(key) and (column.tz is None) == (key.tz is None)
    return any(is_own(column) and any(is_alike(key) for is_alike in alike) for is_own, alike in _ALIKE.items())


def _have_common_decimal(one: pa.DataType, other: pa.DataType) -> bool:
    """Return True if a decimal of Spark has all digits of both types."""
    (whole, scale), (other_whole, other_scale) = _digits(one), _digits(other)
    return one == other or max(whole, other_whole) + max(scale, other_scale) <= _MOST_DIGITS


def _digits(number: pa.DataType) -> tuple[int, int]:
    """Return the digits before and after the point of an integer or decimal type."""
    if pa.types.is_decimal(number):
        return number.precision - number.scale, number.scale
    # As Spark, which reads unsigned integers as a wider type.
    bits = 2 * number.bit_width if pa.types.is_unsigned_integer(number) else number.bit_width
    return {8: 3, 16: 5, 32: 10}.get(bits, 20), 0


def literal_type(column: LeafColumn) -> pa.DataType:
    """Return the type of literals of a column."""
    assert column.type is not None
    if pa.types.is_timestamp(column.type):
        return pa.timestamp("us", "UTC" if column.type.tz else None)
    return column.type


def _conditions_of_rows(
    keys: pa.Table, usable: Sequence[tuple[JoinedColumn, LeafColumn]], unused: tuple[UnusedKey, ...]
) -> JoinKeys:
    own = [_one_array(keys[pair.key]) for pair, _ in usable]
    converted = [_converted(values, literal_type(column)) for values, (_, column) in zip(own, usable, strict=True)]
    can_match = np.ones(keys.num_rows, np.bool_)
    for values, before, (pair, _) in zip(converted, own, usable, strict=True):
        valid = flags_from(values.is_valid())
        can_match &= valid | flags_from(before.is_null()) if pair.null_safe else valid
    converted = [values.filter(from_numpy(can_match)) for values in converted]
    conjuncts: list[tuple[str, Predicate]] = []
    for values, (_, column) in zip(converted, usable, strict=True):
        conjuncts.append(_listed(column, values))
    by_column = {column: values for values, (_, column) in zip(converted, usable, strict=True)}
    is_each_once = len(by_column) == len(usable)
    if len(by_column) < 2 or any(values.null_count for values in converted):
        count = max((len(values.unique()) for values in converted), default=0)
        is_exact = len(usable) < 2 or (is_each_once and sum(len(values.unique()) > 1 for values in converted) < 2)
        return JoinKeys(tuple(conjuncts), count, unused, is_exact and not unused)
    names = [str(i) for i in range(len(by_column))]
    distinct = pa.table(list(by_column.values()), names=names).group_by(names).aggregate([])
    count = distinct.num_rows
    if count > 1:
        paths = tuple(column.path for column in by_column)
        tuples = InTuples(paths, tuple(_one_array(distinct[name]) for name in names))
        conjuncts.append((f"({', '.join(column.name for column in by_column)}) IN ({count:,} keys)", tuples))
    return JoinKeys(tuple(conjuncts), count, unused, is_each_once and not unused)


def _listed(column: LeafColumn, values: pa.Array) -> tuple[str, Predicate]:
    """Return the condition that a column has one of the values, as SQL and as a tree. A null value matches null."""
    distinct = values.drop_null().unique()
    null = IsNull(column.path) if values.null_count else None
    if len(distinct) == 0:
        return (f"{column.name} IN (no key)", _NEVER) if null is None else (f"{column.name} IS NULL", null)
    leaf = Compare(column.path, Op.EQ, distinct[0]) if len(distinct) == 1 else In(column.path, distinct)
    sql = render(leaf) if len(distinct) == 1 else f"{column.name} IN ({len(distinct):,} keys)"
    return (sql, leaf) if null is None else (f"({sql} OR {column.name} IS NULL)", Or((leaf, null)))


def _conditions_of_ranges(
    keys: Mapping[str, KeyRanges], usable: Sequence[tuple[JoinedColumn, LeafColumn]], unused: tuple[UnusedKey, ...]
) -> JoinKeys:
    conjuncts: list[tuple[str, Predicate]] = []
    count = 0
    for pair, column in usable:
        low, high = (_converted(end, literal_type(column)) for end in (keys[pair.key].low, keys[pair.key].high))
        if low.null_count or high.null_count:
            unused += (UnusedKey(column.name, pair.key, WhyUnused.CAST, f"{column.type}"),)
            continue
        count = max(count, len(low))
        ranges: list[Predicate] = [Interval(column.path, *ends) for ends in zip(low, high, strict=True)]
        ranges += [IsNull(column.path)] if pair.null_safe else []
        sql = f"{column.name} in {len(low):,} ranges of keys"
        conjuncts.append((sql, Or(tuple(ranges)) if len(ranges) > 1 else ranges[0] if ranges else _NEVER))
    return JoinKeys(tuple(conjuncts), count, unused)


def _one_array(values: pa.ChunkedArray) -> pa.Array:
    array = values.combine_chunks()
    array = array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def _converted(keys: pa.Array, arrow_type: pa.DataType) -> pa.Array:
    """Convert the keys to a type. A key is null in the result if no value of the type equals it."""
    types = pa.types
    if types.is_floating(arrow_type):
        return _as_floats(keys, arrow_type)
    if keys.type == arrow_type:
        return keys
    if types.is_integer(keys.type) and types.is_signed_integer(arrow_type) and not types.is_uint64(keys.type):
        wide, ends = keys.cast(pa.int64()), np.iinfo(arrow_type.to_pandas_dtype())
        fits = pc.and_(pc.greater_equal(wide, ends.min), pc.less_equal(wide, ends.max))
        return pc.if_else(fits, wide, pa.scalar(None, pa.int64())).cast(arrow_type)
    if types.is_integer(arrow_type) or types.is_decimal(arrow_type):
        return _as_exact_numbers(keys, arrow_type)
    if types.is_timestamp(arrow_type) and keys.type.unit == "ns":
        # Spark counts microseconds, and rounds nanoseconds down.
        keys = pc.floor_temporal(keys, unit="microsecond")
    return keys.cast(arrow_type, safe=not types.is_temporal(arrow_type))


def _as_floats(keys: pa.Array, arrow_type: pa.DataType) -> pa.Array:
    """Return the keys as floats, with one zero and one NaN; null if no float equals the key."""
    doubles = keys.cast(pa.float64())
    doubles = pc.if_else(pc.is_nan(doubles), pa.scalar(float("nan")), doubles)
    own = doubles.cast(arrow_type, safe=False)
    fits = pc.or_(pc.equal(own.cast(pa.float64()), doubles), pc.is_nan(doubles))
    return pc.add(pc.if_else(fits, own, pa.scalar(None, arrow_type)), pa.scalar(0.0, arrow_type))


def _as_exact_numbers(keys: pa.Array, arrow_type: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(arrow_type):
        scale, most = arrow_type.scale, 10**arrow_type.precision - 1
        least = -most
    else:
        scale, ends = 0, np.iinfo(arrow_type.to_pandas_dtype())
        least, most = int(ends.min), int(ends.max)
    wide = pa.decimal256(_WIDEST, max(scale, getattr(keys.type, "scale", 0)))
    exact = keys.cast(wide)
    low, high = (pa.scalar(Decimal(end).scaleb(-scale, Context(_WIDEST)), wide) for end in (least, most))
    fits = pc.and_(pc.greater_equal(exact, low), pc.less_equal(exact, high))
    fits = pc.and_(fits, pc.equal(pc.round(exact, ndigits=scale), exact))
    inside = pc.if_else(fits, exact, pa.scalar(None, wide))
    return inside.cast(pa.decimal256(_WIDEST, scale), safe=False).cast(arrow_type)
