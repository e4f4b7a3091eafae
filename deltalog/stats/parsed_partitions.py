"""Convert partition values to `partitionValues_parsed`, the typed struct of a checkpoint.

A time without a zone is one in the zone of its writer; an empty string, and the name that Hive gives null, are null to
some and text to others. Where one file of a table has such a value, its checkpoint has no struct.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.log.file_block import texts_of_map
from deltalog.stats.enclosing_values import (
    Pair,
    days,
    decimals,
    instants,
    integer_texts,
    local_times,
    nothing,
    number_of,
    same,
)
from parquet_core.arrow_arrays import flags_from, from_numpy
from parquet_core.spark_rules.partition_inference import NULL as HIVE_NULL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltalog.table.schema import TableColumn

_TRUTH = {"true": True, "false": False}


def parsed_partition_type(columns: Sequence[TableColumn]) -> pa.DataType | None:
    """Return the struct of a table's partition columns; None when one of them has a type that is never certain."""
    if any(column.leaf.type is None or column.kind == "binary" for column in columns):
        return None
    return pa.struct([(column.partition, column.leaf.type) for column in columns])


def parsed_partitions(columns: Sequence[TableColumn], values: pa.MapArray) -> pa.StructArray | None:
    """Return the values of files as structs; None when one of them is not certain."""
    texts = texts_of_map(values)
    fields = []
    for column in columns:
        assert column.partition is not None
        if column.partition not in texts:
            return None
        codes, distinct = texts[column.partition]
        typed = _typed(column, distinct)
        if typed is None or (codes < -1).any():
            return None
        fields.append(typed.take(from_numpy(np.where(codes < 0, 0, codes), valid=codes >= 0)))
    return pa.StructArray.from_arrays(fields, fields=list(parsed_partition_type(columns) or ()))


def _typed(column: TableColumn, texts: pa.Array) -> pa.Array | None:
    """Return distinct texts as values; None when it is not certain what one of them is."""
    blank = flags_from(pc.equal(texts, ""))
    odd = flags_from(pc.equal(texts, HIVE_NULL))
    if odd.any() or (column.kind == "string" and blank.any()):
        return None
    if column.kind == "string":
        return texts
    low, high = _read(column, texts)
    certain = flags_from(pc.fill_null(pc.equal(low, high), fill_value=False))
    # NaN equals nothing.
    if pa.types.is_floating(low.type):
        certain |= flags_from(pc.fill_null(pc.is_nan(low), fill_value=False))
    return low if (certain | blank).all() else None


def _read(column: TableColumn, texts: pa.Array) -> Pair:
    kind = column.leaf.type
    readers = {"date": days, "timestamp": instants, "timestamp_ntz": local_times}
    if column.kind in readers:
        return readers[column.kind](texts)
    if pa.types.is_boolean(kind):
        return same(pa.array([_TRUTH.get(text.lower()) for text in texts.to_pylist()], pa.bool_()))
    if pa.types.is_integer(kind):
        whole = flags_from(pc.match_substring_regex(texts, "^-?[0-9]+$"))
        return integer_texts(pc.if_else(from_numpy(whole), texts, pa.scalar(None, texts.type)), kind)
    if pa.types.is_floating(kind):
        return same(pa.array([_number(text) for text in texts.to_pylist()], pa.float64()).cast(kind, safe=False))
    if pa.types.is_decimal(kind):
        return decimals([number_of(text) for text in texts.to_pylist()], kind)
    return nothing(len(texts), kind)


def _number(text: str) -> float | None:
    number = number_of(text)
    return None if number is None else float(number)
