"""Deletion vectors: bitmaps of the positions of deleted rows in a file.

Inline vectors are stored in the log as Z85. Others are stored in files. A file has a version byte, then for each
vector its length, the bitmap and a CRC-32; length and CRC-32 are big-endian. A bitmap begins with a magic number. A
64-bit bitmap is a sequence of 32-bit bitmaps.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import TYPE_CHECKING
from uuid import UUID

import msgspec
import numpy as np
import pyarrow.compute as pc

from deltalog.errors import MalformedLog
from deltalog.log.actions import DeletionVector
from deltalog.log.allowed_locations import opened_place
from deltalog.log.paths import canonical_path, resolve
from parquet_core.arrow_arrays import filled, numbers_from
from parquet_core.errors import MalformedFile
from parquet_core.storage import Traffic, find_file, read_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyroaring import BitMap64

    from deltalog.log.file_block import FileBlock

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGIT = {sign: number for number, sign in enumerate(_ALPHABET)}
_MAGIC = 1681511377
_UUID_SIGNS = 20
_LAYOUT_VERSION = 1


def decode_z85(text: str) -> bytes:
    """Decode Z85: every 5 characters become 4 bytes. Raises ValueError for any other text.

    >>> decode_z85("HelloWorld").hex()
    '864fd26fb559f75b'
    """
    if len(text) % 5:
        raise ValueError(f"{len(text)} characters are not a multiple of 5")
    out = bytearray()
    for start in range(0, len(text), 5):
        word = 0
        for sign in text[start : start + 5]:
            if sign not in _DIGIT:
                raise ValueError(f"{sign!r} is not a character of Z85")
            word = word * 85 + _DIGIT[sign]
        if word >> 32:
            raise ValueError("five characters encode more than four bytes")
        out += word.to_bytes(4, "big")
    return bytes(out)


def vector_path(vector: DeletionVector, table: str) -> str:
    """Return the path of a vector's file (storage type `u` or `p`). Raises ValueError if invalid.

    >>> vector_path(DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, 6), "s3://b/t")
    's3://b/t/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin'
    """
    path_or_inline = vector.path_or_inline_dv
    if vector.storage_type == "p":
        return resolve(table, canonical_path(path_or_inline))
    if len(path_or_inline) < _UUID_SIGNS:
        raise ValueError(f"{path_or_inline!r} is too short for a UUID")
    prefix, name = path_or_inline[:-_UUID_SIGNS], UUID(bytes=decode_z85(path_or_inline[-_UUID_SIGNS:]))
    inside = f"{prefix}/" if prefix else ""
    return resolve(table, f"{inside}deletion_vector_{name}.bin")


def read_vector(
    vector: DeletionVector,
    table: str | os.PathLike[str],
    *,
    traffic: Traffic | None = None,
    allow: Sequence[str] = (),
) -> BitMap64:
    """Return the positions of the deleted rows in a file.

    >>> from deltalog.log.actions import DeletionVector
    >>> inline = DeletionVector("i", "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 44, 6)
    >>> list(read_vector(inline, "lake/events"))
    [3, 4, 7, 11, 18, 29]

    `vector`: as returned by `vector_of`.
    `traffic`: counts the bytes read.
    `allow`: locations outside the table where the vector's file may be.

    Raises MalformedLog if the stored vector does not match the action, and OutsideTable.
    """
    table = os.fspath(table)
    where = f"{table}: deletion vector {vector.storage_type}{vector.path_or_inline_dv[:64]}"
    try:
        data, where = _bytes_of(vector, table, Traffic() if traffic is None else traffic, where, allow)
        rows = decode_bitmap(data)
    except (ValueError, IndexError, struct.error, MalformedFile) as error:
        raise MalformedLog(f"{where}: {error}; restore it, or deleted rows reappear") from None
    if len(rows) != vector.cardinality:
        raise MalformedLog(
            f"{where}: {len(rows)} rows instead of {vector.cardinality}; restore it, or deleted rows reappear"
        )
    return rows


def _bytes_of(
    vector: DeletionVector, table: str, traffic: Traffic, where: str, allow: Sequence[str]
) -> tuple[bytes, str]:
    if vector.storage_type == "i":
        # Z85 pads to a multiple of four bytes.
        data = decode_z85(vector.path_or_inline_dv)
        if not len(data) - 4 < vector.size_in_bytes <= len(data):
            raise ValueError(f"{len(data)} bytes instead of {vector.size_in_bytes}")
        return data[: vector.size_in_bytes], where
    path = opened_place(table, vector_path(vector, table), allow)
    file = find_file(path)
    if file is None:
        raise ValueError(f"its file {path} is missing")
    start = 1 if vector.offset is None else vector.offset
    stored = read_range(file, start, 4 + vector.size_in_bytes + 4, purpose="vectors", traffic=traffic)
    if read_range(file, 0, 1, purpose="vectors", traffic=traffic)[0] != _LAYOUT_VERSION:
        raise ValueError("the layout version of the file is not 1")
    length, data = struct.unpack(">i", stored[:4])[0], stored[4:-4]
    if length != vector.size_in_bytes:
        raise ValueError(f"{length} bytes at {start} of {path} instead of {vector.size_in_bytes}")
    if zlib.crc32(data) != struct.unpack(">I", stored[-4:])[0]:
        raise ValueError(f"the checksum at offset {start} of {path} does not match")
    return data, path


def decode_bitmap(data: bytes) -> BitMap64:
    """Return the positions in a serialized bitmap. Raises ValueError for an invalid bitmap.

    The magic number is followed by Roaring's portable 64-bit format.
    """
    from pyroaring import BitMap64

    magic, count = struct.unpack_from("<iQ", data)
    if magic != _MAGIC:
        raise ValueError(f"{magic} is not the magic number of a 64-bit bitmap")
    # Each part takes at least 8 bytes: a key and a header.
    if count * 8 > len(data):
        raise ValueError(f"{count} parts in {len(data)} bytes")
    return BitMap64.deserialize(data[4:])


def vector_of(block: FileBlock, position: int) -> DeletionVector | None:
    """Return the deletion vector of a file; None if missing.

    >>> import deltalog
    >>> (block,) = snapshot.blocks
    >>> deltalog.vector_of(block, 0) is None
    True

    `block`: one of `Snapshot.blocks`; `position`: index of the file in the block.
    """
    fields = None if block.vectors is None else block.vectors[position].as_py()
    if fields is None:
        return None
    return msgspec.convert(fields, DeletionVector)


def deleted_rows(blocks: Sequence[FileBlock]) -> NDArray[np.int64]:
    """Return the number of deleted rows per file, in block order, from the log."""
    counts = [np.zeros(len(block), np.int64) for block in blocks]
    for count, block in zip(counts, blocks, strict=True):
        if block.vectors is not None:
            count[:] = numbers_from(filled(pc.struct_field(block.vectors, "cardinality"), 0))
    return np.concatenate(counts) if counts else np.zeros(0, np.int64)
