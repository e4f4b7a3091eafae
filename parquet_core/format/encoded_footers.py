"""Footers as bytes: the ends of files, read in batches; each is decoded as it arrives while others are read."""

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
# PAR3 and PARX are proposed; PAR and PER with a zero are reserved for footers in another protocol than Thrift.
_NEWER_MAGIC = re.compile(rb"PAR[0-9A-Z\0]|PER\0")
SIZE_HINT = 64 << 10
MOST_FOOTER_BYTES = 256 << 20
FOOTER_VARIABLE = "PRUNE_FOOTER_BYTES"
_LARGEST_HINT = 16 << 20
# Footers are decoded together up to this many bytes of them.
_BATCH_BYTES = 32 << 20

Part = TypeVar("Part")
Made_co = TypeVar("Made_co", covariant=True)


class Decode(Protocol[Made_co]):
    """What makes something of the FileMetaData of successive files."""

    def __call__(self, encoded: bytes, starts: Numbers, stops: Numbers, files: Sequence[DataFile]) -> Made_co:
        """Decode the bytes `starts` to `stops` of each file."""


class Batch(NamedTuple, Generic[Part]):
    """Successive files: where in `encoded` the FileMetaData of each begins and ends, and what was made of them."""

    files: Sequence[DataFile]
    encoded: bytes
    starts: Numbers
    stops: Numbers
    parts: list[Part]


def encoded_footers(files: Sequence[DataFile], decode: Decode[Part], *, traffic: Traffic) -> Iterator[Batch[Part]]:
    """Read the footers of files, in batches: one request a file where the size hint covers it, otherwise two.

    The hint begins at 64 KiB and follows the footers seen. Raises MalformedFile for what is not a whole
    Parquet file, UnsupportedFeature for an encrypted footer or one that is too long, and what decoding raises.
    """
    if not files:
        return
    # The first files show how long the footers of this dataset are: of a store those that one need not wait for.
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
    """Return how many bytes to ask for of the end of a file, by the longest footer of the files before it."""
    ample = longest + longest // 4 + 8
    # Bytes that nobody asked for are cheaper than a second request, but for a local file, of which they fill memory.
    rounded = 1 << ample.bit_length() if is_remote(file.path) else -(-ample // 512) * 512
    return min(_LARGEST_HINT, max(4096, rounded))


@dataclass(slots=True)
class _Arriving(Generic[Part]):
    """Decodes tails of `hint` bytes at most as they arrive, up to the first that is too short for its footer."""

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
    """Read the footers of files, and put them behind those of a batch."""
    sizes = np.array([file.size for file in files], np.int64)
    for i in np.flatnonzero(sizes < 12).tolist():
        check_size(files[i])  # its writer may have finished since
        problem = f"{sizes[i]} bytes are too few for a Parquet file; it is cut off or another format"
        raise not_parquet(files[i].path, problem)
    kept = b"" if before is None else before.encoded
    tails = np.minimum(sizes, hint)
    stops = len(kept) + np.cumsum(tails) - 8
    arriving = _Arriving(files, sizes, tails, stops.copy(), stops, decode)
    ranges, counts = Ranges(np.arange(len(files)), sizes - tails, tails), [len(files)]
    (encoded,) = gather(files, ranges, counts=counts, purpose="footer", traffic=traffic, before=kept, arrived=arriving)
    # What had to be read once more need not be what was decoded.
    parts, decoded = (arriving.parts, arriving.decoded) if encoded is arriving.encoded else ([], 0)
    whole = decoded == len(files)
    lengths = stops - arriving.starts if whole else footer_lengths(encoded, stops, sizes, files)
    encoded, starts, stops = _with_rest(encoded, arriving, lengths, traffic)
    if before is not None:
        files, parts = [*before.files, *files], [*before.parts, *parts]
        starts, stops = np.concatenate([before.starts, starts]), np.concatenate([before.stops, stops])
        decoded += len(before.files)
    if int((stops - starts).sum()) < len(encoded) // 2:
        # Of tails that were mostly no footer nothing else is kept.
        found = [encoded[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
        encoded, ends = b"".join(found), np.cumsum(stops - starts)
        starts, stops = ends - (stops - starts), ends
        parts, decoded = [], 0
    if decoded < len(files):
        parts = [*parts, decode(encoded, starts[decoded:], stops[decoded:], files[decoded:])]
    return Batch(files, encoded, starts, stops, parts)


def _with_rest(
    encoded: bytes, read: _Arriving[Part], lengths: Numbers, traffic: Traffic
) -> tuple[bytes, Numbers, Numbers]:
    """Read the footers that are longer than their tails; returns all bytes, and where each footer begins and ends."""
    starts, stops = read.stops - lengths, read.stops.copy()
    short = np.flatnonzero(lengths + 8 > read.tails)
    if len(short):
        ranges = Ranges(short, (read.sizes - 8 - lengths)[short], lengths[short])
        ends = len(encoded) + np.cumsum(lengths[short])
        starts[short], stops[short] = ends - lengths[short], ends
        counts = [len(short)]
        (encoded,) = gather(read.files, ranges, counts=counts, purpose="footer", traffic=traffic, before=encoded)
    return encoded, starts, stops


def footer_lengths(encoded: bytes, at: Numbers, sizes: Numbers, files: Sequence[DataFile]) -> Numbers:
    """Return the bytes of each footer, which its file gives in the eight bytes at `at`."""
    ends = np.frombuffer(encoded, np.uint8)[at[:, None] + np.arange(8)]
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
    """Return how many bytes a footer may have: what it claims is read, and takes several times that of memory."""
    allowed = os.environ.get(FOOTER_VARIABLE, "").strip()
    if allowed and not allowed.isdecimal():
        raise WrongUse(f"{FOOTER_VARIABLE}={allowed!r}: give a number of bytes")
    return int(allowed) if allowed else MOST_FOOTER_BYTES
