"""Write a filter as a file holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parquet_core.bloom.blocks import Blocks

# algorithm BLOCK, hash XXHASH, compression UNCOMPRESSED: unions whose first member, an empty struct, is set.
_UNIONS = bytes.fromhex("1c1c00001c1c00001c1c0000")


def serialize(blocks: Blocks) -> bytes:
    """Return the header, as parquet-java writes it, and the bitset behind it.

    >>> import numpy as np
    >>> serialize(np.zeros((1, 8), np.uint32))[:15].hex()
    '15401c1c00001c1c00001c1c000000'
    """
    return b"\x15" + _varint(2 * blocks.nbytes) + _UNIONS + b"\x00" + blocks.astype("<u4", copy=False).tobytes()


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
