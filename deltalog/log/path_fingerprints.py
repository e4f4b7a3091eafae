"""64-bit hashes of many paths: different hashes prove different paths.

Equal hashes prove nothing, so paths with equal hashes are compared. A fingerprint takes a fraction of the time of a
hash of all bytes of the path.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    Fingerprints = NDArray[np.uint64]

# Offsets of the 8-byte words that are hashed: from the start, and from the end, where file names differ. Only these
# words and the length are hashed.
_FROM_START = (0, 8, 16, 24)
_FROM_END = (8, 16, 24, 32, 40, 48)
_LEAST = 48
_SPREAD = 0xD6E8FEB86659FD93
_STEP = np.uint64(0x9E3779B97F4A7C15)


def fingerprints(paths: pa.Array) -> Fingerprints:
    """Return one fingerprint per path; it depends only on the path, not on the array."""
    if len(paths) == 0:
        return np.zeros(0, np.uint64)
    starts = np.frombuffer(paths.buffers()[1], np.int32, paths.offset + len(paths) + 1)[paths.offset :].astype(np.int64)
    lengths = np.diff(starts)
    prints = lengths.astype(np.uint64) * _STEP
    long = lengths >= _LEAST
    if long.all():
        return _mixed(paths.buffers()[2], starts[:-1], starts[1:], prints)
    prints[long] = _mixed(paths.buffers()[2], starts[:-1][long], starts[1:][long], prints[long])
    for i in np.flatnonzero(~long).tolist():
        prints[i] ^= np.uint64(zlib.crc32(paths[i].as_buffer()) * _SPREAD & 0xFFFF_FFFF_FFFF_FFFF)
    return prints


def _mixed(data: pa.Buffer, starts: NDArray[np.int64], stops: NDArray[np.int64], prints: Fingerprints) -> Fingerprints:
    if len(starts) == 0:
        return prints
    # View the 8 bytes at every offset as one number, without a copy.
    words: Fingerprints = np.ndarray((data.size - 7,), "<u8", data, 0, (1,))
    for offsets in (*(starts + step for step in _FROM_START), *(stops - step for step in _FROM_END)):
        prints = (prints ^ words[offsets]) * _STEP
        prints ^= prints >> np.uint64(29)
    return prints


def may_repeat(paths: Sequence[pa.Array]) -> NDArray[np.bool_] | None:
    """Flag the paths whose fingerprint occurs more than once in all arrays together; None if all differ."""
    prints = np.concatenate([fingerprints(array) for array in paths]) if paths else np.zeros(0, np.uint64)
    order = np.sort(prints)
    twice = order[1:][order[1:] == order[:-1]]
    return np.isin(prints, twice) if len(twice) else None
