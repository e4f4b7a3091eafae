"""Arrow arrays of strings from Python strings, without `pyarrow.array`, which loads pandas where it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import from_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

# The texts of many stand encoded beside those that they were made of.
_ENCODED_AT_ONCE = 1 << 16


def text_array(texts: Sequence[str | None]) -> pa.Array:
    """Return an array of large strings.

    >>> text_array(["a", None, "\u00e9"]).to_pylist()
    ['a', None, '\u00e9']
    """
    lengths, data = list[int](), bytearray()
    for first in range(0, len(texts), _ENCODED_AT_ONCE):
        encoded = [b"" if text is None else text.encode() for text in texts[first : first + _ENCODED_AT_ONCE]]
        lengths += map(len, encoded)
        data += b"".join(encoded)
    stops = np.cumsum(lengths, dtype=np.int64)
    valid = np.array([text is not None for text in texts], np.bool_)
    validity = None if valid.all() else from_numpy(valid).buffers()[1]
    offsets = pa.py_buffer(np.concatenate([np.zeros(1, np.int64), stops]))
    return pa.Array.from_buffers(pa.large_string(), len(texts), [validity, offsets, pa.py_buffer(data)])


def path_array(paths: Sequence[str]) -> pa.Array:
    """Return an array of strings; ArrowInvalid when they take more than 2 GiB.

    >>> path_array(["a", "b"]).type
    DataType(string)
    """
    return text_array(paths).cast(pa.string())
