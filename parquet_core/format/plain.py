"""PLAIN-encoded values as slices of a footer, page index or dictionary page."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import from_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_MOST_BYTES = (1 << 31) - 1  # limit of a binary array, whose offsets have 32 bits
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class PlainValues:
    """Values without length prefix, as slices of a buffer.

    `start`: first byte of each value in `buffer` (uint8). `length`: in bytes; negative for a missing value, whose
    `start` is meaningless.
    """

    buffer: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, entries: slice | NDArray[np.int64]) -> PlainValues:
        return PlainValues(self.buffer, self.start[entries], self.length[entries])

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Flags of values that are not missing."""
        return self.length >= 0

    def only(self, flags: NDArray[np.bool_]) -> PlainValues:
        """Return the flagged values; the others become missing."""
        if flags.all():
            return self
        return PlainValues(self.buffer, self.start, np.where(flags, self.length, -1))

    def fixed(self, width: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Return the values of one width as bytes, and flags of these values.

        The bytes have shape (values, width); values of other widths are 0.

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
        r"""Return the values as numbers, and flags of valid ones.

        Missing values and values of another width are 0 and not valid.

        >>> PlainValues.of([b"\1\2", None, b"\1"]).numbers(np.dtype("<u2"))[0].tolist()
        [513, 0, 0]
        """
        valid = self.length == stored.itemsize
        if not valid.any():
            return np.zeros(len(self), stored), valid
        # A view with a number at every byte; indexing it copies only the requested numbers.
        anywhere = np.ndarray((len(self.buffer) - stored.itemsize + 1,), stored, self.buffer, 0, (1,))
        if valid.all():
            return anywhere[self.start], valid
        decoded = anywhere[np.where(valid, self.start, 0)]
        decoded[~valid] = 0
        return decoded, valid

    def binary(self) -> pa.Array:
        """Copy the values into a binary array.

        Missing values and values beyond 2 GiB in total become null.

        >>> PlainValues.of([b"ab", None, b""]).binary().to_pylist()
        [b'ab', None, b'']
        """
        lengths = np.maximum(self.length, 0)
        ends = np.cumsum(lengths)
        valid = self.valid & (ends <= _MOST_BYTES)
        lengths = np.where(valid, lengths, 0)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        data = np.empty(offsets[-1], np.uint8)
        # Values are copied in blocks, because the gather needs an index of eight bytes per byte.
        for first in range(0, len(self), _BLOCK):
            block = slice(first, first + _BLOCK)
            low, high = offsets[first], offsets[min(first + _BLOCK, len(self))]
            shift = np.repeat(self.start[block] - offsets[:-1][block], lengths[block])
            data[low:high] = self.buffer[shift + np.arange(low, high)]
        validity = None if valid.all() else from_numpy(valid).buffers()[1]
        return pa.Array.from_buffers(
            pa.binary(), len(self), [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
        )

    @staticmethod
    def of(values: Sequence[bytes | None]) -> PlainValues:
        """Return values from byte strings; None is a missing value."""
        lengths = np.fromiter((-1 if value is None else len(value) for value in values), np.int64, len(values))
        data = b"".join(value for value in values if value is not None)
        stops = np.cumsum(np.maximum(lengths, 0))
        return PlainValues(np.frombuffer(data, np.uint8), stops - np.maximum(lengths, 0), lengths)


def join_values(parts: Sequence[PlainValues]) -> PlainValues:
    """Concatenate the values of several buffers."""
    if len(parts) == 1:
        return parts[0]
    sizes = np.array([len(part.buffer) for part in parts], np.int64)
    shift = np.repeat(np.cumsum(sizes) - sizes, [len(part) for part in parts])
    return PlainValues(
        np.concatenate([part.buffer for part in parts]),
        np.concatenate([part.start for part in parts]) + shift,
        np.concatenate([part.length for part in parts]),
    )


def fixed_width(buffer: NDArray[np.uint8], count: int, width: int) -> PlainValues | None:
    """Return `count` values of one width.

    None if they do not fill the buffer exactly.

    >>> len(fixed_width(np.zeros(12, np.uint8), 3, 4)), fixed_width(np.zeros(13, np.uint8), 3, 4)
    (3, None)
    """
    # With a width of 0, an empty buffer could claim any number of values.
    if width <= 0 or count * width != len(buffer):
        return None
    return PlainValues(buffer, np.arange(count, dtype=np.int64) * width, np.full(count, width, np.int64))


def length_prefixed(buffer: NDArray[np.uint8], count: int) -> PlainValues | None:
    """Return `count` values with 4-byte length prefixes.

    None if they do not fill the buffer exactly.

    >>> length_prefixed(np.frombuffer(bytes.fromhex("020000006162" "00000000"), np.uint8), 2).binary().to_pylist()
    [b'ab', b'']
    """
    if not 0 <= count * _PREFIX.size <= len(buffer):
        return None
    lengths = _equal_lengths(buffer, count)
    if lengths is None:
        lengths = _scan_lengths(buffer.tobytes(), count)
    if lengths is None:
        return None
    return PlainValues(buffer, np.cumsum(lengths + _PREFIX.size) - lengths, lengths)


_PREFIX = struct.Struct("<I")


def _equal_lengths(buffer: NDArray[np.uint8], count: int) -> NDArray[np.int64] | None:
    """Return the lengths if all are equal, else None.

    Values of equal length, such as keys and codes, are recognized without a scan.
    """
    if count == 0 or len(buffer) % count:
        return None
    width = len(buffer) // count
    prefixes = np.ascontiguousarray(buffer.reshape(count, width)[:, : _PREFIX.size]).view("<u4")
    return np.full(count, width - _PREFIX.size, np.int64) if (prefixes == width - _PREFIX.size).all() else None


def _scan_lengths(data: bytes, count: int) -> NDArray[np.int64] | None:
    # The start of a value depends on the length of the previous value.
    lengths, position, unpack = [], 0, _PREFIX.unpack_from
    try:
        for _ in range(count):
            (length,) = unpack(data, position)
            lengths.append(length)
            position += length + 4
    except struct.error:
        return None
    return np.array(lengths, np.int64) if position == len(data) else None
