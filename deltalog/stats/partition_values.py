"""Partition values as evidence for pruning: each value text in the log is valid for all rows of a file.

Bounds are computed for each distinct value, as if the value were a file with one row. In a STRING column, an
empty string or Hive's name for null means null to some writers and the text itself to others, so both meanings remain
possible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.log.file_block import NULL, empty_codes, texts_of_map
from deltalog.log.paths import path_array
from deltalog.stats.conservative_bounds import (
    days,
    decimals,
    exact_pair,
    float_of,
    floats,
    instants,
    integer_texts,
    local_times,
    number_of,
    unknown_pair,
)
from parquet_core.arrow_arrays import array_of, flags_from, from_numpy, scalar_of
from parquet_core.format.comparable_values import bounds_type
from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.evidence.several_columns import outcomes_from_several_bounds
from parquet_core.pruning.outcomes import unknown
from parquet_core.pruning.predicate import ColumnLeaf, Constant, MultiColumnLeaf, OnPartitions, columns_of_leaf
from parquet_core.pruning.trees import constant_answers
from parquet_core.spark_rules.partition_inference import NULL_DIRECTORY
from parquet_core.trust.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from deltalog.log.file_block import FileBlock, Texts
    from deltalog.table.schema import TableColumn
    from parquet_core.format.schema import Path
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Leaf
    from parquet_core.trust.widened_bounds import Pair

    Flags = NDArray[np.bool_]


# Spark does not read the numbers 1.0 and 1E2 as integers.
_WHOLE = "^-?[0-9]+$"


def outcomes_of_partitions(leaf: Leaf, columns: Mapping[Path, TableColumn], block: FileBlock) -> OutcomeArray:
    """Return, for each file, the outcomes that partition values leave possible.

    All outcomes remain possible for a leaf on other columns.
    `columns`: columns of the table, by logical path.
    """
    if isinstance(leaf, Constant):
        return constant_answers(leaf, len(block))
    if isinstance(leaf, OnPartitions):
        return _outcomes_of_columns(leaf, [columns[path] for path in leaf.columns], block)
    if isinstance(leaf, ColumnLeaf):
        column = columns.get(leaf.column)
        if column is not None and column.partition is not None:
            return _outcomes_of_column(leaf, column, block)
    if isinstance(leaf, MultiColumnLeaf):
        known = {path: column for path in columns_of_leaf(leaf) if (column := columns.get(path)) is not None}
        bounds = {
            path: bounds_of_partitions(column, block) for path, column in known.items() if column.partition is not None
        }
        return outcomes_from_several_bounds(leaf, bounds, len(block))
    return unknown(len(block))


def bounds_of_partitions(column: TableColumn, block: FileBlock) -> Bounds:
    """Return the bounds of a partition column in each file; a file counts as one row."""
    coded = _texts(column, block)
    bounds = partition_bounds(column, coded.values)
    return bounds.take(np.arange(len(bounds))[coded.codes])


def _outcomes_of_column(leaf: ColumnLeaf, column: TableColumn, block: FileBlock) -> OutcomeArray:
    coded = _texts(column, block)
    # NULL (-1) indexes the last entry, ABSENT (-2) the entry before it.
    answers: OutcomeArray = outcomes_from_bounds(leaf, partition_bounds(column, coded.values))[coded.codes]
    return answers


def _outcomes_of_columns(leaf: OnPartitions, columns: Sequence[TableColumn], block: FileBlock) -> OutcomeArray:
    """Return the outcomes of a leaf on several columns; all outcomes if one value is uncertain."""
    certain = np.ones(len(block), np.bool_)
    values = []
    for column in columns:
        coded = _texts(column, block)
        bounds = partition_bounds(column, coded.values)
        certain &= _certain(bounds)[coded.codes]
        values.append(bounds.lower.take(from_numpy(np.arange(len(bounds))[coded.codes])))
    answers = unknown(len(block))
    if certain.any():
        answers[certain] = leaf.test(*(it.filter(from_numpy(certain)) for it in values))
    return answers


def _certain(bounds: Bounds) -> Flags:
    """Return flags of values that denote only one value or null. Floats never do, because of NaN and the two zeros."""
    if pa.types.is_floating(bounds.lower.type):
        return np.zeros(len(bounds), np.bool_)
    is_single = flags_from(pc.equal(bounds.null_count, 0)) & flags_from(pc.equal(bounds.lower, bounds.upper))
    return is_single | flags_from(pc.equal(bounds.null_count, 1))


def _texts(column: TableColumn, block: FileBlock) -> Texts:
    assert column.partition is not None
    coded = block.partition.get(column.partition)
    return empty_codes(len(block)) if coded is None else coded


def partition_bounds(column: TableColumn, value_strings: pa.Array) -> Bounds:
    """Return the bounds of distinct values, followed by the bounds of a missing entry and of null."""
    arrow_type = bounds_type(column.leaf)
    text_like = column.delta_type in {"string", "binary"}
    blank = flags_from(pc.is_in(value_strings, value_set=array_of(["", NULL_DIRECTORY], value_strings.type)))
    lower, upper = _read(column, value_strings, arrow_type)
    bounded = np.concatenate([~blank if not text_like else np.ones(len(value_strings), np.bool_), [False, False]])
    null = np.concatenate([blank.astype(np.int64), [0, 1]])
    null_known = np.concatenate(
        [_certainly_null_or_not(value_strings, blank, lower, text_like=text_like), [False, True]]
    )
    lower, upper = _extended(lower, bounded), _extended(upper, bounded)
    nan = None
    if pa.types.is_floating(arrow_type):
        lower, upper, nan = _without_nan(lower, upper)
    return Bounds.of(
        lower=lower,
        upper=upper,
        null_count=from_numpy(null, valid=null_known),
        row_count=np.ones(len(null), np.int64),
        nan_count=nan,
    )


def partition_value(column: TableColumn, value_string: str | None) -> pa.Scalar | None:
    """Return the value that Spark reads from a partition text; None if it is ambiguous.

    A time without a zone, an empty string and a text that is invalid for its type may denote several values, depending
    on the session or the writer.
    """
    if value_string is None:
        return pa.scalar(None, pa.null())
    arrow_type = bounds_type(column.leaf)
    bounds = partition_bounds(column, path_array([value_string]))
    nulls, low, high = bounds.null_count[0].as_py(), bounds.lower[0], bounds.upper[0]
    if nulls == 1:
        return pa.scalar(None, pa.null())
    if nulls is None:
        return None
    if column.delta_type == "binary":
        return pa.scalar(value_string.encode(), arrow_type)
    if pa.types.is_floating(arrow_type):
        return float_of(value_string, arrow_type)
    return low if low.is_valid and low.equals(high) else None


def _certainly_null_or_not(value_strings: pa.Array, blank: Flags, values: pa.Array, *, text_like: bool) -> Flags:
    """Flag the texts for which it is certain whether Spark reads null.

    Spark reads an invalid text as null only in some sessions.
    """
    if text_like:
        return ~blank
    understood = flags_from(values.is_valid())
    if pa.types.is_integer(values.type):
        understood &= flags_from(pc.match_substring_regex(value_strings, _WHOLE))
    return blank | understood


def _extended(values: pa.Array, bounded: np.ndarray) -> pa.Array:
    longer = pa.concat_arrays([values, pa.nulls(2, values.type)])
    return pc.if_else(from_numpy(bounded), longer, _null(values.type))


def _null(arrow_type: pa.DataType) -> pa.Scalar:
    return pa.nulls(1, arrow_type)[0]


def _without_nan(lower: pa.Array, upper: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    nan = flags_from(pc.is_nan(lower))
    none = _null(lower.type)
    zeros = pc.equal(lower, scalar_of(0.0, lower.type))
    low = pc.if_else(from_numpy(nan), none, pc.if_else(zeros, scalar_of(-0.0, lower.type), lower))
    zeros = pc.equal(upper, scalar_of(0.0, upper.type))
    high = pc.if_else(from_numpy(nan), none, pc.if_else(zeros, scalar_of(0.0, upper.type), upper))
    valid = flags_from(lower.is_valid())
    return low, high, from_numpy(nan.astype(np.int64), valid=valid)


def _read(column: TableColumn, value_strings: pa.Array, arrow_type: pa.DataType) -> Pair:  # noqa: PLR0911 - one return per type
    match column.delta_type:
        case "string":
            return exact_pair(value_strings.cast(pa.binary()))
        case "binary":
            # Writers escape binary values or write UTF-8; both are equal only for ASCII.
            return exact_pair(
                pc.if_else(pc.string_is_ascii(value_strings), value_strings, _null(pa.string())).cast(pa.binary())
            )
        case "boolean":
            lowered = pc.utf8_lower(value_strings).to_pylist()
            return exact_pair(
                array_of([{"true": True, "false": False}.get(value_string) for value_string in lowered], pa.bool_())
            )
        case "date":
            return days(value_strings)
        case "timestamp":
            return instants(value_strings)
        case "timestamp_ntz":
            return local_times(value_strings)
    if pa.types.is_integer(arrow_type):
        return integer_texts(value_strings, arrow_type)
    if pa.types.is_floating(arrow_type):
        return floats(value_strings.to_pylist(), arrow_type)
    if pa.types.is_decimal(arrow_type):
        return decimals([number_of(value_string) for value_string in value_strings.to_pylist()], arrow_type)
    return unknown_pair(len(value_strings), arrow_type)


def parsed_partition_type(columns: Sequence[TableColumn]) -> pa.DataType | None:
    """Return the struct type of a table's partition columns; None if a column's type makes all values ambiguous."""
    if any(column.leaf.type is None or column.delta_type == "binary" for column in columns):
        return None
    return pa.struct([(column.partition, column.leaf.type) for column in columns])


def parsed_partitions(columns: Sequence[TableColumn], values: pa.MapArray) -> pa.StructArray | None:
    """Return partition values as `partitionValues_parsed` of a checkpoint; None if one is ambiguous.

    A time without a zone is in the zone of its writer. An empty string and Hive's name for null are null to some
    readers and text to others. If one file of a table has such a value, the checkpoint gets no struct.
    """
    coded_by_name = texts_of_map(values)
    fields = []
    for column in columns:
        assert column.partition is not None
        if column.partition not in coded_by_name:
            return None
        codes, distinct = coded_by_name[column.partition]
        typed = _typed(column, distinct)
        if typed is None or (codes < NULL).any():
            return None
        fields.append(typed.take(from_numpy(np.where(codes < 0, 0, codes), valid=codes >= 0)))
    return pa.StructArray.from_arrays(fields, fields=list(parsed_partition_type(columns) or ()))


def _typed(column: TableColumn, value_strings: pa.Array) -> pa.Array | None:
    """Return distinct texts as typed values; None if one is ambiguous."""
    blank = flags_from(pc.equal(value_strings, ""))
    if flags_from(pc.equal(value_strings, NULL_DIRECTORY)).any() or (column.delta_type == "string" and blank.any()):
        return None
    if column.delta_type == "string":
        return value_strings
    low, high = _read(column, value_strings, column.leaf.type)
    certain = flags_from(pc.equal(low, high))
    # NaN does not equal itself.
    if pa.types.is_floating(low.type):
        certain |= flags_from(pc.is_nan(low))
    if pa.types.is_integer(low.type):
        certain &= flags_from(pc.match_substring_regex(value_strings, _WHOLE))
    return low if (certain | blank).all() else None
