"""Read encoded footers in batches and decode them as they arrive."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, NamedTuple, NoReturn, Protocol, TypeVar

import numpy as np

from parquet_core.errors import MalformedFile, UnsupportedFeature, WrongUse
from parquet_core.fix import Fix
from parquet_core.format.other_formats import not_parquet
from parquet_core.storage import IN_FLIGHT, DataFile, Ranges, Traffic, check_size, gather, is_remote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.arrays import Numbers


MAGIC = b"PAR1"
ENCRYPTED_MAGIC = b"PARE"
# PAR3 and PARX are proposed; PAR\0 and PER\0 are reserved for footers in another protocol than Thrift.
_NEWER_MAGIC = re.compile(rb"PAR[0-9A-Z\0]|PER\0")
SIZE_HINT = 64 << 10
MOST_FOOTER_BYTES = 256 << 20
FOOTER_VARIABLE = "PRUNE_FOOTER_BYTES"
_LARGEST_HINT = 16 << 20
# Bytes of file tails that may stay in memory in addition to the footers, unless half of the tails is more.
_SPARE_BYTES = 1 << 20
# Limit for the bytes of footers that are decoded together.
_BATCH_BYTES = 32 << 20

Part = TypeVar("Part")
Made_co = TypeVar("Made_co", covariant=True)


class Decode(Protocol[Made_co]):
    """Decodes the FileMetaData of successive files."""

    def __call__(self, encoded: bytes, starts: Numbers, stops: Numbers, files: Sequence[DataFile]) -> Made_co:
        """Decode the FileMetaData in bytes `starts` to `stops`."""


class Batch(NamedTuple, Generic[Part]):
    """Footers of successive files.

    `starts`, `stops`: byte range of each file's FileMetaData in `encoded`. `parts`: results of the decoder, in order.
    """

    files: Sequence[DataFile]
    encoded: bytes
    starts: Numbers
    stops: Numbers
    parts: list[Part]


def encoded_footers(files: Sequence[DataFile], decode: Decode[Part], *, traffic: Traffic) -> Iterator[Batch[Part]]:
    """Read the footers of files and yield them in batches.

    A file takes one request if the size hint covers its footer, otherwise two. The hint starts at 64 KiB and adapts to
    the footers read so far. Raises MalformedFile for a file that is truncated or not Parquet, UnsupportedFeature for an
    encrypted or too long footer, and the errors of `decode`.
    """
    if not files:
        return
    # Probe footer sizes with one local file, or with one batch of parallel requests to a store.
    shown = first = min(IN_FLIGHT if is_remote(files[0].path) else 1, len(files))
    batch = _read(files[:first], SIZE_HINT, decode, None, traffic)
    if len(files) == first:
        yield batch
    while first < len(files):
        hint = _hint(int((batch.stops - batch.starts).max()), files[first])
        last = first + max(1, _BATCH_BYTES // hint)
        batch = _read(files[first:last], hint, decode, batch if first == shown else None, traffic)
        yield batch
        first = last


def _hint(longest: int, file: DataFile) -> int:
    """Return the bytes to read from the end of a file.

    `longest`: bytes of the longest footer among earlier files.
    """
    ample = longest + longest // 4 + 8
    # Unneeded bytes from a store are cheaper than a second request; from local files they only fill memory.
    rounded = 1 << ample.bit_length() if is_remote(file.path) else -(-ample // 512) * 512
    return min(_LARGEST_HINT, max(4096, rounded))


@dataclass(slots=True)
class _Arriving(Generic[Part]):
    """Decodes the tails of files as they arrive.

    Decoding stops at tails that are shorter than their footer.
    """

    files: Sequence[DataFile]
    sizes: Numbers
    tails: Numbers
    starts: Numbers
    stops: Numbers
    decode: Decode[Part]
    parts: list[Part] = field(default_factory=list)
    decoded: int = 0
    encoded: bytes = b""

    def __call__(self, encoded: bytes, arrived: int) -> None:
        self.encoded = encoded
        here = slice(self.decoded, arrived)
        lengths = footer_lengths(encoded, self.stops[here], self.sizes[here], self.files[here])
        if np.all(lengths + 8 <= self.tails[here]):
            self.starts[here] = self.stops[here] - lengths
            self.parts.append(self.decode(encoded, self.starts[here], self.stops[here], self.files[here]))
            self.decoded = arrived


def _read(
    files: Sequence[DataFile], hint: int, decode: Decode[Part], before: Batch[Part] | None, traffic: Traffic
) -> Batch[Part]:
    """Read the footers of files and append them to `before`.

    `before`: an earlier batch, None to start a new one.
    """
    sizes = np.array([file.size for file in files], np.int64)
    for i in np.flatnonzero(sizes < 12).tolist():
        check_size(files[i])  # the writer may have finished since the listing
        problem = f"{sizes[i]} bytes are too few for a Parquet file; it is cut off or another format"
        raise not_parquet(files[i].path, problem)
    earlier = b"" if before is None else before.encoded
    tails = np.minimum(sizes, hint)
    stops = len(earlier) + np.cumsum(tails) - 8
    arriving = _Arriving(files, sizes, tails, stops.copy(), stops, decode)
    ranges, counts = Ranges(np.arange(len(files)), sizes - tails, tails), [len(files)]
    (encoded,) = gather(
        files, ranges, counts=counts, purpose="footer", traffic=traffic, before=earlier, arrived=arriving
    )
    # A repeated read may return other bytes than were decoded, so decode again.
    parts, decoded = (arriving.parts, arriving.decoded) if encoded is arriving.encoded else ([], 0)
    whole = decoded == len(files)
    lengths = stops - arriving.starts if whole else footer_lengths(encoded, stops, sizes, files)
    encoded, starts, stops = _with_rest(encoded, arriving, lengths, traffic)
    if before is not None:
        files, parts = [*before.files, *files], [*before.parts, *parts]
        starts, stops = np.concatenate([before.starts, starts]), np.concatenate([before.stops, stops])
        decoded += len(before.files)
    if len(encoded) - int((stops - starts).sum()) > max(len(encoded) // 2, _SPARE_BYTES):
        # If the tails consist mostly of other bytes, keep only the footers, and decode these again.
        footers = [encoded[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
        encoded, ends = b"".join(footers), np.cumsum(stops - starts)
        starts, stops = ends - (stops - starts), ends
        parts, decoded = [], 0
    if decoded < len(files):
        parts = [*parts, decode(encoded, starts[decoded:], stops[decoded:], files[decoded:])]
    return Batch(files, encoded, starts, stops, parts)


def _with_rest(
    encoded: bytes, read: _Arriving[Part], lengths: Numbers, traffic: Traffic
) -> tuple[bytes, Numbers, Numbers]:
    """Read the footers that are longer than their tails.

    Returns all bytes, and the start and stop of each footer in them.
    """
    starts, stops = read.stops - lengths, read.stops.copy()
    short = np.flatnonzero(lengths + 8 > read.tails)
    if len(short):
        ranges = Ranges(short, (read.sizes - 8 - lengths)[short], lengths[short])
        ends = len(encoded) + np.cumsum(lengths[short])
        starts[short], stops[short] = ends - lengths[short], ends
        counts = [len(short)]
        (encoded,) = gather(read.files, ranges, counts=counts, purpose="footer", traffic=traffic, before=encoded)
    return encoded, starts, stops


def footer_lengths(encoded: bytes, tails: Numbers, sizes: Numbers, files: Sequence[DataFile]) -> Numbers:
    """Return the length of each footer in bytes.

    `tails`: positions in `encoded` of the last eight bytes of each file, which hold length and magic. Raises
    MalformedFile or UnsupportedFeature for a file without a usable footer.
    """
    ends = np.frombuffer(encoded, np.uint8)[tails[:, None] + np.arange(8)]
    lengths: Numbers = ends[:, :4].copy().view("<u4")[:, 0].astype(np.int64)
    wrong = np.any(ends[:, 4:] != np.frombuffer(MAGIC, np.uint8), axis=1) | (lengths + 12 > sizes)
    wrong |= lengths > _longest()
    for i in np.flatnonzero(wrong).tolist():
        _refuse(ends[i].tobytes(), files[i])
    return lengths


def _refuse(end: bytes, file: DataFile) -> NoReturn:
    if end[4:] == ENCRYPTED_MAGIC:
        raise UnsupportedFeature(f"{file.path}: its footer is encrypted; pruning needs a plaintext footer")
    if end[4:] != MAGIC and _NEWER_MAGIC.fullmatch(end[4:]):
        raise UnsupportedFeature(
            f"{file.path}: its footer is of the form {end[4:].decode('latin-1')!r}, newer than PAR1, which is not "
            "supported by this version",
            Fix("write it again with a PAR1 footer"),
        )
    if end[4:] != MAGIC:
        fix = Fix("leave it out or write it again")
        raise not_parquet(file.path, "does not end in PAR1: no Parquet file, or cut off", fix)
    length = int.from_bytes(end[:4], "little")
    if length + 12 > file.size:
        raise MalformedFile(f"{file.path}: claims a footer of {length} bytes in a file of {file.size}; it is damaged")
    fix = Fix(f"write fewer columns or row groups into a file, or allow it: {FOOTER_VARIABLE}={length}")
    raise UnsupportedFeature(f"{file.path}: a footer of {length} bytes, which is more than {_longest()}", fix)


def _longest() -> int:
    """Return the maximum footer length in bytes.

    The limit protects memory: the claimed length is read, and decoding takes a multiple of it.
    """
    allowed = os.environ.get(FOOTER_VARIABLE, "").strip()
    if allowed and not allowed.isdecimal():
        raise WrongUse(f"{FOOTER_VARIABLE}={allowed!r}: give a number of bytes")
    return int(allowed) if allowed else MOST_FOOTER_BYTES
