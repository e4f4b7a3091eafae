"""The bytes of a log file, decompressed as its first bytes say: plain text, or Spark's zstd, lz4 or snappy."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.storage import Traffic, is_remote, read_range
from prune_assets.workload.event_logs.events import EVENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.storage import DataFile

BLOCK = 1 << 20
_REMOTE_BLOCK = 8 << 20
# What a cut file has after its last whole block is lost.
_ZSTD_BLOCK = 1 << 16
_ZSTD = b"\x28\xb5\x2f\xfd"
_LZ4 = b"LZ4Block"
_SNAPPY = b"\x82SNAPPY\0"
_LZF = b"ZV"
# Blocks of lz4-java and snappy-java are at most 32 MiB, and 64 KiB or 32 KiB by default.
_LARGEST_BLOCK = 32 << 20


class CutOff(MalformedFile):
    """The file ends in the middle, as one does that is still written."""


class FileStream(io.RawIOBase):
    """A listed file read from its start to its end, as it was when it was listed."""

    def __init__(self, file: DataFile, traffic: Traffic) -> None:
        self.file, self.traffic = file, traffic
        self.position = 0
        self.buffer = memoryview(b"")

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes, all that are there where it is negative, and nothing at the end."""
        if not self.buffer:
            length = min(_REMOTE_BLOCK if is_remote(self.file.path) else BLOCK, self.file.size - self.position)
            self.buffer = memoryview(self._fetch(length))
            self.position += length
        taken = self.buffer[: size if size >= 0 else None]
        self.buffer = self.buffer[len(taken) :]
        return bytes(taken)

    def exactly(self, size: int) -> bytes:
        """Return `size` bytes, fewer only at the end."""
        parts: list[bytes] = []
        while size and (part := self.read(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _fetch(self, length: int) -> bytes:
        if not length:
            return b""
        # A running application appends to its log: the times change, and the bytes that were listed do not.
        listed = self.file._replace(modified_ns=0, changed_ns=0)
        return read_range(listed, self.position, length, purpose="event log", traffic=self.traffic)


def blocks(file: DataFile, traffic: Traffic) -> Iterator[bytes]:
    """Return the text of a log file in blocks.

    Raises MalformedFile for what is no event log or is damaged, after the blocks before it, and UnsupportedFeature for
    a compression that is not read.
    """
    stream = FileStream(file, traffic)
    first = stream.exactly(len(EVENT))
    stream.buffer = memoryview(first + bytes(stream.buffer))
    if first == EVENT:
        yield from iter(lambda: stream.read(BLOCK), b"")
    elif first.startswith(_ZSTD):
        yield from _zstd(stream)
    elif first.startswith(_LZ4):
        yield from _lz4(stream)
    elif first.startswith(_SNAPPY):
        yield from _snappy(stream)
    elif first.startswith(_LZF):
        raise UnsupportedFeature(f"{file.path}: lzf is not read; set spark.eventLog.compression.codec to zstd")
    elif first:
        raise MalformedFile(f"{file.path}: no event log of Spark; leave it out, or name a file of SQL *.sql")


def _zstd(stream: FileStream) -> Iterator[bytes]:
    decompressed = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")
    try:
        while block := decompressed.read(_ZSTD_BLOCK):
            yield block
    except OSError as error:
        if "Truncated" in str(error):
            raise _cut(stream) from None
        reason = str(error).removeprefix("ZSTD decompress failed: ").lower()
        raise MalformedFile(f"{stream.file.path}: damaged ({reason}); what comes before was read") from None


def _lz4(stream: FileStream) -> Iterator[bytes]:
    """Read blocks of lz4-java: magic, a token, both sizes in little endian, a checksum."""
    while len(header := stream.exactly(21)) == 21 and header.startswith(_LZ4):
        size, length = (int.from_bytes(header[at : at + 4], "little") for at in (9, 13))
        if length:
            is_plain = header[8] & 0xF0 == 0x10
            yield _block(stream, "lz4_raw", size, length, is_plain=is_plain)
    if header:
        raise _cut(stream)


def _snappy(stream: FileStream) -> Iterator[bytes]:
    """Read blocks of snappy-java: their sizes in big endian, and headers of 16 bytes where a stream begins."""
    while header := stream.exactly(4):
        if header == _SNAPPY[:4]:
            stream.exactly(12)
            continue
        if len(header) < 4:
            raise _cut(stream)
        size = int.from_bytes(header, "big")
        yield _block(stream, "snappy", size, None)


def _block(stream: FileStream, codec: str, size: int, length: int | None, *, is_plain: bool = False) -> bytes:
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


def _cut(stream: FileStream) -> CutOff:
    return CutOff(f"{stream.file.path}: ends in the middle; what is there was read")


def _damaged(stream: FileStream) -> MalformedFile:
    return MalformedFile(f"{stream.file.path}: damaged; what comes before was read")
