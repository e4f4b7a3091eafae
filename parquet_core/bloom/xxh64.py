"""XXH64 of many values of one width at once.

Source: xxHash's specification (xxhash_spec.md). The seed is 0, as Parquet's filters have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.bloom.blocks import Hashes

_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)
# P1 + P2, P2, 0 and -P1, modulo 2 ** 64.
_STARTS = (np.uint64(0x60EA27EEADC0B5D6), _P2, np.uint64(0), np.uint64(0x61C8864E7A143579))
_STRIPE = 32
_STEP = 1 << 14  # values at a time, whose intermediate words stay in the cache


def xxh64(rows: NDArray[np.uint8]) -> Hashes:
    """Hash every row of an array of bytes, shape (values, width).

    >>> hex(xxh64(np.zeros((1, 0), np.uint8))[0])
    '0xef46db3751d8e999'
    """
    hashes = np.empty(len(rows), np.uint64)
    for start in range(0, len(rows), _STEP):
        hashes[start : start + _STEP] = _hash(rows[start : start + _STEP])
    return hashes


def _hash(rows: NDArray[np.uint8]) -> Hashes:
    width = rows.shape[1]
    done = width - width % _STRIPE
    state = _stripes(rows, done) if done else np.full(len(rows), _P5)
    state = state + np.uint64(width)
    while width - done >= 8:
        state ^= _round(np.zeros_like(state), _lane(rows, done, "<u8"))
        state = _rotate(state, 27) * _P1 + _P4
        done += 8
    if width - done >= 4:
        state ^= _lane(rows, done, "<u4") * _P1
        state = _rotate(state, 23) * _P2 + _P3
        done += 4
    for column in range(done, width):
        state = _rotate(state ^ _lane(rows, column, "u1") * _P5, 11) * _P1
    return _avalanche(state)


def _stripes(rows: NDArray[np.uint8], stop: int) -> Hashes:
    states = [np.full(len(rows), start) for start in _STARTS]
    for stripe in range(0, stop, _STRIPE):
        for i in range(4):
            states[i] = _round(states[i], _lane(rows, stripe + 8 * i, "<u8"))
    merged = sum(
        (_rotate(state, bits) for state, bits in zip(states, (1, 7, 12, 18), strict=True)),
        start=np.zeros(len(rows), np.uint64),
    )
    for state in states:
        merged = (merged ^ _round(np.zeros_like(state), state)) * _P1 + _P4
    return merged


def _lane(rows: NDArray[np.uint8], first: int, dtype: str) -> Hashes:
    """Return the little-endian number that begins at a column, of every row."""
    bytes_ = np.ascontiguousarray(rows[:, first : first + np.dtype(dtype).itemsize])
    return bytes_.view(dtype)[:, 0].astype(np.uint64)


def _round(state: Hashes, lane: Hashes) -> Hashes:
    return _rotate(state + lane * _P2, 31) * _P1


def _rotate(words: Hashes, bits: int) -> Hashes:
    return words << np.uint64(bits) | words >> np.uint64(64 - bits)


def _avalanche(state: Hashes) -> Hashes:
    state = (state ^ state >> np.uint64(33)) * _P2
    state = (state ^ state >> np.uint64(29)) * _P3
    return state ^ state >> np.uint64(32)
