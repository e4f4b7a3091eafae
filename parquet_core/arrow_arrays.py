"""Arrow arrays over the memory of numpy's.

`pyarrow.array` would do, but of an array of numpy it asks whether it is a masked one, and the first such
question of a process loads that part of numpy: half the time of a plan over a thousand files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray


def from_numpy(
    values: NDArray[Any], kind: pa.DataType | None = None, *, valid: NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return an array of numbers, or of bools; null where not `valid`. `kind` has the width of the numbers.

    >>> from_numpy(np.array([1, 2]), valid=np.array([True, False])).to_pylist()
    [1, None]
    """
    kind = pa.from_numpy_dtype(values.dtype) if kind is None else kind
    validity = None if valid is None or valid.all() else _bits(valid)
    data = _bits(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [validity, data])


def _bits(flags: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def flags_from(array: pa.Array) -> NDArray[np.bool_]:
    """Return bools as numpy has them; null counts as False. `to_numpy` would load pandas, where it is installed.

    >>> flags_from(pa.array([True, None, False])).tolist()
    [True, False, False]
    """
    validity, data = array.buffers()
    flags = _unpacked(data, array)
    return flags if array.null_count == 0 else flags & _unpacked(validity, array)


def numbers_from(array: pa.Array) -> NDArray[Any]:
    """Return numbers, or the numbers that dates and times are, as numpy has them; null counts as anything.

    >>> numbers_from(pa.array([1, 2, 3], pa.int16())[1:]).tolist()
    [2, 3]
    """
    width = array.type.bit_width // 8
    kind = array.type
    code = "f" if pa.types.is_floating(kind) else "u" if pa.types.is_unsigned_integer(kind) else "i"
    data = array.buffers()[1]
    return (
        np.frombuffer(data, f"<{code}{width}", len(array), array.offset * width)
        if len(array)
        else np.zeros(0, f"<{code}{width}")
    )


def ordered_numbers(array: pa.Array) -> NDArray[Any] | None:
    """Return the numbers an array is stored as, in the same order; None where Arrow stores other than numbers.

    Null counts as anything.

    >>> ordered_numbers(pa.array([True, False])).tolist()
    [1, 0]
    """
    kind = array.type
    if pa.types.is_boolean(kind):
        return flags_from(array).view(np.uint8)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    return numbers_from(array) if is_number and kind.bit_width <= 64 else None


def _unpacked(bits: pa.Buffer, array: pa.Array) -> NDArray[np.bool_]:
    if len(array) == 0:
        return np.zeros(0, np.bool_)
    byte, bit = divmod(array.offset, 8)
    stop = bit + len(array)
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8, (stop + 7) // 8, byte), count=stop, bitorder="little")
    return unpacked[bit:].view(np.bool_)
