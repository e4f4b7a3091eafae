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
