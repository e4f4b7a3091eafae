"""Listed files, byte ranges, counts of fetched data, and names of data files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import MalformedFile
from parquet_core.printable import redacted

if TYPE_CHECKING:
    from collections.abc import Sequence


# Name of the journal of a write that changes several files, see `parquet_core.storage.journal`.
JOURNAL = "_prune_journal.json"
# Summary files from which Spark reads the schema of a directory.
SUMMARIES = ("_common_metadata", "_metadata")


class DataFile(NamedTuple):
    """A file of a listing; reads fail if it has changed since.

    `path`: a local path, or the full URI of a remote file.
    `modified_ns`: modification time, 0 if unknown.
    `etag`: the store's identifier of exactly this content, None if the store has none.
    `changed_ns`: time of the last change of the file or its inode (ctime), which users cannot set; 0 for remote files.
    """

    path: str
    size: int
    modified_ns: int
    etag: str | None = None
    changed_ns: int = 0


class FetchedBlock(NamedTuple):
    """Bytes of a file and their offset."""

    start: int
    data: bytes


@dataclass(slots=True)
class Traffic:
    """Number of requests, and fetched bytes by purpose (`footer`, `index`, `bloom`).

    Listings are not counted. `ahead`: prefetched blocks by path.
    """

    requests: int = 0
    bytes: dict[str, int] = field(default_factory=dict)
    ahead: dict[str, list[FetchedBlock]] = field(default_factory=dict)

    def add(self, purpose: str, count: int, *, requests: int = 1) -> None:
        """Add `requests` that fetched `count` bytes in total."""
        self.requests += requests
        self.bytes[purpose] = self.bytes.get(purpose, 0) + count


def name_of(file: DataFile) -> str:
    """Return the last part of the path, for messages."""
    return redacted(file.path).rpartition("/")[2]


def listed_name(file: DataFile) -> str:
    """Return the file name by which Spark recognizes data files.

    The query of a web address does not belong to the name.

    >>> [listed_name(DataFile(path, 1, 0)) for path in ("t/a?b", "https://host/a.parquet?key=b/_c")]
    ['a?b', 'a.parquet']
    """
    path = file.path.partition("?")[0] if file.path.startswith(("http://", "https://")) else file.path
    return path.rpartition("/")[2]


def is_hidden(name: str) -> bool:
    """Return True if Spark skips a file or directory of this name.

    Source: `HadoopFSUtils.shouldFilterOutPathName` and `PartitioningAwareFileIndex.isDataPath`.

    >>> [is_hidden(name) for name in ("_SUCCESS", ".crc", "_day=1", "part-0.parquet")]
    [True, True, False, False]
    """
    first = name[:1]
    return (first == "_" and "=" not in name) or first == "." or name.endswith("._COPYING_")


def is_unlisted(name: str) -> bool:
    """Return True if Spark skips this name even when it looks for summary files.

    Source: `HadoopFSUtils.shouldFilterOutPathName`.

    >>> [is_unlisted(name) for name in ("_SUCCESS", "_metadata", "part-0.parquet")]
    [True, False, False]
    """
    return is_hidden(name) and not name.startswith(("_metadata", "_common_metadata"))


class Block(NamedTuple):
    """A byte range read in one request.

    `members`: indices of the ranges inside.
    """

    start: int
    stop: int
    members: list[int]


def blocks_of(ranges: Sequence[tuple[int, int]], hole: int) -> list[Block]:
    """Join (start, length) ranges that are at most `hole` bytes apart.

    >>> blocks_of([(100, 10), (0, 10), (12, 5)], hole=4)
    [Block(start=0, stop=17, members=[1, 2]), Block(start=100, stop=110, members=[0])]
    """
    blocks: list[Block] = []
    first = stop = 0
    members: list[int] = []
    for i in sorted(range(len(ranges)), key=ranges.__getitem__):
        start, length = ranges[i]
        if members and start > stop + hole:
            blocks.append(Block(first, stop, members))
            members = []
        if not members:
            first = stop = start
        members.append(i)
        stop = max(stop, start + length)
    if members:
        blocks.append(Block(first, stop, members))
    return blocks


def cut(ranges: Sequence[tuple[int, int]], blocks: Sequence[Block], data: Sequence[bytes]) -> list[bytes]:
    """Cut ranges out of the bytes of their blocks.

    The results are in the order of `ranges`.
    """
    answers = [b""] * len(ranges)
    for block, read in zip(blocks, data, strict=True):
        for i in block.members:
            start, length = ranges[i]
            answers[i] = read[start - block.start : start - block.start + length]
    return answers


def outside(file: DataFile, start: int, length: int) -> MalformedFile:
    """Return the error for a range outside of its file."""
    return MalformedFile(
        f"{file.path}: bytes {start} to {start + length} are outside of the file ({file.size} bytes); "
        "its metadata is damaged"
    )
