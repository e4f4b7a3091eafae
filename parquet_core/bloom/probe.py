"""Probe bloom filters for values. "No" is certain, "yes" is not.

A value's hash is the XXH64 of its PLAIN encoding without a length prefix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import xxhash

from parquet_core.arrow_arrays import from_numpy, numbers_from
from parquet_core.bloom.blocks import BLOCK_BYTES, Blocks, block_numbers, masks
from parquet_core.errors import WrongUse
from parquet_core.format.schema import LeafColumn, Physical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.bloom.blocks import Hashes

# parquet-java writes empty filters for BOOLEAN. INT96 values are not compared by their bytes.
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
    """Return True if filters of this column can be probed."""
    if column.unsupported or column.physical not in _HASHABLE:
        return False
    # A BYTE_ARRAY decimal has many encodings, and a filter contains only the encoding that was written.
    return column.physical is not Physical.BYTE_ARRAY or not _is_decimal(column.type)


def _is_decimal(type_: pa.DataType | None) -> bool:
    return type_ is not None and pa.types.is_decimal(type_)


def hash_values(column: LeafColumn, values: pa.Array) -> Hashes:
    """Hash values of the column's type, one uint64 each.

    Use `probe_hashes` to look up zeros and NaN in a filter. A number that exceeds the column's width is in no filter;
    it wraps and hashes like another value. Raises TypeError for values that are not of the column's type, WrongUse for
    nulls.
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
    """Return True if a type is encoded like the column's type."""
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
    # The scale must match because the encoding of a number depends on it.
    if declared is None or not pa.types.is_decimal(declared):
        return False
    return pa.types.is_decimal128(given) and bool(declared.scale == given.scale)


def _fits_number(declared: pa.DataType | None, given: pa.DataType) -> bool:
    if pa.types.is_timestamp(given):
        # The unit must match; the time zone does not change the stored number.
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
        # Times and dates are hashed as integers; Python's dates end at year 9999, stored ones do not.
        values = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    stored_numbers = numbers_from(values).astype(stored, copy=False)
    return np.ascontiguousarray(stored_numbers).view(np.uint8).reshape(-1, stored.itemsize)


def _encode_decimal(column: LeafColumn, unscaled: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Encode unscaled decimals, which are little-endian numbers of 16 bytes."""
    if column.physical is not Physical.FIXED_LEN_BYTE_ARRAY:
        return unscaled[:, : _STORED[column.physical].itemsize]
    width = column.type_length
    sign = np.where(unscaled[:, -1:] >= 128, np.uint8(0xFF), np.uint8(0))
    extended = np.concatenate([unscaled, np.repeat(sign, max(0, width - _DECIMAL_BYTES), axis=1)], axis=1)
    return extended[:, :width][:, ::-1]


def _raw(values: pa.Array, width: int) -> NDArray[np.uint8]:
    """Return Arrow's bytes of fixed-width values, shape (values, width)."""
    stored = np.frombuffer(values.buffers()[1], np.uint8)
    return stored[values.offset * width : (values.offset + len(values)) * width].reshape(-1, width)


_WORK_BYTES = 1 << 18  # size of the blocks gathered per step; fits the CPU cache
_HALVES = BLOCK_BYTES // 8
_ALL_SET = np.uint32(0x01010101)


class Probes(NamedTuple):
    """Hashes of values to look up in a column's filters.

    `hashes`: one per value, then a second one per value at `two_encodings`.
    `two_encodings`: indices of values with a second encoding.
    `provable`: per value, True if its absence can be proven.
    """

    hashes: Hashes
    two_encodings: NDArray[np.intp]
    provable: NDArray[np.bool_]


def probe_hashes(column: LeafColumn, values: pa.Array) -> Probes:
    """Hash values of the column's type in all encodings that compare equal.

    Zeros are looked up as 0.0 and as -0.0. NaN has many encodings, so its absence is never proven. Raises the errors of
    `hash_values`.
    """
    everything = np.ones(len(values), np.bool_)
    if not pa.types.is_floating(values.type):
        return Probes(hash_values(column, values), np.zeros(0, np.intp), everything)
    hashes = hash_values(column, values)
    floats = numbers_from(values)
    again = np.flatnonzero(floats == 0)
    others = from_numpy(np.negative(floats[again]), values.type)
    return Probes(np.concatenate([hashes, hash_values(column, others)]), again, ~np.isnan(floats))


def may_hold(filters: Sequence[Blocks], probes: Probes) -> NDArray[np.bool_]:
    """Probe every filter for every value.

    Shape (filters, values). False proves that a filter lacks a value.
    """
    maybe = may_contain(filters, probes.hashes)
    values = len(probes.provable)
    maybe[:, probes.two_encodings] |= maybe[:, values:]
    maybe[:, :values] |= ~probes.provable
    return maybe[:, :values]


def each_may_contain(filters: Sequence[Blocks], hashes: Hashes) -> NDArray[np.bool_]:
    """Probe filter i for hash i; False proves absence."""
    selected = block_numbers(hashes, np.fromiter(map(len, filters), np.uint64, len(filters)))
    blocks = np.array([blocks[block_number] for blocks, block_number in zip(filters, selected.tolist(), strict=True)])
    wanted = masks(hashes)
    maybe: NDArray[np.bool_] = ((blocks & wanted) == wanted).all(axis=1)
    return maybe


def may_contain(filters: Sequence[Blocks], hashes: Hashes) -> NDArray[np.bool_]:
    """Probe every filter for every hash, shape (filters, hashes); False proves absence."""
    maybe = np.empty((len(filters), len(hashes)), np.bool_)
    step = _WORK_BYTES // BLOCK_BYTES
    for start in range(0, len(hashes), step):
        part = hashes[start : start + step]
        _probe(filters, part, maybe[:, start : start + step])
    return maybe


def _probe(filters: Sequence[Blocks], hashes: Hashes, maybe: NDArray[np.bool_]) -> None:
    sizes = np.fromiter(map(len, filters), np.uint64, len(filters))
    wanted = masks(hashes).view(np.uint64)
    step = max(1, _WORK_BYTES // (BLOCK_BYTES * len(hashes)))
    gathered = np.empty((min(step, len(filters)), len(hashes), _HALVES), np.uint64)
    for start in range(0, len(filters), step):
        part = filters[start : start + step]
        selections = block_numbers(hashes[None, :], sizes[start : start + step, None])
        work = gathered[: len(part)]
        for blocks, selected, out in zip(part, selections, work, strict=True):
            # mode="clip" avoids a copy of the result; all block numbers are in range.
            np.take(blocks.view(np.uint64), selected, axis=0, out=out, mode="clip")
        np.bitwise_and(work, wanted, out=work)
        maybe[start : start + step] = (work == wanted).view(np.uint32)[..., 0] == _ALL_SET
