"""Convert between Arrow arrays, numpy arrays and Python values without slow imports.

`pyarrow.array` checks numpy arrays for a mask. The first check in a process imports numpy's masked arrays, which
takes half the time of a plan over a thousand files. The first conversion of a Python value imports pandas if it is
installed, which takes ten times the time of the plan.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def from_numpy(
    values: NDArray[Any], arrow_type: pa.DataType | None = None, *, valid: NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return an Arrow array of numbers or bools; null where `valid` is False.

    `arrow_type`: Arrow type of the same width as the numbers; None for the type of `values`.

    >>> from_numpy(np.array([1, 2]), valid=np.array([True, False])).to_pylist()
    [1, None]
    """
    arrow_type = pa.from_numpy_dtype(values.dtype) if arrow_type is None else arrow_type
    validity = None if valid is None or valid.all() else _bits(valid)
    data = _bits(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(arrow_type, len(values), [validity, data])


def array_of(values: Sequence[Any], arrow_type: pa.DataType) -> pa.Array:
    """Return an Arrow array of Python values; None becomes null.

    Numbers, bools, strings and bytes are converted here, other values by pyarrow. Dates may be given as days since
    1970-01-01.

    >>> array_of([1, None], pa.int8()).to_pylist(), array_of(["a", ""], pa.string()).to_pylist()
    ([1, None], ['a', ''])
    """
    valid = np.array([value is not None for value in values], np.bool_)
    if pa.types.is_binary(arrow_type) or pa.types.is_string(arrow_type):
        return _texts(values, arrow_type, valid)
    if pa.types.is_decimal128(arrow_type):
        return _decimals(values, arrow_type, valid)
    is_number = pa.types.is_integer(arrow_type) or pa.types.is_float32(arrow_type) or pa.types.is_float64(arrow_type)
    plain_dates = pa.types.is_date32(arrow_type) and all(value is None or isinstance(value, int) for value in values)
    if not (is_number or plain_dates or pa.types.is_boolean(arrow_type)):
        return pa.array(values, arrow_type)
    form = np.dtype(np.int32) if plain_dates else np.dtype(arrow_type.to_pandas_dtype())
    return from_numpy(np.array([0 if value is None else value for value in values], form), arrow_type, valid=valid)


def scalar_of(value: Any, arrow_type: pa.DataType) -> pa.Scalar:
    """Return an Arrow scalar of one Python value, converted as in `array_of`.

    >>> scalar_of(7, pa.int64())
    <pyarrow.Int64Scalar: 7>
    """
    return array_of([value], arrow_type)[0]


def filled(array: pa.Array, value: float | bool) -> pa.Array:  # noqa: FBT001 - the value that replaces nulls
    """Replace the nulls of an array by a value.

    `pc.fill_null` would import pandas for a Python value.

    >>> filled(array_of([1, None], pa.int64()), 0).to_pylist()
    [1, 0]
    """
    return pc.fill_null(array, scalar_of(value, array.type))


def array_of_scalars(scalars: Sequence[pa.Scalar]) -> pa.Array:
    """Return an array of one or more scalars of one type.

    >>> array_of_scalars([scalar_of(7, pa.int64()), scalar_of(8, pa.int64())]).to_pylist()
    [7, 8]
    """
    return pa.concat_arrays([pa.repeat(value, 1) for value in scalars])


def _texts(values: Sequence[Any], arrow_type: pa.DataType, valid: NDArray[np.bool_]) -> pa.Array:
    encoded = [b"" if value is None else value.encode() if isinstance(value, str) else value for value in values]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(value) for value in encoded], out=offsets[1:])
    if offsets[-1] >= 1 << 31:
        raise pa.ArrowInvalid(f"{offsets[-1]} bytes are too many for one array")
    validity = None if valid.all() else _bits(valid)
    buffers = [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(arrow_type, len(encoded), buffers)


def _decimals(values: Sequence[Any], arrow_type: pa.DataType, valid: NDArray[np.bool_]) -> pa.Array:
    unscaled = [0 if value is None else _unscaled(value, arrow_type) for value in values]
    words = b"".join(integer.to_bytes(16, "little", signed=True) for integer in unscaled)
    return pa.Array.from_buffers(
        arrow_type, len(unscaled), [None if valid.all() else _bits(valid), pa.py_buffer(words)]
    )


def _unscaled(value: Decimal | int, arrow_type: pa.DataType) -> int:
    sign, digits, exponent = Decimal(value).as_tuple()
    shift = int(exponent) + arrow_type.scale
    magnitude = int("".join(map(str, digits)))
    whole, rest = divmod(magnitude * int(10 ** max(shift, 0)), int(10 ** max(-shift, 0)))
    if rest or whole >= 10**arrow_type.precision:
        raise pa.ArrowInvalid(f"{value} does not fit into {arrow_type}")
    return -whole if sign else whole


def with_validity(values: pa.Array, valid: NDArray[np.bool_]) -> pa.Array:
    """Return an array with the same data and nulls exactly where `valid` is False.

    The data are shared, not copied. `values` must not be a slice.
    """
    validity = None if valid.all() else _bits(valid)
    return pa.Array.from_buffers(values.type, len(values), [validity, *values.buffers()[1:]])


def _bits(flags: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def flags_from(array: pa.Array) -> NDArray[np.bool_]:
    """Return the bools of an Arrow array as numpy flags; null counts as False.

    `to_numpy` would import pandas if it is installed.

    >>> flags_from(pa.array([True, None, False])).tolist()
    [True, False, False]
    """
    validity, data = array.buffers()
    flags = _unpacked(data, array)
    return flags if array.null_count == 0 else flags & _unpacked(validity, array)


def valid_flags(values: pa.Array) -> NDArray[np.bool_]:
    """Return flags of the entries that are not null."""
    return np.ones(len(values), np.bool_) if values.null_count == 0 else flags_from(pc.is_valid(values))


def numbers_from(array: pa.Array) -> NDArray[Any]:
    """Return numbers, dates or times as a numpy array of numbers.

    Nulls become arbitrary numbers.

    >>> numbers_from(pa.array([1, 2, 3], pa.int16())[1:]).tolist()
    [2, 3]
    """
    width = array.type.bit_width // 8
    arrow_type = array.type
    code = "f" if pa.types.is_floating(arrow_type) else "u" if pa.types.is_unsigned_integer(arrow_type) else "i"
    data = array.buffers()[1]
    return (
        np.frombuffer(data, f"<{code}{width}", len(array), array.offset * width)
        if len(array)
        else np.zeros(0, f"<{code}{width}")
    )


def ordered_numbers(array: pa.Array) -> NDArray[Any] | None:
    """Return stored numbers that sort like the values; None for types not stored as numbers of up to 64 bits.

    Nulls become arbitrary numbers.

    >>> ordered_numbers(pa.array([True, False])).tolist()
    [1, 0]
    """
    arrow_type = array.type
    if pa.types.is_boolean(arrow_type):
        return flags_from(array).view(np.uint8)
    is_number = pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type) or pa.types.is_temporal(arrow_type)
    return numbers_from(array) if is_number and arrow_type.bit_width <= 64 else None


def _unpacked(bits: pa.Buffer, array: pa.Array) -> NDArray[np.bool_]:
    if len(array) == 0:
        return np.zeros(0, np.bool_)
    byte, bit = divmod(array.offset, 8)
    stop = bit + len(array)
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8, (stop + 7) // 8, byte), count=stop, bitorder="little")
    return unpacked[bit:].view(np.bool_)
