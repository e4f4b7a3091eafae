"""Partition columns: values in directory names (`day=2024-01-01/`), as Hive and Spark write them.

`parquet_core.storage.partition_discovery` decides which directories count. A column whose values or type are uncertain
is listed, but does not prune.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import from_numpy
from parquet_core.format.schema import LeafColumn, Physical, SortOrder
from parquet_core.spark_rules.partition_inference import infer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_core.format.schema import Path
    from parquet_core.storage import PartitionListing

# Physical types in which a file would store partition values; types that are not listed are stored as bytes.
_PHYSICAL = {
    pa.int32(): Physical.INT32,
    pa.int64(): Physical.INT64,
    pa.date32(): Physical.INT32,
    pa.float64(): Physical.DOUBLE,
    pa.null(): Physical.INT32,
}


@dataclass(frozen=True, slots=True)
class Partitions:
    """Partition columns in order of depth, and their values by path.

    `values`: one value for each file; columns whose values are uncertain are missing.
    """

    columns: tuple[LeafColumn, ...] = ()
    values: dict[Path, pa.Array] = field(default_factory=dict)


def read_partitions(listing: PartitionListing, *, infer_types: bool = True) -> Partitions:
    """Read the partition columns of a table from the directory names.

    `infer_types`: False to read the values of all columns as strings.
    """
    spellings, value_strings, index_of = listing.partitioning
    if not spellings:
        return Partitions()
    names = spellings[0]
    if len(spellings) > 1 or len({name.casefold() for name in names}) < len(names):
        # A Spark setting decides whether names that differ only in case are one column.
        return Partitions(
            tuple(_unsupported(name, "two partition columns have names that differ in case only") for name in names)
        )
    columns: list[LeafColumn] = []
    values: dict[Path, pa.Array] = {}
    of_file = from_numpy(np.array([index_of[file.path.rpartition("/")[0]] for file in listing.files], np.int64))
    for name, of_column in zip(names, zip(*value_strings, strict=True), strict=True):
        inferred = infer(of_column, types=infer_types)
        if isinstance(inferred, str):
            columns.append(_unsupported(name, inferred))
        else:
            columns.append(_column(name, inferred.type))
            values[(name,)] = inferred.values.take(of_file)
    return Partitions(tuple(columns), values)


def without_overridden(columns: Iterable[LeafColumn], partitions: Iterable[LeafColumn]) -> tuple[LeafColumn, ...]:
    """Mark columns as unsupported if Spark takes their values from directory names."""
    names = {column.path[0].casefold() for column in partitions}
    reason = "a directory name gives this column its value, whatever the file holds"
    return tuple(
        replace(column, unsupported=reason) if column.path[0].casefold() in names else column for column in columns
    )


def _unsupported(name: str, reason: str) -> LeafColumn:
    unknown = _column(name, pa.string())
    return replace(unknown, type=None, order=SortOrder.UNDEFINED, unsupported=reason)


def _column(name: str, arrow_type: pa.DataType) -> LeafColumn:
    return LeafColumn(
        path=(name,),
        index=-1,
        physical=_PHYSICAL.get(arrow_type, Physical.BYTE_ARRAY),
        type=arrow_type,
        order=SortOrder.UNSIGNED if pa.types.is_string(arrow_type) else SortOrder.SIGNED,
        max_definition_level=1,
    )
