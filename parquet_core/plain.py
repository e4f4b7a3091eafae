"""PLAIN-encoded values where they lie: in the bytes of a footer, a page index or a dictionary page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_MOST_BYTES = (1 << 31) - 1  # of a binary array's values, whose offsets have 32 bits
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class PlainValues:
    """Successive values without their length prefix, none copied; a negative `length` is no value.

    `start` is the first byte in `buffer` (uint8) and means nothing where there is no value.
    """

    buffer: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Tell where a value stands."""
        return self.length >= 0

    def only(self, flags: NDArray[np.bool_]) -> PlainValues:
        """Keep the values at the flags; elsewhere none stands."""
        return PlainValues(self.buffer, self.start, np.where(flags, self.length, -1))

    def fixed(self, width: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Return the values of one width in bytes, shape (values, width), and where one of it stands.

        >>> PlainValues.of([b"ab", None, b"abc"]).fixed(2)[1].tolist()
        [True, False, False]
        """
        valid = self.length == width
        values = np.zeros((len(self), width), np.uint8)
        if width and valid.any():
            windows = np.lib.stride_tricks.sliding_window_view(self.buffer, width)
            if valid.all():
                values = windows[self.start]
            else:
                values[valid] = windows[self.start[valid]]
        return values, valid

    def numbers(self, stored: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        r"""Return the values as numbers of one stored type, 0 where none of its width stands, and where one does.

        >>> PlainValues.of([b"\1\2", None, b"\1"]).numbers(np.dtype("<u2"))[0].tolist()
        [513, 0, 0]
        """
        valid = self.length == stored.itemsize
        if not valid.any():
            return np.zeros(len(self), stored), valid
        # A number begins at every byte: an index into that copies nothing but what is asked for.
        anywhere = np.ndarray((len(self.buffer) - stored.itemsize + 1,), stored, self.buffer, 0, (1,))
        if valid.all():
            return anywhere[self.start], valid
        numbers = anywhere[np.where(valid, self.start, 0)]
        numbers[~valid] = 0
        return numbers, valid

    def binary(self) -> pa.Array:
        """Copy the values into a binary array; null where none stands, and for what exceeds 2 GiB in all.

        >>> PlainValues.of([b"ab", None, b""]).binary().to_pylist()
        [b'ab', None, b'']
        """
        lengths = np.maximum(self.length, 0)
        ends = np.cumsum(lengths)
        valid = self.valid & (ends <= _MOST_BYTES)
        lengths = np.where(valid, lengths, 0)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        data = np.empty(offsets[-1], np.uint8)
        # Block by block: an index of eight bytes a byte is needed for the gather.
        for first in range(0, len(self), _BLOCK):
            block = slice(first, first + _BLOCK)
            low, high = offsets[first], offsets[min(first + _BLOCK, len(self))]
            shift = np.repeat(self.start[block] - offsets[:-1][block], lengths[block])
            data[low:high] = self.buffer[shift + np.arange(low, high)]
        validity = pa.array(valid).buffers()[1]
        return pa.Array.from_buffers(
            pa.binary(), len(self), [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
        )

    @staticmethod
    def of(values: Sequence[bytes | None]) -> PlainValues:
        """Make them of single values."""
        lengths = np.fromiter((-1 if value is None else len(value) for value in values), np.int64, len(values))
        data = b"".join(value for value in values if value is not None)
        stops = np.cumsum(np.maximum(lengths, 0))
        return PlainValues(np.frombuffer(data, np.uint8), stops - np.maximum(lengths, 0), lengths)
