"""Values of a column in a row group, in batches of rows.

Values are returned as stored, and as bounds compare them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import from_numpy, valid_flags
from parquet_core.errors import UnsupportedFeature
from parquet_core.format.comparable_values import bounds_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.values import ValueReader


class ColumnPart(NamedTuple):
    """Values of successive rows.

    `stored`: values as Arrow reads them. `compared`: values in the type of the bounds of the table's column.
    """

    first_row: int
    stored: pa.Array
    compared: pa.Array


def read_column(
    values: ValueReader, group: int, path: Path, *, leaf: LeafColumn, column: LeafColumn
) -> Iterator[ColumnPart]:
    """Read a column outside of lists.

    `path`: path of the column in the file.
    `leaf`: the column as the file stores it.

    If the type is unknown, the compared values only show where values are null. Raises UnsupportedFeature for values
    without a comparable form in Arrow, and the errors of reading.
    """
    row = 0
    for batch in values.batches([group], [".".join(path)]):
        stored = _plain(_leaf(batch, path))
        compared = (
            _presence(stored) if leaf.type is None else cast(cast(stored, bounds_type(leaf)), bounds_type(column))
        )
        yield ColumnPart(row, stored, compared)
        row += len(batch)


def _leaf(batch: pa.RecordBatch, path: Path) -> pa.Array:
    values = batch.column(path[0])
    for name in path[1:]:
        values = pc.struct_field(values, name)
    return values


def _plain(values: pa.Array) -> pa.Array:
    """Return values in their storage form, without Arrow's extension types and dictionaries."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _presence(values: pa.Array) -> pa.Array:
    return from_numpy(np.zeros(len(values), np.int8), valid=valid_flags(values))


def cast(values: pa.Array, arrow_type: pa.DataType) -> pa.Array:
    """Return values in another type; raises UnsupportedFeature if the type cannot hold them."""
    try:
        return values if values.type == arrow_type else pc.cast(values, arrow_type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UnsupportedFeature(f"values that cannot be compared: {' '.join(str(error).split())[:200]}") from None
