"""Hashes of values for bloom filters: XXH64 of their PLAIN encoding without a length prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import xxhash

from parquet_core.arrow_arrays import numbers_from
from parquet_core.errors import WrongUse
from parquet_core.format.schema import LeafColumn, Physical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.bloom.blocks import Hashes

# BOOLEAN: parquet-java writes empty filters of it. INT96: nobody compares its bytes.
_HASHABLE = frozenset(Physical) - {Physical.BOOLEAN, Physical.INT96}
_STORED: dict[Physical, np.dtype[Any]] = {
    Physical.INT32: np.dtype("<i4"),
    Physical.INT64: np.dtype("<i8"),
    Physical.FLOAT: np.dtype("<f4"),
    Physical.DOUBLE: np.dtype("<f8"),
}
_BYTES = {pa.binary(), pa.string(), pa.large_binary(), pa.large_string()}
_DECIMAL_BYTES = 16


def can_hash(column: LeafColumn) -> bool:
    """Tell whether a filter of this column can be probed with values of its type."""
    if column.unsupported or column.physical not in _HASHABLE:
        return False
    # A decimal has many encodings as BYTE_ARRAY, and a filter knows the one that was written.
    return column.physical is not Physical.BYTE_ARRAY or not _is_decimal(column.type)


def _is_decimal(type_: pa.DataType | None) -> bool:
    return type_ is not None and pa.types.is_decimal(type_)


def hash_values(column: LeafColumn, values: pa.Array) -> Hashes:
    """Hash values of the column's type; to find zeros and NaN in a filter it takes `probe_hashes`.

    A number that the column's width cannot hold, and that no filter knows, has the hash of another one.
    Raises TypeError for values that are not of the column's type, WrongUse for nulls.
    """
    if values.null_count:
        raise WrongUse("a null has no hash; drop the nulls first")
    if column.physical not in _HASHABLE or not _fits(column, values.type):
        raise TypeError(f"no bloom filter of {column.name!r} ({column.physical.name}) knows values of {values.type}")
    if len(values) == 0:
        return np.zeros(0, np.uint64)
    if column.physical is Physical.BYTE_ARRAY or pa.types.is_binary(values.type):
        encoded = values.cast(pa.large_binary()).to_pylist()
    else:
        rows = np.ascontiguousarray(_encode(column, values))
        encoded = rows.view(f"V{rows.shape[1]}")[:, 0].tolist()
    return np.fromiter(map(xxhash.xxh64_intdigest, encoded), np.uint64, len(values))


def _fits(column: LeafColumn, given: pa.DataType) -> bool:
    """Tell whether values of a type are encoded as those of the column are."""
    if pa.types.is_decimal(given) or _is_decimal(column.type):
        return column.physical is not Physical.BYTE_ARRAY and _fits_decimal(column.type, given)
    match column.physical:
        case Physical.FLOAT:
            return bool(given == pa.float32())
        case Physical.DOUBLE:
            return bool(given == pa.float64())
        case Physical.BYTE_ARRAY:
            return given in _BYTES
        case Physical.FIXED_LEN_BYTE_ARRAY:
            half = given == pa.float16() and column.type_length == 2
            return half or given in {pa.binary(), pa.binary(column.type_length)}
    return _fits_number(column.type, given)


def _fits_decimal(declared: pa.DataType | None, given: pa.DataType) -> bool:
    # The same number of another scale has another encoding.
    if declared is None or not pa.types.is_decimal(declared):
        return False
    return pa.types.is_decimal128(given) and bool(declared.scale == given.scale)


def _fits_number(declared: pa.DataType | None, given: pa.DataType) -> bool:
    if pa.types.is_timestamp(given):
        # The unit counts, the zone changes no number.
        return declared is not None and pa.types.is_timestamp(declared) and declared.unit == given.unit
    if pa.types.is_integer(given):
        return declared is None or pa.types.is_integer(declared)
    return pa.types.is_temporal(given) and bool(given == declared)


def _encode(column: LeafColumn, values: pa.Array) -> NDArray[np.uint8]:
    """Return the encoding of each value, shape (values, width)."""
    if pa.types.is_decimal(values.type):
        return _encode_decimal(column, _raw(values, _DECIMAL_BYTES))
    if column.physical is Physical.FIXED_LEN_BYTE_ARRAY:
        return _raw(values, column.type_length)
    stored = _STORED[column.physical]
    if pa.types.is_temporal(values.type):
        # A date beyond year 9999 is none to Python, but it is a number of days.
        values = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    numbers = numbers_from(values).astype(stored, copy=False)
    return np.ascontiguousarray(numbers).view(np.uint8).reshape(-1, stored.itemsize)


def _encode_decimal(column: LeafColumn, unscaled: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Encode decimals, given as little-endian numbers of 16 bytes."""
    if column.physical is not Physical.FIXED_LEN_BYTE_ARRAY:
        return unscaled[:, : _STORED[column.physical].itemsize]
    width = column.type_length
    sign = np.where(unscaled[:, -1:] >= 128, np.uint8(0xFF), np.uint8(0))
    extended = np.concatenate([unscaled, np.repeat(sign, max(0, width - _DECIMAL_BYTES), axis=1)], axis=1)
    return extended[:, :width][:, ::-1]


def _raw(values: pa.Array, width: int) -> NDArray[np.uint8]:
    """Return the bytes that Arrow holds of values of one width, shape (values, width)."""
    stored = np.frombuffer(values.buffers()[1], np.uint8)
    return stored[values.offset * width : (values.offset + len(values)) * width].reshape(-1, width)
