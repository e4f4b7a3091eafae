"""Convert dataclasses of arrays to Arrow record batches, which the metadata cache stores, and back.

A batch has one row with one list per array, so that arrays may differ in length. Reading does not copy arrays.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import array_of, flags_from, from_numpy, numbers_from
from parquet_core.columnar import Columnar

if TYPE_CHECKING:
    from collections.abc import Mapping

Batch = TypeVar("Batch", bound=Columnar)


def to_batch(values: Mapping[str, Any]) -> pa.RecordBatch:
    """Return named arrays and dataclasses of arrays as a record batch."""
    arrays: dict[str, pa.Array] = {}
    for name, value in values.items():
        _flatten(value, name, arrays)
    lists = [pa.LargeListArray.from_arrays(from_numpy(np.array([0, len(it)])), it) for it in arrays.values()]
    return pa.RecordBatch.from_arrays(lists, list(arrays))


def _flatten(value: Any, name: str, arrays: dict[str, pa.Array]) -> None:
    if is_dataclass(value):
        for part in fields(value):
            _flatten(getattr(value, part.name), f"{name}.{part.name}", arrays)
    else:
        arrays[name] = value if isinstance(value, pa.Array) else _from_numpy(value)


def _from_numpy(values: np.ndarray[Any, Any]) -> pa.Array:
    if values.dtype == object:
        texts = values.tolist()
        kind = pa.string() if any(isinstance(text, str) for text in texts) else pa.binary()
        return array_of(texts, kind).dictionary_encode()
    if values.ndim == 2:
        return pa.FixedSizeListArray.from_arrays(from_numpy(values.ravel()), values.shape[1])
    return from_numpy(values)


def array_at(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return the array of a name. Raises KeyError if missing."""
    return batch.column(name)[0].values


def numbers_at(batch: pa.RecordBatch, name: str) -> np.ndarray[Any, Any]:
    """Return the array of a name as a numpy array. Raises KeyError if missing."""
    array = array_at(batch, name)
    if pa.types.is_dictionary(array.type):
        texts = np.array([*array.dictionary.to_pylist(), None], object)
        chosen = numbers_from(array.indices)
        if array.indices.null_count:
            chosen = np.where(flags_from(array.indices.is_valid()), chosen, len(texts) - 1)
        found: np.ndarray[Any, Any] = texts[chosen]
        return found
    if pa.types.is_fixed_size_list(array.type):
        width = array.type.list_size
        numbers: np.ndarray[Any, Any] = numbers_from(array.flatten()).reshape(-1, width)
        return numbers
    return flags_from(array) if pa.types.is_boolean(array.type) else numbers_from(array)


def from_batch(batch: pa.RecordBatch, name: str, form: type[Batch]) -> Batch:
    """Return the dataclass that a batch contains under a name. Raises KeyError if missing."""
    parts: dict[str, Any] = {}
    for part in fields(form):
        path = f"{name}.{part.name}"
        if part.name in form.batches:
            parts[part.name] = from_batch(batch, path, form.batches[part.name])
        else:
            parts[part.name] = array_at(batch, path) if part.type == "pa.Array" else numbers_at(batch, path)
    return form(**parts)
