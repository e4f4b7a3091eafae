"""Decompress a log file: plain text, gzip, bz2, or Spark's zstd, lz4 and snappy, recognized by the first bytes."""

from __future__ import annotations

import io
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.storage import DataFile, Traffic, is_remote, read_range
from prune_assets.advisor.workload.event_logs.events import EVENT
from prune_assets.advisor.workload.event_logs.zips import damaged_zip, is_zip, read_member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prune_assets.advisor.workload.event_logs.zips import LogFile

BLOCK = 1 << 20
_REMOTE_BLOCK = 8 << 20
# Decompressed block size. It is small, because a truncated file loses all bytes after its last complete block.
_SMALL_BLOCK = 1 << 16
# Blocks of lz4-java and snappy-java are at most 32 MiB, and 64 KiB or 32 KiB by default.
_LARGEST_BLOCK = 32 << 20
_SNAPPY = b"\x82SNAPPY\0"
_LZ4 = b"LZ4Block"
# First bytes of unsupported formats, with the remedy.
_REFUSED = {
    b"ZV": "lzf is not read; set spark.eventLog.compression.codec to zstd",
    b"PK\x03\x04": "a zip; unpack it, or rename it to end with .zip",
    b"\xfd7zXZ": "xz is not read; decompress it",
    b"7z\xbc\xaf": "a 7z archive; unpack it",
    b"Rar!": "a rar archive; unpack it",
    b"\xff\x06\x00\x00sN": "snappy's framed form is not read; decompress it",
}
_TAR, _TAR_AT = b"ustar", 257


class CutOff(MalformedFile):
    """The file is truncated, for example because Spark is still writing it."""


class NoEventLog(MalformedFile):
    """The file is not an event log."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: not a Spark event log; leave it out, or rename a file of SQL to *.sql")


class ByteStream(io.RawIOBase):
    """A binary file object that reads an iterator of blocks, which may have any size."""

    def __init__(self, path: str, blocks: Iterator[bytes]) -> None:
        self.path, self.blocks = path, blocks
        self.buffer = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes; the rest of the current block if `size` is negative; b"" at the end."""
        if not self.buffer:
            self.buffer = memoryview(next(self.blocks, b""))
        taken = self.buffer[: size if size >= 0 else None]
        self.buffer = self.buffer[len(taken) :]
        return bytes(taken)

    def exactly(self, size: int) -> bytes:
        """Return `size` bytes; fewer only at the end."""
        parts: list[bytes] = []
        while size and (part := self.read(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _ranges(file: DataFile, traffic: Traffic) -> Iterator[bytes]:
    """Yield the bytes of a file, up to the size that it had when it was listed."""
    # A running application appends to its log: the times change, and the listed bytes do not.
    listed = file._replace(modified_ns=0, changed_ns=0)
    step = _REMOTE_BLOCK if is_remote(file.path) else BLOCK
    for start in range(0, file.size, step):
        yield read_range(listed, start, min(step, file.size - start), purpose="event log", traffic=traffic)


def blocks(file: LogFile, traffic: Traffic) -> Iterator[bytes]:
    """Yield the decompressed bytes of a log, block by block.

    Raises NoEventLog for other files, and UnsupportedFeature for an unsupported compression. For a damaged log, yields
    the blocks before the damage, then raises MalformedFile.
    """
    read = _ranges(file, traffic) if isinstance(file, DataFile) else read_member(file, traffic)
    stream = ByteStream(file.path, read)
    first = stream.exactly(len(EVENT))
    stream.buffer = memoryview(first + bytes(stream.buffer))
    if not first:
        return
    if is_zip(file):
        raise damaged_zip(file)
    for magic, why in _REFUSED.items():
        if first.startswith(magic):
            raise UnsupportedFeature(f"{file.path}: {why}")
    decompressed = next((reader for magic, reader in _READERS.items() if first.startswith(magic)), _plain)
    yield from _checked(file.path, decompressed(stream))


def _checked(path: str, content: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a text. Raises NoEventLog if the text does not begin like an event log."""
    start = b""
    for block in content:
        start += block
        if len(start) >= len(EVENT):
            break
    if start[_TAR_AT:].startswith(_TAR):
        raise UnsupportedFeature(f"{path}: a tar archive; unpack it")
    if start and not start.startswith(EVENT[: len(start)]):
        raise NoEventLog(path)
    yield from chain([start], content)


def _plain(stream: ByteStream) -> Iterator[bytes]:
    return iter(lambda: stream.read(BLOCK), b"")


def _arrow(codec: str, stream: ByteStream) -> Iterator[bytes]:
    decompressed = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), codec)
    try:
        while block := decompressed.read(_SMALL_BLOCK):
            yield block
    except OSError as error:
        if "Truncated" in str(error):
            raise _cut(stream) from None
        reason = str(error).rpartition("failed: ")[2].lower()
        raise MalformedFile(f"{stream.path}: damaged ({reason}); the events before the damage were read") from None


def _lz4(stream: ByteStream) -> Iterator[bytes]:
    """Yield blocks of lz4-java. The header of a block: magic, a token, both sizes in little endian, a checksum."""
    while len(header := stream.exactly(21)) == 21 and header.startswith(_LZ4):
        size, length = (int.from_bytes(header[offset : offset + 4], "little") for offset in (9, 13))
        if length:
            is_plain = header[8] & 0xF0 == 0x10
            yield _block(stream, "lz4_raw", size, length, is_plain=is_plain)
    if header:
        raise _cut(stream)


def _snappy(stream: ByteStream) -> Iterator[bytes]:
    """Yield blocks of snappy-java. Sizes are in big endian; each stream starts with 16 bytes of header."""
    while header := stream.exactly(4):
        if header == _SNAPPY[:4]:
            stream.exactly(12)
            continue
        if len(header) < 4:
            raise _cut(stream)
        size = int.from_bytes(header, "big")
        yield _block(stream, "snappy", size, None)


def _block(stream: ByteStream, codec: str, size: int, length: int | None, *, is_plain: bool = False) -> bytes:
    if max(size, length or 0) > _LARGEST_BLOCK:
        raise _damaged(stream)
    data = stream.exactly(size)
    if len(data) < size:
        raise _cut(stream)
    if is_plain:
        return data
    length = _snappy_length(data) if length is None else length
    try:
        if length > _LARGEST_BLOCK:
            raise _damaged(stream)
        return bytes(pa.Codec(codec).decompress(data, decompressed_size=length))
    except (OSError, ValueError, pa.ArrowException):
        raise _damaged(stream) from None


def _snappy_length(data: bytes) -> int:
    length = 0
    for index, byte in enumerate(data[:5]):
        length |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            break
    return length


def _cut(stream: ByteStream) -> CutOff:
    return CutOff(f"{stream.path}: the file is truncated; the events before the end were read")


def _damaged(stream: ByteStream) -> MalformedFile:
    return MalformedFile(f"{stream.path}: damaged; the events before the damage were read")


_READERS: dict[bytes, Callable[[ByteStream], Iterator[bytes]]] = {
    b"\x28\xb5\x2f\xfd": partial(_arrow, "zstd"),
    b"\x1f\x8b": partial(_arrow, "gzip"),
    b"BZh": partial(_arrow, "bz2"),
    b"\x04\x22\x4d\x18": partial(_arrow, "lz4"),
    _LZ4: _lz4,
    _SNAPPY: _snappy,
}
