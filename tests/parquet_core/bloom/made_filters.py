"""Filters made of hashes, by the specification, and the bytes that a file holds of them."""

from __future__ import annotations

import numpy as np

from parquet_core.bloom.blocks import block_numbers, masks

# algorithm BLOCK, hash XXHASH, compression UNCOMPRESSED: unions whose first member, an empty struct, is set.
UNIONS = bytes.fromhex("1c1c00001c1c00001c1c0000")


def build_filter(hashes, num_bytes):
    blocks = np.zeros((num_bytes // 32, 8), np.uint32)
    np.bitwise_or.at(blocks, block_numbers(hashes, len(blocks)), masks(hashes))
    return blocks


def serialize(blocks):
    size, encoded = 2 * blocks.nbytes, bytearray()
    while size >= 0x80:
        encoded.append(size & 0x7F | 0x80)
        size >>= 7
    return b"\x15" + bytes([*encoded, size]) + UNIONS + b"\x00" + blocks.astype("<u4", copy=False).tobytes()
