"""Arrow arrays of nested types from Python rows, without `pyarrow.array`, which loads pandas where it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import array_of, from_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def array_of_rows(rows: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return values of a nested type: dictionaries for structs and for maps, lists; None is null.

    A field that a dictionary lacks is null, one that the type lacks is passed over.

    >>> array_of_rows([{"a": 1, "m": {"x": None}}, None], pa.struct([("a", pa.int64()), ("m", MAP)])).to_pylist()
    [{'a': 1, 'm': [('x', None)]}, None]
    """
    if pa.types.is_struct(kind):
        children = [_field(rows, field.name, field.type) for field in kind]
        there = np.array([row is not None for row in rows], np.bool_)
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=from_numpy(~there))
    if pa.types.is_map(kind):
        entries = [pair for row in rows if row is not None for pair in row.items()]
        pairs = pa.StructArray.from_arrays(
            [
                array_of([key for key, _ in entries], kind.key_type),
                array_of([value for _, value in entries], kind.item_type),
            ],
            fields=[kind.key_field, kind.item_field],
        )
        return _of_parts(rows, kind, pairs)
    if pa.types.is_list(kind):
        return _of_parts(
            rows, kind, array_of_rows([value for row in rows or () for value in row or ()], kind.value_type)
        )
    return array_of(rows, kind)


MAP = pa.map_(pa.string(), pa.string())


def _field(rows: Sequence[Any], name: str, kind: pa.DataType) -> pa.Array:
    return array_of_rows([None if row is None else row.get(name) for row in rows], kind)


def _of_parts(rows: Sequence[Any], kind: pa.DataType, parts: pa.Array) -> pa.Array:
    offsets: NDArray[np.int32] = np.zeros(len(rows) + 1, np.int32)
    np.cumsum([0 if row is None else len(row) for row in rows], out=offsets[1:])
    there = np.array([row is not None for row in rows], np.bool_)
    validity = None if there.all() else from_numpy(there).buffers()[1]
    return pa.Array.from_buffers(kind, len(rows), [validity, pa.py_buffer(offsets)], children=[parts])
